package failure

import "strings"

// MaxText is the most of an error's text, in bytes, that a marker or a letter
// keeps: the text may quote a whole event, and a marker must stay small.
const MaxText = 1024

// Truncate cuts text to MaxText bytes of valid UTF-8: a character that the cut
// went through goes with it, as do bytes that are no text and that a table or
// a queue would refuse.
func Truncate(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), MaxText)], "")
}
