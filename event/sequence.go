package event

import (
	"cmp"
	"errors"
	"strings"
)

// SequenceNumber is a record's number in its shard: a decimal number of 21 to
// 40 digits (DynamoDB Streams API Reference, StreamRecord). Numbers grow
// within a shard; nothing is promised across shards. It does not fit an
// integer type, and numbers of unequal length must not be compared as text.
type SequenceNumber string

// errSequence is what ParseSequence returns for anything but digits.
var errSequence = errors.New("a sequence number has 1 to 40 decimal digits")

// ParseSequence checks that s is a sequence number.
func ParseSequence(s string) (SequenceNumber, error) {
	if s == "" || len(s) > 40 {
		return "", errSequence
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return "", errSequence
		}
	}
	return SequenceNumber(s), nil
}

// Compare orders two sequence numbers of one shard by their value. The empty
// number comes before every other.
func (s SequenceNumber) Compare(other SequenceNumber) int {
	a, b := strings.TrimLeft(string(s), "0"), strings.TrimLeft(string(other), "0")
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}
