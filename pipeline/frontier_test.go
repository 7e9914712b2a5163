package pipeline

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/source"
)

// frontierMarks are n records that follow an ordinal: the record of ordinal o
// has sequence number sequenceOf(o-1) and was created o seconds after 1000.
// A record that is not waited for is one whose place says so.
func frontierMarks(after uint64, n int, waits func(i int) bool) []Mark {
	marks := make([]Mark, n)
	for i := range marks {
		o := after + uint64(i) + 1
		marks[i] = Mark{Sequence: sequenceOf(int(o) - 1), Created: createdAt(o), Waits: waits == nil || waits(i)}
	}
	return marks
}

func createdAt(ordinal uint64) time.Time { return time.Unix(1000+int64(ordinal), 0) }

// frontierPage adds a page and returns its first ordinal.
func frontierPage(f *Frontier, n int, waits func(i int) bool) uint64 {
	return f.Page(frontierMarks(f.next-1, n, waits))
}

// reached checks that the checkpoint stands after an ordinal, 0 being the
// start.
func reached(t *testing.T, f *Frontier, ordinal uint64) {
	t.Helper()
	want, moved := source.Start{Kind: source.TrimHorizon}, ordinal > 0
	if moved {
		want = source.Start{Kind: source.AfterSequence, Sequence: sequenceOf(int(ordinal) - 1)}
	}
	if at, m := f.Checkpoint(); at != want || m != moved {
		t.Fatalf("the checkpoint is %+v, moved %v, want %+v, %v", at, m, want, moved)
	}
}

func settleRange(f *Frontier, sink int, from, to uint64) {
	for o := from; o <= to; o++ {
		f.Settle(sink, o)
	}
}

func newFrontier(sinks int) *Frontier {
	return NewFrontier(source.Start{Kind: source.TrimHorizon}, sinks)
}

// H21: one record that stands still costs its page and a run, however many
// records pass it.
func TestH21_OneStuckRecord(t *testing.T) {
	const page, pages, stuck = 1000, 101, 500
	f := newFrontier(2)
	for range pages {
		first := frontierPage(f, page, nil)
		for sink := range 2 {
			for o := first; o < first+page; o++ {
				if o != stuck {
					f.Settle(sink, o)
				}
			}
		}
		if n := len(f.spans); n > 2 {
			t.Fatalf("%d spans for one record that stands still", n)
		}
	}
	reached(t, f, stuck-1)
	if got := f.Span(); got != page*pages-stuck+1 {
		t.Fatalf("%d records lie behind the checkpoint, want %d", got, page*pages-stuck+1)
	}
	for _, s := range f.spans[1:] {
		if s.marks != nil || s.open != nil || s.left != nil {
			t.Fatal("a run of settled records keeps them")
		}
	}
	f.Settle(0, stuck)
	reached(t, f, stuck-1)
	f.Settle(1, stuck)
	reached(t, f, page*pages)
	if f.Span() != 0 || !f.Settled() || len(f.spans) != 0 {
		t.Fatalf("all is settled, and %d spans hold %d records", len(f.spans), f.Span())
	}
}

// Runs join from both sides when the page between them is settled last.
func TestRunsJoin(t *testing.T) {
	f := newFrontier(1)
	for range 5 {
		frontierPage(f, 10, nil)
	}
	for _, step := range []struct {
		from, to uint64
		spans    int
	}{{31, 40, 5}, {11, 20, 5}, {21, 30, 3}, {41, 50, 2}} {
		settleRange(f, 0, step.from, step.to)
		if len(f.spans) != step.spans {
			t.Fatalf("with %d to %d settled there are %d spans, want %d", step.from, step.to, len(f.spans), step.spans)
		}
		var n uint64
		for _, s := range f.spans {
			n += s.n
		}
		if n != 50 {
			t.Fatalf("the spans hold %d of 50 records", n)
		}
		reached(t, f, 0)
	}
	frontierPage(f, 3, func(int) bool { return false })
	if len(f.spans) != 2 {
		t.Fatalf("a filtered page behind a run makes %d spans, want 2", len(f.spans))
	}
	settleRange(f, 0, 1, 10)
	reached(t, f, 53)
}

// The checkpoint moves inside the first page, over the borders of its words.
func TestPrefixAcrossWords(t *testing.T) {
	for _, at := range []uint64{1, 63, 64, 65, 127, 128, 129, 199, 200} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			f := newFrontier(1)
			frontierPage(f, 200, nil)
			for o := uint64(200); o >= 1; o-- {
				if o != at {
					f.Settle(0, o)
				}
			}
			reached(t, f, at-1)
			if got := f.Span(); got != 200-int(at)+1 {
				t.Fatalf("span %d behind ordinal %d of 200", got, at-1)
			}
			f.Settle(0, at)
			reached(t, f, 200)
		})
	}
}

