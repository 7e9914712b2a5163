package controlkey

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// maxPK is how long a partition key may be, in bytes (DynamoDB Developer
// Guide, "Constraints in Amazon DynamoDB").
const maxPK = 2048

// Position is the row that holds one aggregate's position in a sink whose
// target cannot hold it. Each has a partition of its own, so that a hot
// aggregate's writes stay clear of all others'.
//
// An aggregate's id may be as long as a partition key and is longer once it is
// encoded. Where the key would be too long a hash stands for the id, behind an
// empty part that no other key has: one aggregate with a long id must not make
// a whole batch of reads invalid.
func Position(group, source, sink string, version int, aggregate string) Key {
	at := sink + "@" + strconv.Itoa(version)
	pk := join("V", group, source, at, aggregate)
	if len(pk) > maxPK {
		sum := sha256.Sum256([]byte(aggregate))
		pk = join("V", group, source, at, "", hex.EncodeToString(sum[:]))
	}
	return Key{PK: pk, SK: "position"}
}
