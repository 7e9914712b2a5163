package controlkey

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The attributes that every row has: its key, both parts text, and the
// version of its layout. A row of another version is somebody else's.
const (
	PK     = "pk"
	SK     = "sk"
	Schema = "schema"

	Version = 1
)

// Key is a row's primary key.
type Key struct {
	PK, SK string
}

// String shows a key in messages.
func (k Key) String() string { return k.PK + " / " + k.SK }

// Leases is the partition that holds a group's leases on a table's streams.
func Leases(group, table string) string { return join("L", group, table) }

// Lease is the row of one shard's lease. The stream's label is part of it, so
// that a stream that was disabled and enabled again starts clean.
func Lease(group, table, label, shard string) Key {
	return Key{PK: Leases(group, table), SK: join(label, shard)}
}

// Stream is the row that tells what a group knows of one stream label.
func Stream(group, table, label string) Key {
	return Key{PK: join("S", group, table), SK: join(label)}
}

// join encodes each part and puts "|" between them. Two lists of parts with at
// least one part each never give the same text.
func join(parts ...string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('|')
		}
		encode(&b, part)
	}
	return b.String()
}

// encode writes a part with "|", "%", control characters and bytes that are
// no UTF-8 (a text key cannot hold them) as "%" and two digits a byte.
func encode(b *strings.Builder, part string) {
	for len(part) > 0 {
		r, size := utf8.DecodeRuneInString(part)
		if r == '|' || r == '%' || unicode.IsControl(r) || r == utf8.RuneError && size == 1 {
			for i := range size {
				fmt.Fprintf(b, "%%%02X", part[i])
			}
		} else {
			b.WriteString(part[:size])
		}
		part = part[size:]
	}
}

// Parts takes a partition or sort key apart; false for text that no builder
// of this package writes.
func Parts(text string) ([]string, bool) {
	var parts []string
	for encoded := range strings.SplitSeq(text, "|") {
		part, ok := decode(encoded)
		if !ok {
			return nil, false
		}
		parts = append(parts, part)
	}
	// Only the one spelling that join gives is ours: "%41" would name the row
	// of "A" a second time.
	if join(parts...) != text {
		return nil, false
	}
	return parts, true
}

func decode(encoded string) (string, bool) {
	var b strings.Builder
	for {
		plain, rest, escaped := strings.Cut(encoded, "%")
		b.WriteString(plain)
		if !escaped {
			return b.String(), true
		}
		if len(rest) < 2 {
			return "", false
		}
		value, err := strconv.ParseUint(rest[:2], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(value))
		encoded = rest[2:]
	}
}