func TestEverySinkCounts(t *testing.T) {
	f := newFrontier(3)
	frontierPage(f, 4, nil)
	f.Settle(0, 1, 2, 3, 4)
	f.Settle(1, 1, 2, 4)
	reached(t, f, 0)
	f.Settle(2, 1)
	reached(t, f, 1)
	f.Settle(2, 2, 3, 4)
	reached(t, f, 2)
	for sink, want := range []int{0, 1, 0} {
		if _, pending := f.Oldest(sink); pending != want {
			t.Fatalf("sink %d is waited for %d times, want %d", sink, pending, want)
		}
	}
	f.Settle(1, 3)
	reached(t, f, 4)
}

func TestSettleAgainOrUnknown(t *testing.T) {
	f := newFrontier(1)
	f.Settle(0, 1) // not given out yet
	frontierPage(f, 3, nil)
	frontierPage(f, 3, nil)
	f.Settle(0)
	f.Settle(0, 2, 2, 2)
	f.Settle(0, 0, 7, 100, 1<<63)
	f.Settle(0, 5, 0, 5, 100, 2)
	reached(t, f, 0)
	if _, pending := f.Oldest(0); pending != 4 {
		t.Fatalf("%d are waited for, want 4", pending)
	}
	f.Settle(0, 1)
	reached(t, f, 2)
	f.Settle(0, 6, 3, 1, 4) // from page to page and back to what has passed
	reached(t, f, 6)
	f.Settle(0, 1, 6)
	reached(t, f, 6)
}

func TestFilteredRecords(t *testing.T) {
	t.Run("all of a page", func(t *testing.T) {
		f := newFrontier(2)
		if first := frontierPage(f, 1000, func(int) bool { return false }); first != 1 {
			t.Fatalf("the first ordinal is %d", first)
		}
		reached(t, f, 1000)
		if first := frontierPage(f, 1, nil); first != 1001 {
			t.Fatalf("the next ordinal is %d", first)
		}
		reached(t, f, 1000)
	})
	t.Run("between others", func(t *testing.T) {
		f := newFrontier(1)
		frontierPage(f, 10, func(i int) bool { return i%5 == 2 }) // 3 and 8 are waited for
		reached(t, f, 2)
		f.Settle(0, 4) // nobody waits for it
		f.Settle(0, 8)
		reached(t, f, 2)
		f.Settle(0, 3)
		reached(t, f, 10)
	})
	t.Run("an empty page", func(t *testing.T) {
		f := newFrontier(1)
		if first := f.Page(nil); first != 1 {
			t.Fatalf("an empty page begins at %d", first)
		}
		reached(t, f, 0)
		if first := frontierPage(f, 1, nil); first != 1 {
			t.Fatalf("the page after it begins at %d", first)
		}
	})
	t.Run("no sink", func(t *testing.T) {
		f := newFrontier(0)
		frontierPage(f, 10, nil)
		reached(t, f, 10)
	})
}

func TestEndOfShard(t *testing.T) {
	inherited := source.Start{Kind: source.AfterSequence, Sequence: "77"}
	end := source.Start{Kind: source.ShardEnd}
	t.Run("nothing read", func(t *testing.T) {
		f := NewFrontier(inherited, 1)
		if at, moved := f.Checkpoint(); at != inherited || moved {
			t.Fatalf("at the start the checkpoint is %+v, moved %v", at, moved)
		}
		f.End()
		if at, moved := f.Checkpoint(); at != end || !moved {
			t.Fatalf("at the end of an empty shard it is %+v, moved %v", at, moved)
		}
	})
	t.Run("not before everything is settled", func(t *testing.T) {
		f := newFrontier(1)
		frontierPage(f, 3, nil)
		f.Settle(0, 1, 3)
		f.End()
		reached(t, f, 1)
		f.Settle(0, 2)
		if at, moved := f.Checkpoint(); at != end || !moved {
			t.Fatalf("the checkpoint is %+v, moved %v, want the shard's end", at, moved)
		}
	})
}

func TestOldest(t *testing.T) {
	f := newFrontier(2)
	is := func(sink int, ordinal uint64, pending int) {
		t.Helper()
		var want time.Time
		if ordinal > 0 {
			want = createdAt(ordinal)
		}
		if created, n := f.Oldest(sink); !created.Equal(want) || n != pending {
			t.Fatalf("sink %d: the oldest of %d is of %v, want %d and %v", sink, n, created, pending, want)
		}
	}
	is(0, 0, 0)
	frontierPage(f, 100, func(i int) bool { return i >= 70 })
	frontierPage(f, 100, nil)
	is(0, 71, 130)
	is(1, 71, 130)
	settleRange(f, 0, 71, 100)
	is(0, 101, 100)
	is(1, 71, 130)
	f.Settle(0, 101, 103)
	is(0, 102, 98)
	settleRange(f, 0, 101, 200)
	is(0, 0, 0)
	settleRange(f, 1, 101, 200) // a run behind a page
	is(1, 71, 30)
	settleRange(f, 1, 71, 100)
	is(1, 0, 0)
}

