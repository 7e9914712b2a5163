package localaws

import (
	"math/rand/v2"
	"slices"
	"time"
)

// retention is how long a record stays (Developer Guide, "Change data capture
// for DynamoDB Streams").
const retention = 24 * time.Hour

// shard is one shard of a stream: it takes the records of the items whose
// points lie in its range while it is open. Guarded by Engine.mu.
type shard struct {
	id, parent string
	from, to   point // the range, to not included
	endless    bool  // the range has no upper end

	opened, closed time.Time // closed is zero while open
	rollAt         time.Time // zero for never
	first, last    sequence  // last is first while there is no record
	trimmed        sequence  // the highest number that is gone, zero for none
	written        int
	records        []record // numbered, not trimmed, in the order of numbers
	waiting        []record // written, not numbered yet: Options.Permute
	delay          time.Duration
	hidden         bool
	random         *rand.Rand
}

// record is one stream record, encoded but for its end.
type record struct {
	sequence sequence
	at       time.Time
	item     point
	json     []byte // complete once it has its number
	tail     string // what follows the number
	passed   int    // how many later records got a number before it
	change   *Change
}

func (s *shard) open() bool { return s.closed.IsZero() }

func (s *shard) covers(p point) bool {
	return s.from.compare(p) <= 0 && (s.endless || p.compare(s.to) < 0)
}

// write takes a record. With permutation it may wait for its number until
// enough others have come, but see settle.
func (s *shard) write(r record, permute int) {
	s.written++
	s.waiting = append(s.waiting, r)
	for len(s.waiting) > permute {
		s.number(permute)
	}
}

// settle numbers all waiting records: somebody looks at the shard.
func (s *shard) settle(permute int) {
	for len(s.waiting) > 0 {
		s.number(permute)
	}
}

// number gives the next number to one of the waiting records: at random, but
// never before an older record of the same item, never past a record that
// has been passed often enough, and never to one too far behind.
func (s *shard) number(permute int) {
	pick := 0
	if permute > 0 && s.waiting[0].passed < permute {
		pick = s.random.IntN(min(permute+1, len(s.waiting)))
		pick = slices.IndexFunc(s.waiting, func(r record) bool { return r.item == s.waiting[pick].item })
	}
	for i := range pick {
		s.waiting[i].passed++
	}
	r := s.waiting[pick]
	s.waiting = slices.Delete(s.waiting, pick, pick+1)
	s.last = s.last.next(s.random)
	r.sequence = s.last
	r.json = append(r.sequence.append(r.json), r.tail...)
	if r.change != nil {
		r.change.Sequence = r.sequence.String()
	}
	s.records = append(s.records, r)
}

// trimBefore drops the records from before a time.
func (s *shard) trimBefore(at time.Time) {
	n := 0
	for n < len(s.records) && s.records[n].at.Before(at) {
		n++
	}
	if n > 0 {
		s.trimmed = s.records[n-1].sequence
		clear(s.records[:n]) // free them now; the slice moves on when it grows
		s.records = s.records[n:]
	}
}

// gone reports whether a shard has nothing left and never will.
func (s *shard) gone(before time.Time) bool {
	return !s.open() && len(s.records) == 0 && s.closed.Before(before)
}

// horizon is the position of the oldest record that is left.
func (s *shard) horizon() position {
	if s.trimmed != (sequence{}) {
		return position{after: s.trimmed}
	}
	return position{after: s.first}
}

// firstAt is the index of the first record at or behind a position.
func (s *shard) firstAt(p position) int {
	i, found := slices.BinarySearchFunc(s.records, p.after, func(r record, q sequence) int { return r.sequence.compare(q) })
	if found {
		i++
	}
	return i
}

// readable is the index behind the last record that can be read now: a
// lagging shard shows its records late.
func (s *shard) readable(now time.Time) int {
	if s.delay <= 0 {
		return len(s.records)
	}
	i := slices.IndexFunc(s.records, func(r record) bool { return now.Before(r.at.Add(s.delay)) })
	if i < 0 {
		return len(s.records)
	}
	return i
}

// position is a place in a shard: behind a sequence number, which may be one
// that no record has.
type position struct{ after sequence }
