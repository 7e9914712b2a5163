package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
)

// makers draw what can happen; what stands twice happens twice as often.
var makers = []func(*Plan, *rand.Rand, time.Duration) []Step{
	crash, crash, crash, drain, freeze, burst, burst, burst, burst, sinkTrouble, sinkTrouble,
	roll, split, splitCollection, splitCollection, alternate, expire, hide, lag,
}

// last draws how long something that begins at a time lasts: until the quiet at
// most.
func (p *Plan) last(r *rand.Rand, at, most time.Duration) time.Duration {
	return min(time.Second+time.Duration(r.Int64N(int64(most))), p.Quiet-at)
}

// crash ends a worker's process at one of its next calls: before the service
// has it, or after, when the call takes effect and nobody hears of it.
func crash(_ *Plan, r *rand.Rand, at time.Duration) []Step {
	slot, calls, landing := r.IntN(workers), 1+r.IntN(40), r.IntN(2) == 0
	what := fmt.Sprintf("worker %d crashes at its call %d from here, which is lost", slot, calls)
	if landing {
		what = fmt.Sprintf("worker %d crashes at its call %d from here, which takes effect", slot, calls)
	}
	return []Step{{at, what, func(w *world) {
		if p := w.process(slot); p != nil {
			p.failAt(calls, landing, 0)
		}
	}}}
}

// drain stops a worker as SIGTERM does.
func drain(_ *Plan, r *rand.Rand, at time.Duration) []Step {
	slot := r.IntN(workers)
	return []Step{{at, fmt.Sprintf("worker %d is told to stop", slot), func(w *world) { w.tell(slot) }}}
}

func (w *world) tell(slot int) {
	if p := w.process(slot); p != nil {
		p.end()
	}
}

// freeze cuts a worker off for less or more than a lease.
func freeze(p *Plan, r *rand.Rand, at time.Duration) []Step {
	slot, long := r.IntN(workers), p.last(r, at, 25*time.Second)
	return []Step{{at, fmt.Sprintf("worker %d freezes for %v", slot, long.Round(time.Millisecond)), func(w *world) {
		if p := w.process(slot); p != nil {
			p.freeze()
			time.AfterFunc(long, p.thaw)
		}
	}}}
}

// burst makes a share of some calls fail for a while.
func burst(p *Plan, r *rand.Rand, at time.Duration) []Step {
	f := localaws.Fault{
		Do: pick(r, localaws.Throttle, localaws.FailBefore, localaws.FailAfter, localaws.LoseAnswer,
			localaws.TimeOut, localaws.LandLate, localaws.Slow, localaws.Conflict, localaws.Partial),
		Delay: 100*time.Millisecond + time.Duration(r.Int64N(int64(5*time.Second))),
	}
	if f.Do == localaws.LandLate {
		f.Delay *= 5 // beyond a lease
		f.Hold = r.IntN(2) == 0
	}
	table := pick(r, "", "", eventsTable, controlTable, controlTable, viewTable)
	service := pick(r, "", "", localaws.Streams, localaws.DynamoDB)
	if table == controlTable || table == viewTable {
		service = ""
	}
	return p.trouble(r, at, f, service, table, "")
}

// markerBurst makes a share of the calls about markers overtake each other, or
// fail, for a while.
func markerBurst(p *Plan, r *rand.Rand, at time.Duration) []Step {
	f := localaws.Fault{
		Do:    pick(r, localaws.Slow, localaws.Slow, localaws.LandLate, localaws.LoseAnswer, localaws.TimeOut),
		Delay: 50*time.Millisecond + time.Duration(r.Int64N(int64(3*time.Second))),
		Hold:  r.IntN(2) == 0,
	}
	return p.trouble(r, at, f, "", controlTable, "M|")
}

// queueBurst makes a share of the calls to the on-failure queue fail.
func queueBurst(p *Plan, r *rand.Rand, at time.Duration) []Step {
	f := localaws.Fault{Do: pick(r, localaws.Throttle, localaws.FailBefore, localaws.FailAfter, localaws.LoseAnswer, localaws.TimeOut)}
	return p.trouble(r, at, f, localaws.SQS, "", "")
}

// trouble puts a fault in force for a while, for a share of the calls to a
// service and a table, about keys that begin with a text; all of them where none
// is named.
func (p *Plan) trouble(r *rand.Rand, at time.Duration, f localaws.Fault, service, table, key string) []Step {
	share := pick(r, 0.05, 0.2, 0.6, 1)
	long := p.last(r, at, 12*time.Second)
	id := r.Uint64()
	what := fmt.Sprintf("%.0f %% of the calls to %q %q %q: %s for %v", 100*share, service, table, key, names[f.Do], long.Round(time.Millisecond))
	if f.Do == localaws.LandLate || f.Do == localaws.Slow {
		what += fmt.Sprintf(", by %v", f.Delay.Round(time.Millisecond))
	}
	return []Step{{at, what, func(w *world) {
		end := time.Now().Add(long)
		f.Match = func(c localaws.Call) bool {
			return c.Time.Before(end) && c.App != setupApp &&
				(service == "" || c.Service == service) && (table == "" || c.Table == table) && strings.HasPrefix(c.Key, key) &&
				// The time is what tells two calls apart: how many came before
				// is not the same in two runs when they come at once.
				chance(p.Seed).unit("burst", id, c.App, c.Operation, c.Key, c.Time.UnixNano()) < share
		}
		w.engine.Inject(f)
	}}}
}

