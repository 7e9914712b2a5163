package localaws

import (
	"math/bits"
	"slices"
	"strings"
)

// keyspace holds a table's rows in the order of their points: buckets by the
// highest bits of the hash, in each the partitions, in each the rows by sort
// key. Appending to a collection and finding a row cost a binary search; the
// buckets keep inserting a new partition cheap.
type keyspace struct {
	buckets [256][]*partition
	rows    int
	bytes   int
}

// partition is one item collection.
type partition struct {
	point // with no sort key
	rows  []*row
}

func bucketOf(hash uint64) int { return int(hash >> 56) }

func (k *keyspace) search(p point) (bucket, at int, found bool) {
	bucket = bucketOf(p.hash)
	at, found = slices.BinarySearchFunc(k.buckets[bucket], p, func(q *partition, p point) int {
		if q.hash != p.hash {
			if q.hash < p.hash {
				return -1
			}
			return 1
		}
		return strings.Compare(q.partition, p.partition)
	})
	return bucket, at, found
}

// collection is the partition of p, nil when it has no items.
func (k *keyspace) collection(p point) *partition {
	bucket, at, found := k.search(p)
	if !found {
		return nil
	}
	return k.buckets[bucket][at]
}

// lookFrom is the index of the first row whose sort key is not below sort.
func (p *partition) lookFrom(sort string) (int, bool) {
	// Appending is the common case: events arrive in the order of versions.
	if n := len(p.rows); n > 0 && p.rows[n-1].sort < sort {
		return n, false
	}
	return slices.BinarySearchFunc(p.rows, sort, func(r *row, sort string) int { return strings.Compare(r.sort, sort) })
}

func (k *keyspace) get(p point) *row {
	c := k.collection(p)
	if c == nil {
		return nil
	}
	at, found := c.lookFrom(p.sort)
	if !found {
		return nil
	}
	return c.rows[at]
}

func (k *keyspace) put(p point, r *row) {
	bucket, at, found := k.search(p)
	if !found {
		c := &partition{point: point{hash: p.hash, partition: p.partition}}
		k.buckets[bucket] = slices.Insert(k.buckets[bucket], at, c)
	}
	c := k.buckets[bucket][at]
	i, found := c.lookFrom(p.sort)
	if found {
		k.bytes += r.size - c.rows[i].size
		c.rows[i] = r
		return
	}
	c.rows = slices.Insert(c.rows, i, r)
	k.rows++
	k.bytes += r.size
}

func (k *keyspace) remove(p point) {
	bucket, at, found := k.search(p)
	if !found {
		return
	}
	c := k.buckets[bucket][at]
	i, found := c.lookFrom(p.sort)
	if !found {
		return
	}
	k.rows--
	k.bytes -= c.rows[i].size
	c.rows = slices.Delete(c.rows, i, i+1)
	if len(c.rows) == 0 {
		k.buckets[bucket] = slices.Delete(k.buckets[bucket], at, at+1)
	}
}

// walk visits the rows from a point on, until visit returns false or a row's
// hash is above the last one.
func (k *keyspace) walk(from point, last uint64, visit func(*row) bool) {
	bucket, at, _ := k.search(from)
	for ; bucket <= bucketOf(last); bucket, at = bucket+1, 0 {
		for ; at < len(k.buckets[bucket]); at++ {
			c := k.buckets[bucket][at]
			if c.hash > last {
				return
			}
			i := 0
			if c.hash == from.hash && c.partition == from.partition {
				i, _ = c.lookFrom(from.sort)
			}
			for _, r := range c.rows[i:] {
				if !visit(r) {
					return
				}
			}
		}
	}
}

// segment is the range of hashes, both ends included, of one of total scan
// segments.
func segment(i, total uint64) (first, last uint64) {
	first, _ = bits.Div64(i, 0, total)
	if i+1 == total {
		return first, ^uint64(0)
	}
	next, _ := bits.Div64(i+1, 0, total)
	return first, next - 1
}

// clone copies the order of the rows; the rows themselves never change.
func (k *keyspace) clone() keyspace {
	out := keyspace{rows: k.rows, bytes: k.bytes}
	for i, bucket := range k.buckets {
		for _, c := range bucket {
			out.buckets[i] = append(out.buckets[i], &partition{point: c.point, rows: slices.Clone(c.rows)})
		}
	}
	return out
}
