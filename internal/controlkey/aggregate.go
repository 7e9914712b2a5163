package controlkey

import (
	"crypto/sha256"
	"encoding/hex"
)

// maxSK is how long a sort key may be, in bytes (DynamoDB Developer Guide,
// "Constraints in Amazon DynamoDB").
const maxSK = 1024

// Aggregate is the attribute that has an aggregate's id where the row's sort key
// has no room for it.
const Aggregate = "aggregate"

// row is the sort key of an aggregate's row. An id may be as long as a partition
// key, 2048 bytes, and is longer once it is encoded. Where it is too long a hash
// stands for it, behind an empty part that no other key has: else an aggregate
// with a long id could not be blocked, and would be tried for ever.
func row(aggregate string) string {
	sk := join(aggregate)
	if len(sk) > maxSK {
		sum := sha256.Sum256([]byte(aggregate))
		sk = join("", hex.EncodeToString(sum[:]))
	}
	return sk
}

// Hashed reports whether the sort key of an aggregate's row is a hash. The row
// then has the id as its attribute Aggregate.
func Hashed(aggregate string) bool { return row(aggregate) != join(aggregate) }

// AggregateOf tells whose row it is, by its sort key and its attribute
// Aggregate; false for a row that no builder of this package names.
func AggregateOf(sk, attribute string) (string, bool) {
	parts, ok := Parts(sk)
	switch {
	case ok && len(parts) == 1:
		return parts[0], true
	case attribute != "" && row(attribute) == sk:
		return attribute, true
	}
	return "", false
}
