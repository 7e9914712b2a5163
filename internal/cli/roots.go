package cli

// A container image from scratch has no certificates. The programs bring those
// of Mozilla along, which count where the system has none.
import _ "golang.org/x/crypto/x509roots/fallback"