// The frontier against the plainest that could be: a list of booleans a sink.
func TestFrontierIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sinks := rapid.IntRange(0, 3).Draw(t, "sinks")
		f := newFrontier(sinks)
		model := make([][]bool, sinks) // waited for, by ordinal-1
		records := 0
		ended := false
		t.Repeat(map[string]func(*rapid.T){
			"page": func(t *rapid.T) {
				n := rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(60, 140)).Draw(t, "records")
				every := rapid.IntRange(0, 3).Draw(t, "one waits in")
				waits := func(i int) bool { return every > 0 && i%every == 0 }
				if first := frontierPage(f, n, waits); first != uint64(records)+1 {
					t.Fatalf("the page begins at %d, want %d", first, records+1)
				}
				for sink := range model {
					for i := range n {
						model[sink] = append(model[sink], waits(i))
					}
				}
				records += n
			},
			"settle": func(t *rapid.T) {
				if sinks == 0 {
					t.Skip("no sink")
				}
				sink := rapid.IntRange(0, sinks-1).Draw(t, "sink")
				var ordinals []uint64
				for range rapid.IntRange(0, 4).Draw(t, "stretches") {
					from := rapid.IntRange(0, records+2).Draw(t, "from")
					for o := from; o < from+rapid.SampledFrom([]int{1, 2, 3, 70}).Draw(t, "length"); o++ {
						ordinals = append(ordinals, uint64(o))
						if o >= 1 && o <= records {
							model[sink][o-1] = false
						}
					}
				}
				f.Settle(sink, ordinals...)
			},
			"end": func(t *rapid.T) {
				f.End()
				ended = true
			},
			"": func(t *rapid.T) {
				prefix := records
				for sink, open := range model {
					var oldest time.Time
					pending := 0
					for i, waits := range open {
						if !waits {
							continue
						}
						if pending == 0 {
							oldest, prefix = createdAt(uint64(i+1)), min(prefix, i)
						}
						pending++
					}
					if created, n := f.Oldest(sink); n != pending || !created.Equal(oldest) {
						t.Fatalf("sink %d: the oldest of %d is of %v, want %d and %v", sink, n, created, pending, oldest)
					}
				}
				want := source.Start{Kind: source.TrimHorizon}
				switch {
				case ended && prefix == records:
					want = source.Start{Kind: source.ShardEnd}
				case prefix > 0:
					want = source.Start{Kind: source.AfterSequence, Sequence: sequenceOf(prefix - 1)}
				}
				if at, moved := f.Checkpoint(); at != want || moved != (want.Kind != source.TrimHorizon) {
					t.Fatalf("after %d of %d records the checkpoint is %+v, moved %v", prefix, records, at, moved)
				}
				if f.Settled() != (prefix == records) {
					t.Fatalf("settled is %v after %d of %d records", f.Settled(), prefix, records)
				}
				if got := f.Span(); got != records-prefix {
					t.Fatalf("%d records lie behind the checkpoint, want %d", got, records-prefix)
				}
				for i, s := range f.spans {
					next := uint64(records) + 1
					if i+1 < len(f.spans) {
						next = f.spans[i+1].first
					}
					if s.first+s.n != next {
						t.Fatalf("the span of %d from %d ends before %d", s.n, s.first, next)
					}
					if i > 0 && s.open == nil && f.spans[i-1].open == nil {
						t.Fatal("two runs lie side by side")
					}
				}
			},
		})
	})
}

// BenchmarkFrontier settles pages of 1000 in the order given; one operation is
// one record.
func BenchmarkFrontier(b *testing.B) {
	const page = 1000
	marks := frontierMarks(0, page, nil)
	for name, bench := range map[string]struct {
		stride uint64 // coprime to the page: the order in which it is settled
		chunk  int    // how many are settled in one call
		stuck  bool   // the first record is never settled
	}{
		"in order, runs of 1000":        {1, page, false},
		"in order, one at a time":       {1, 1, false},
		"out of order, three at a time": {377, 3, false},
		"behind a stuck record":         {377, 3, true},
	} {
		b.Run(name, func(b *testing.B) {
			f := newFrontier(1)
			if bench.stuck {
				f.Page(marks[:1])
			}
			ordinals := make([]uint64, page)
			b.ReportAllocs()
			for at := 0; at < b.N; at += page {
				first := f.Page(marks)
				for i := range ordinals {
					ordinals[i] = first + uint64(i)*bench.stride%page
				}
				for i := 0; i < page; i += bench.chunk {
					f.Settle(0, ordinals[i:min(i+bench.chunk, page)]...)
				}
			}
			if f.Settled() == bench.stuck || len(f.spans) > 2 {
				b.Fatalf("settled is %v with %d spans", f.Settled(), len(f.spans))
			}
		})
	}
}
