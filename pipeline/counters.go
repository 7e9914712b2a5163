package pipeline

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"
)

// counters are what the worker itself counts; its windows count the rest.
type counters struct {
	records, pages, filtered, modified, removed, unroutable atomic.Uint64
	trimmed, shardsGone                                     atomic.Uint64
	runs, retries, fenced, blocked, careful, healed         atomic.Uint64
	tookFree, tookExpired                                   atomic.Uint64
}

// Stats is what a worker has done since its start.
type Stats struct {
	Records     uint64 // read from the stream
	Pages       uint64
	Filtered    uint64 // records that are no events
	Violations  uint64 // changes or removals of event items
	Removed     uint64 // of them, removals
	Unroutable  uint64 // records that name no aggregate or no version
	Trimmed     uint64 // times that records were trimmed before they were read
	ShardsGone  uint64 // shards that left the stream unread
	Applied     uint64 // versions moved over, all sinks together
	Duplicates  uint64 // records of versions that were applied or queued already
	BeforeStart uint64 // records of versions that a sink has begun after: older than the group
	GapsArrived uint64 // gaps closed by their own records
	GapsFilled  uint64 // gaps closed from the event store
	Resets      uint64 // targets that held less than they were known to hold
	Blocked     uint64 // aggregates blocked by this worker; one that is blocked again counts again
	Healed      uint64 // markers ended without an operator
	Careful     uint64 // shards taken whose last holders vanished without progress
	Followed    uint64 // records settled by reference to a marker
	Runs        uint64 // handed to sinks
	Retries     uint64 // calls and runs that were or will be repeated
	Fenced      uint64 // leases lost to somebody else
	TookFree    uint64 // leases taken that nobody held
	TookExpired uint64 // leases taken from workers that vanished
	Shards      int    // held now
	Bytes       int    // of payloads held now, of the sink that holds most
	Entries     int    // records not settled in its window, of the sink that has most
	Fills       int    // events read from the event store and not applied, likewise
	Pending     int    // records read and not settled, of the sink that has most
	// PausedReason is why the worker reads nothing more, PausedForLayout; empty
	// while it does.
	PausedReason string
	// Oldest is when the oldest of them was created; zero when there is none.
	Oldest time.Time
	// PausedSinks are those that fail for everybody, and are asked from time to
	// time whether they are back.
	PausedSinks []string
	// Unowned is how many shards nobody reads although somebody could, as of the
	// last look at the lease rows; below 0: unknown.
	Unowned int
	// ReadLag is that of the shard furthest behind, and DataLoss the time until
	// the stream forgets the oldest record that is not read or not settled; nil:
	// unknown, since a shard that is held has brought no page yet.
	ReadLag, DataLoss *time.Duration
	Sinks             []SinkStats
}

// Stats sums up. It is safe to call while the worker runs.
func (w *Worker) Stats() Stats {
	c := &w.counters
	s := Stats{
		Records: c.records.Load(), Pages: c.pages.Load(), Filtered: c.filtered.Load(), Violations: c.modified.Load() + c.removed.Load(), Removed: c.removed.Load(),
		Unroutable: c.unroutable.Load(), Trimmed: c.trimmed.Load(), ShardsGone: c.shardsGone.Load(),
		Runs: c.runs.Load(), Retries: c.retries.Load(), Fenced: c.fenced.Load(), Blocked: c.blocked.Load(), Healed: c.healed.Load(), Careful: c.careful.Load(),
		TookFree: c.tookFree.Load(), TookExpired: c.tookExpired.Load(), Unowned: int(w.unowned.Load()),
	}
	if w.strays.isPaused() {
		s.PausedReason = PausedForLayout
	}
	for _, l := range w.lanes {
		sink := l.stats()
		window, usage := sink.Stats, sink.Usage
		s.Sinks = append(s.Sinks, sink)
		if sink.Paused {
			s.PausedSinks = append(s.PausedSinks, sink.Name)
		}
		s.Bytes, s.Entries, s.Fills = max(s.Bytes, usage.Bytes), max(s.Entries, usage.Entries), max(s.Fills, usage.Fills)
		s.Applied += window.Applied
		s.Duplicates += window.Duplicates
		s.BeforeStart += window.BeforeStart
		s.GapsArrived += window.GapsArrived
		s.GapsFilled += window.GapsFilled
		s.Resets += window.Resets
		s.Followed += window.Followed
	}
	now := time.Now()
	behind, known := time.Duration(0), true
	for _, shard := range w.held() {
		shard.mu.Lock()
		if !shard.gone {
			s.Shards++
			lag, told := shard.tide.lag(now)
			behind, known = max(behind, lag), known && told
		}
		for i := range s.Sinks {
			oldest, n := shard.frontier.Oldest(i)
			s.Sinks[i].Pending += n
			if n > 0 {
				s.Sinks[i].Oldest = earlier(s.Sinks[i].Oldest, oldest)
			}
		}
		shard.mu.Unlock()
	}
	for _, sink := range s.Sinks {
		s.Pending = max(s.Pending, sink.Pending)
		if sink.Pending > 0 {
			s.Oldest = earlier(s.Oldest, sink.Oldest)
		}
	}
	if known && s.Shards > 0 {
		lag := behind
		if s.ReadLag = &lag; !s.Oldest.IsZero() {
			behind = max(behind, now.Sub(s.Oldest))
		}
		left := untilLost(behind)
		s.DataLoss = &left
	}
	return s
}

// earlier is the earlier of two times; the zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Troubles lists the aggregates that stand still, longest first.
func (w *Worker) Troubles() []Trouble {
	var out []Trouble
	for _, l := range w.lanes {
		out = append(out, l.troubles()...)
	}
	slices.SortFunc(out, func(a, b Trouble) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Aggregate, b.Aggregate))
	})
	return out
}
