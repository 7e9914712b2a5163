package reorder

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"millrace/event"
)

const (
	benchPage = 1000
	benchRun  = 1000
)

// BenchmarkWindow drives a window as a worker does, without the worker: a page
// is offered, first sights are answered, every run is taken and given back.
// One operation is one event.
func BenchmarkWindow(b *testing.B) {
	b.Run("one hot aggregate", func(b *testing.B) { benchmarkWindow(b, inOrder(1)) })
	b.Run("one hot aggregate, pages shuffled", func(b *testing.B) { benchmarkWindow(b, shuffled(1)) })
	b.Run("10k aggregates", func(b *testing.B) { benchmarkWindow(b, inOrder(10_000)) })
	b.Run("10k aggregates, pages shuffled", func(b *testing.B) { benchmarkWindow(b, shuffled(10_000)) })
	b.Run("1M aggregates, first sights", func(b *testing.B) { benchmarkWindow(b, firstSights(1_000_000)) })
}

// A stream fills the next page's aggregates and versions. Its start position
// is the version before an aggregate's first.
type stream struct {
	start uint64
	page  func(events []Offered)
}

// inOrder draws each event's aggregate uniformly from a number of them.
func inOrder(aggregates int) func() stream {
	ids := benchNames(aggregates)
	return func() stream {
		random := rand.New(rand.NewPCG(1, 2))
		versions := make([]uint64, aggregates)
		return stream{page: func(events []Offered) {
			for i := range events {
				a := random.IntN(aggregates)
				versions[a]++
				events[i].Event.Aggregate, events[i].Event.Version = ids[a], versions[a]
			}
		}}
	}
}

// shuffled is inOrder with the order lost inside each page.
func shuffled(aggregates int) func() stream {
	ordered := inOrder(aggregates)
	return func() stream {
		random := rand.New(rand.NewPCG(3, 4))
		s := ordered()
		return stream{page: func(events []Offered) {
			s.page(events)
			random.Shuffle(len(events), func(i, j int) { events[i].Event, events[j].Event = events[j].Event, events[i].Event })
		}}
	}
}

// firstSights goes round many aggregates that stand at version 1 in the
// target, so that each one's first event asks for its position.
func firstSights(aggregates int) func() stream {
	ids := benchNames(aggregates)
	return func() stream {
		var n int
		return stream{start: 1, page: func(events []Offered) {
			for i := range events {
				events[i].Event.Aggregate, events[i].Event.Version = ids[n%aggregates], uint64(2+n/aggregates)
				n++
			}
		}}
	}
}

func benchNames(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("order-%030d", i)
	}
	return ids
}

func benchmarkWindow(b *testing.B, open func() stream) {
	b.Helper()
	s := open()
	w := New(Options{})
	now := time.Unix(1000, 0)
	image := event.Decoded(event.Item{"type": event.String("OrderPlaced")})
	events := make([]Offered, benchPage)
	settled := 0
	b.ReportAllocs()
	for at := 0; at < b.N; at += benchPage {
		b.StopTimer()
		page := events[:min(benchPage, b.N-at)]
		s.page(page)
		for i := range page {
			page[i].Ordinal, page[i].Event.Image = uint64(at+i+1), image
		}
		b.StartTimer()
		settled += len(w.Offer(now, 1, 300*len(page), page))
		for asked := w.Unseen(100); len(asked) > 0; asked = w.Unseen(100) {
			for _, a := range asked {
				settled += len(w.Learn(now, a, event.Position{Version: s.start}))
			}
		}
		for {
			run, ok := w.Next(benchRun)
			if !ok {
				break
			}
			settled += len(w.Done(now, run.Aggregate, event.Outcome{Position: run.Last(), Known: true}, time.Time{}))
		}
		w.Due(now)
	}
	b.StopTimer()
	// The last page of a shuffled stream may be cut off anywhere: what is
	// missing then are its own later records.
	if held := w.Usage().Entries; settled+held != b.N || held > benchPage {
		b.Fatalf("%d of %d events settled, %d held", settled, b.N, held)
	}
}

// BenchmarkIdleAggregates tells what a window keeps of an aggregate that has
// nothing to do, its id not counted. One operation is a million of them.
func BenchmarkIdleAggregates(b *testing.B) {
	const n = 1_000_000
	ids := benchNames(n)
	now := time.Unix(1000, 0)
	for b.Loop() {
		b.StopTimer()
		before := liveHeap()
		b.StartTimer()
		w := New(Options{IdleAggregates: n})
		for i := range ids {
			w.Offer(now, 1, 300, []Offered{{Event: event.Event{Aggregate: ids[i], Version: 1}, Ordinal: uint64(i + 1)}})
			run, _ := w.Next(1)
			w.Done(now, run.Aggregate, event.Outcome{Position: run.Last(), Known: true}, time.Time{})
		}
		b.StopTimer()
		if w.idle.len != n {
			b.Fatalf("%d of %d are idle", w.idle.len, n)
		}
		b.ReportMetric(float64(liveHeap()-before)/n, "B/aggregate")
		runtime.KeepAlive(w)
		b.StartTimer()
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
