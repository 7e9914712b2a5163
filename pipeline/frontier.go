package pipeline

import (
	"math/bits"
	"slices"
	"sort"
	"time"

	"millrace/event"
	"millrace/source"
)

// Mark is one record of a page as the frontier sees it.
type Mark struct {
	Sequence event.SequenceNumber
	Created  time.Time
	// Waits is false for a record that no sink waits for: it is settled at once.
	Waits bool
}

// Frontier is the one owner of "what is safe" in a shard: every record before
// its checkpoint is settled for every sink. It keeps runs of settled records,
// not the records, so that one record that stands still costs little however
// many pass it.
//
// A Frontier is pure and not safe for concurrent use.
type Frontier struct {
	sinks  int
	spans  []*span // without a hole, by ordinal
	next   uint64  // the ordinal of the next record
	at     source.Start
	moved  bool // at was reached here, not inherited
	closed bool
}

// span is consecutive records: a page of which some are not settled, or a run
// of settled ones, which needs no more than its end.
type span struct {
	first, n uint64
	last     event.SequenceNumber

	marks []Mark     // nil for a run
	open  [][]uint64 // per sink, a bit for each record that waits for it
	left  []int      // per sink, how many
}

// NewFrontier returns the frontier of a shard that is read from start, whose
// records wait for a number of sinks.
func NewFrontier(start source.Start, sinks int) *Frontier {
	return &Frontier{sinks: sinks, at: start, next: 1}
}

// Page takes in a page's records and returns the ordinal of the first; the
// others follow without a hole. Ordinals start at 1.
func (f *Frontier) Page(marks []Mark) (first uint64) {
	first = f.next
	if len(marks) == 0 {
		return first
	}
	f.next += uint64(len(marks))
	s := &span{first: first, n: uint64(len(marks)), last: marks[len(marks)-1].Sequence}
	waits := 0
	words := (len(marks) + 63) / 64
	row := make([]uint64, words)
	for i, m := range marks {
		if m.Waits {
			row[i/64] |= 1 << (i % 64)
			waits++
		}
	}
	if waits > 0 && f.sinks > 0 {
		s.marks = marks
		s.open = make([][]uint64, f.sinks)
		s.left = make([]int, f.sinks)
		for sink := range f.sinks {
			s.open[sink] = slices.Clone(row)
			s.left[sink] = waits
		}
	}
	f.spans = append(f.spans, s)
	f.collapse(len(f.spans) - 1)
	f.advance()
	return first
}

// Settle notes that a sink is done with records. Settling one again does
// nothing, nor does an ordinal that was never given out.
func (f *Frontier) Settle(sink int, ordinals ...uint64) {
	at := -1
	for _, o := range ordinals {
		if at < 0 || o < f.spans[at].first || o >= f.spans[at].first+f.spans[at].n {
			if at >= 0 {
				f.collapse(at)
			}
			if at = f.find(o); at < 0 {
				continue
			}
		}
		s := f.spans[at]
		if s.open == nil {
			continue
		}
		i := o - s.first
		word, bit := &s.open[sink][i/64], uint64(1)<<(i%64)
		if *word&bit != 0 {
			*word &^= bit
			s.left[sink]--
		}
	}
	if at >= 0 {
		f.collapse(at)
	}
	f.advance()
}

// find is the place of the span that holds an ordinal, -1 when it was passed.
func (f *Frontier) find(ordinal uint64) int {
	at := sort.Search(len(f.spans), func(i int) bool { return f.spans[i].first+f.spans[i].n > ordinal })
	if at == len(f.spans) || f.spans[at].first > ordinal {
		return -1
	}
	return at
}

// collapse turns a span that is settled into a run, joined with its
// neighbours.
func (f *Frontier) collapse(at int) {
	s := f.spans[at]
	if s.open != nil {
		for _, left := range s.left {
			if left > 0 {
				return
			}
		}
		s.marks, s.open, s.left = nil, nil, nil
	}
	if at+1 < len(f.spans) && f.spans[at+1].open == nil {
		s.n += f.spans[at+1].n
		s.last = f.spans[at+1].last
		f.spans = slices.Delete(f.spans, at+1, at+2)
	}
	if at > 0 && f.spans[at-1].open == nil {
		f.spans[at-1].n += s.n
		f.spans[at-1].last = s.last
		f.spans = slices.Delete(f.spans, at, at+1)
	}
}

// advance moves the checkpoint over the settled records at the front.
func (f *Frontier) advance() {
	for len(f.spans) > 0 && f.spans[0].open == nil {
		f.reach(f.spans[0].last)
		f.spans = f.spans[1:]
	}
	if len(f.spans) == 0 {
		return
	}
	if s := f.spans[0]; s.prefix() > 0 {
		f.reach(s.marks[s.prefix()-1].Sequence)
	}
}

// prefix is how many records at the span's front are settled for all sinks.
func (s *span) prefix() int {
	for word := range s.open[0] {
		var waiting uint64
		for sink := range s.open {
			waiting |= s.open[sink][word]
		}
		if waiting != 0 {
			return word*64 + bits.TrailingZeros64(waiting)
		}
	}
	return int(s.n)
}

func (f *Frontier) reach(sequence event.SequenceNumber) {
	f.at, f.moved = source.Start{Kind: source.AfterSequence, Sequence: sequence}, true
}

// End notes that the shard was read to its end: once everything is settled,
// the checkpoint is the shard's end.
func (f *Frontier) End() { f.closed = true }

// Checkpoint is where reading may go on, and whether it has moved since the
// start.
func (f *Frontier) Checkpoint() (source.Start, bool) {
	if f.closed && len(f.spans) == 0 {
		return source.Start{Kind: source.ShardEnd}, true
	}
	return f.at, f.moved
}

// Span is how many records lie between the checkpoint and the newest.
func (f *Frontier) Span() int {
	if len(f.spans) == 0 {
		return 0
	}
	// The first span is a page: advance takes every run at the front away.
	return int(f.next-f.spans[0].first) - f.spans[0].prefix()
}

// Passed is how many records the checkpoint has moved over since the start.
func (f *Frontier) Passed() uint64 { return f.next - 1 - uint64(f.Span()) }

// Settled reports whether nothing is waited for.
func (f *Frontier) Settled() bool { return len(f.spans) == 0 }

// Oldest tells when the oldest record that a sink waits for was created, and
// how many it waits for; the time is zero when it waits for none.
func (f *Frontier) Oldest(sink int) (created time.Time, pending int) {
	for _, s := range f.spans {
		if s.open == nil || s.left[sink] == 0 {
			continue
		}
		if pending == 0 {
			for word, waiting := range s.open[sink] {
				if waiting != 0 {
					created = s.marks[word*64+bits.TrailingZeros64(waiting)].Created
					break
				}
			}
		}
		pending += s.left[sink]
	}
	return created, pending
}
