package localaws

import (
	"cmp"

	"millrace/event"
	"millrace/internal/decimal"
)

// Limits of a key (Developer Guide, "Constraints in Amazon DynamoDB").
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// point is an item's place in the key space: the order of points is the order
// of a Scan, and shards own ranges of them. Within a table every key attribute
// has one type, so keys need no type tag and no separator.
type point struct {
	hash      uint64
	partition string
	sort      string
}

func (p point) compare(other point) int {
	return cmp.Or(cmp.Compare(p.hash, other.hash), cmp.Compare(p.partition, other.partition), cmp.Compare(p.sort, other.sort))
}

// above is the first point behind every item of p's collection.
func (p point) above() point { return point{hash: p.hash, partition: p.partition + "\x00"} }

// pointOf hashes with FNV-1a and mixes, since FNV alone leaves the high bits
// of short keys close together and shards are ranges of them.
func pointOf(partition, sort string) point {
	h := uint64(14695981039346656037)
	for i := range len(partition) {
		h = (h ^ uint64(partition[i])) * 1099511628211
	}
	return point{hash: mix(h), partition: partition, sort: sort}
}

// mix spreads every input bit over the whole word (the finalizer of splitmix64).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// keyAttribute is one attribute of a table's key; its kind is S, N or B.
type keyAttribute struct {
	Name string
	Kind string
}

// schema is a table's key: partition, and sort where Name is set. It never
// changes after the table was created.
type schema struct {
	partition, sort keyAttribute
}

func (s schema) names() []string {
	if s.sort.Name == "" {
		return []string{s.partition.Name}
	}
	return []string{s.partition.Name, s.sort.Name}
}

// keyed is a key with its place.
type keyed struct {
	point
	item event.Item // the key attributes alone
}

// ofItem takes the key out of a whole item.
func (s schema) ofItem(item event.Item) (keyed, error) {
	for _, name := range s.names() {
		if item[name] == nil {
			return keyed{}, invalid("One or more parameter values were invalid: Missing the key %s in the item", name)
		}
	}
	for _, a := range []keyAttribute{s.partition, s.sort} {
		if v := item[a.Name]; a.Name != "" && v.Tag() != a.Kind {
			return keyed{}, invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", a.Name, a.Kind, v.Tag())
		}
	}
	key := event.Item{}
	for _, name := range s.names() {
		key[name] = item[name]
	}
	return s.place(key)
}

// ofKey reads a Key parameter: exactly the key attributes, of the right types.
func (s schema) ofKey(key event.Item) (keyed, error) {
	if len(key) != len(s.names()) {
		return keyed{}, invalid("The provided key element does not match the schema")
	}
	for _, a := range []keyAttribute{s.partition, s.sort} {
		if a.Name != "" && (key[a.Name] == nil || key[a.Name].Tag() != a.Kind) {
			return keyed{}, invalid("The provided key element does not match the schema")
		}
	}
	return s.place(key)
}

func (s schema) place(key event.Item) (keyed, error) {
	partition, err := encodeKey(s.partition, key[s.partition.Name], "hashkey", maxPartitionKey)
	if err != nil {
		return keyed{}, err
	}
	sort := ""
	if s.sort.Name != "" {
		if sort, err = encodeKey(s.sort, key[s.sort.Name], "rangekey", maxSortKey); err != nil {
			return keyed{}, err
		}
	}
	normal := make(event.Item, len(key))
	for name, v := range key {
		if n, ok := v.(event.Number); ok {
			d, err := decimal.Parse(string(n))
			if err != nil {
				return keyed{}, invalid("%s", err.Error())
			}
			v = event.Number(d.String())
		}
		normal[name] = v
	}
	return keyed{point: pointOf(partition, sort), item: normal}, nil
}

// encodeKey gives a key value the bytes whose order is the values' order.
func encodeKey(a keyAttribute, v event.Value, role string, limit int) (string, error) {
	encoded, err := sortable(v)
	if err != nil {
		return "", err
	}
	if encoded == "" {
		kind := "string"
		if a.Kind == "B" {
			kind = "binary"
		}
		return "", invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", kind, a.Name)
	}
	if len(encoded) > limit {
		return "", invalid("One or more parameter values were invalid: Size of %s has exceeded the maximum size limit of %d bytes", role, limit)
	}
	return encoded, nil
}

// sortable is the bytes of a key value in its type's order.
func sortable(v event.Value) (string, error) {
	switch v := v.(type) {
	case event.String:
		return string(v), nil
	case event.Binary:
		return string(v), nil
	case event.Number:
		d, err := decimal.Parse(string(v))
		if err != nil {
			return "", invalid("%s", err.Error())
		}
		return string(d.AppendSortable(nil)), nil
	default:
		return "", invalid("The provided key element does not match the schema")
	}
}