var names = map[localaws.Action]string{
	localaws.Throttle: "throttled", localaws.FailBefore: "500 before the effect", localaws.FailAfter: "500 after the effect",
	localaws.LoseAnswer: "answer lost", localaws.TimeOut: "no answer and no effect", localaws.LandLate: "land late",
	localaws.Slow: "slow", localaws.Conflict: "transaction conflict", localaws.Partial: "batches in part",
}

// sinkTrouble makes a share of the writes to the sink in memory fail, lose
// their answers or take long.
func sinkTrouble(p *Plan, r *rand.Rand, at time.Duration) []Step {
	t := trouble{
		how:   pick(r, "fail before the effect", "lose their answers", "are slow"),
		share: pick(r, 0.1, 0.5, 1), id: r.Uint64(),
		delay: 100*time.Millisecond + time.Duration(r.Int64N(int64(14*time.Second))),
	}
	long := p.last(r, at, 15*time.Second)
	what := fmt.Sprintf("%.0f %% of the writes to the sink in memory %s for %v", 100*t.share, t.how, long.Round(time.Millisecond))
	if t.how == "are slow" {
		what += fmt.Sprintf(", by %v", t.delay.Round(time.Millisecond))
	}
	return []Step{{at, what, func(w *world) {
		t.until = time.Now().Add(long)
		w.memory.plague(t)
	}}}
}

// What is done to shards is done to what is there at the time. A shard that is
// too small, or a collection that is split already, refuses: nothing happens.

func roll(_ *Plan, r *rand.Rand, at time.Duration) []Step {
	if r.IntN(3) == 0 {
		return []Step{{at, "every shard rolls over", func(w *world) { _ = w.engine.RollAll(eventsTable) }}}
	}
	n := r.Uint64()
	return []Step{{at, "a shard rolls over", func(w *world) { _ = w.engine.Roll(eventsTable, w.openShard(n)) }}}
}

func split(_ *Plan, r *rand.Rand, at time.Duration) []Step {
	n := r.Uint64()
	return []Step{{at, "a shard is split by hash", func(w *world) { _ = w.engine.Split(eventsTable, w.openShard(n)) }}}
}

// splitCollection cuts the hot aggregate's items, mostly above its newest one.
func splitCollection(_ *Plan, r *rand.Rand, at time.Duration) []Step {
	ahead := pick(r, -5, 1, 1, 3)
	return []Step{{at, fmt.Sprintf("the hot aggregate is split at %+d from its head", ahead), func(w *world) {
		version := max(1, w.head(hot)+ahead)
		_ = w.engine.SplitCollection(eventsTable, event.String(hot), event.String(fmt.Sprintf("%012d", version)))
	}}}
}

func alternate(_ *Plan, _ *rand.Rand, at time.Duration) []Step {
	return []Step{{at, "the hot aggregate alternates between two shards", func(w *world) {
		_ = w.engine.SplitAlternating(eventsTable, event.String(hot))
	}}}
}

func expire(_ *Plan, _ *rand.Rand, at time.Duration) []Step {
	return []Step{{at, "all iterators expire", func(w *world) { _ = w.engine.ExpireIterators(eventsTable) }}}
}

// hide makes listings lack parents, or one shard, for a while.
func hide(p *Plan, r *rand.Rand, at time.Duration) []Step {
	long := p.last(r, at, 20*time.Second)
	if r.IntN(2) == 0 {
		return []Step{{at, fmt.Sprintf("listings lack parents for %v", long.Round(time.Millisecond)), func(w *world) {
			_ = w.engine.HideParents(eventsTable, true)
			time.AfterFunc(long, func() { _ = w.engine.HideParents(eventsTable, false) })
		}}}
	}
	n := r.Uint64()
	return []Step{{at, fmt.Sprintf("listings lack a shard for %v", long.Round(time.Millisecond)), func(w *world) {
		id := w.openShard(n)
		_ = w.engine.HideShard(eventsTable, id, true)
		time.AfterFunc(long, func() { _ = w.engine.HideShard(eventsTable, id, false) })
	}}}
}

// lag makes a shard show its records late for a while.
func lag(p *Plan, r *rand.Rand, at time.Duration) []Step {
	n, by := r.Uint64(), 500*time.Millisecond+time.Duration(r.Int64N(int64(8*time.Second)))
	long := p.last(r, at, 20*time.Second)
	return []Step{{at, fmt.Sprintf("a shard's records can be read %v late for %v", by.Round(time.Millisecond), long.Round(time.Millisecond)), func(w *world) {
		id := w.openShard(n)
		_ = w.engine.DelayVisible(eventsTable, id, by)
		time.AfterFunc(long, func() { _ = w.engine.DelayVisible(eventsTable, id, 0) })
	}}}
}
