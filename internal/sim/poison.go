package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"millrace/event"
)

// Poison is an event that one sink cannot take until the fix.
type Poison struct {
	Sink      string
	Aggregate string
	Version   int
	How       string
}

// How a poisoned event fails.
const (
	refused = "is refused for good"
	panics  = "makes the fold panic"
	puzzles = "fails for an unknown reason"
)

func (p Poison) String() string {
	return fmt.Sprintf("version %d of %s %s in %s", p.Version, p.Aggregate, p.How, p.Sink)
}

// err is what the sink says; a poison that panics says it by itself.
func (p Poison) err() error {
	switch p.How {
	case panics:
		panic(p.String())
	case puzzles:
		return errors.New(p.String())
	}
	return &event.Error{Class: event.Permanent, Op: "taking an event", Err: errors.New(p.String())}
}

// build is what a process was built from: the first one has the faults in the
// fold, the second is the fix. What a target refuses ends for all at once.
type build int

const (
	broken build = 1 + iota
	mended
)

func (b build) String() string { return fmt.Sprintf("build %d", int(b)) }

// poison draws what cannot be applied, when that is mended, and who redrives
// meanwhile. It has a source of chance of its own, so that a world is the same
// with and without.
func (p *Plan) poison() {
	r := rand.New(rand.NewPCG(p.Seed, 2)) //nolint:gosec // choices that a seed repeats
	aggregates := append(sorted(p.Writes), hot, hot, hot, hot)
	for range pick(r, 0, 1, 1, 2, 3, 4) {
		poison := Poison{Sink: pick(r, viewSink, logSink), Aggregate: pick(r, aggregates...)}
		// Mostly early, so that much follows.
		poison.Version = 1 + min(r.IntN(p.events(poison.Aggregate)), r.IntN(p.events(poison.Aggregate)))
		poison.How = pick(r, refused, panics)
		if poison.Sink == logSink {
			poison.How = pick(r, refused, puzzles)
		}
		p.Poisons = append(p.Poisons, poison)
	}
	if r.IntN(3) == 0 {
		p.hole(r, pick(r, aggregates...))
	}
	if !p.troubled() {
		return
	}
	// The first seconds have no blocks yet.
	after := func(at time.Duration) time.Duration { return at + time.Duration(r.Int64N(int64(p.Quiet-at))) }
	moment := func() time.Duration { return after(5 * time.Second) }
	// What fails for an unknown reason is blocked while others of its sink have
	// success, and otherwise after a lull that is longer than the rest of a world:
	// it is mended before the appends end.
	puzzled := slices.ContainsFunc(p.Poisons, func(poison Poison) bool { return poison.How == puzzles })
	if r.IntN(3) > 0 || puzzled {
		p.Fix = after(5*time.Second) / 2
		if puzzled {
			p.Fix = p.Quiet/2 + p.Fix/2
		}
		p.Steps = append(p.Steps, p.deploy(r)...)
	}
	for n := range pick(r, 0, 1, 2, 3) {
		at := moment()
		if r.IntN(3) > 0 {
			at = after(p.Fix) // beside live traffic
		}
		p.Steps = append(p.Steps, p.redrives(r, n, at)...)
	}
	if r.IntN(2) == 0 { // two workers follow one aggregate
		p.Steps = append(p.Steps, alternate(p, r, after(0)/4)...)
	}
	for range pick(r, 0, 1, 2) {
		p.Steps = append(p.Steps, queueBurst(p, r, moment())...)
	}
	for range pick(r, 0, 1, 2) {
		p.Steps = append(p.Steps, markerBurst(p, r, moment())...)
	}
	if r.IntN(4) == 0 {
		p.Queue = moment()
		p.Steps = append(p.Steps, Step{p.Queue, "the on-failure queue is created", func(w *world) { w.makeQueue(context.Background()) }})
	}
}

// hole lets one of an aggregate's appends be late, if another one follows it.
func (p *Plan) hole(r *rand.Rand, aggregate string) {
	writes := p.Writes[aggregate]
	if len(writes) < 2 {
		return
	}
	w := &writes[r.IntN(len(writes)-1)]
	w.Late = p.last(r, w.At, 40*time.Second)
}

// troubled reports whether anything can be blocked.
func (p *Plan) troubled() bool {
	if len(p.Poisons) > 0 {
		return true
	}
	for aggregate := range p.Writes {
		if p.holed(aggregate) {
			return true
		}
	}
	return false
}

func (p *Plan) holed(aggregate string) bool {
	return slices.ContainsFunc(p.Writes[aggregate], func(w Write) bool { return w.Late > 0 })
}

// deploy mends the targets and rolls the new build out: a worker keeps the old
// one until it starts anew.
func (p *Plan) deploy(r *rand.Rand) []Step {
	steps := []Step{{p.Fix, "the fix is there: targets are mended, who starts from now on has build 2", (*world).mend}}
	for slot := range workers {
		at := min(p.Fix+time.Duration(r.Int64N(int64(20*time.Second))), p.Quiet)
		steps = append(steps, Step{at, fmt.Sprintf("worker %d is told to stop, for build 2", slot), func(w *world) { w.tell(slot) }})
	}
	return steps
}

func (p *Plan) events(aggregate string) (n int) {
	for _, w := range p.Writes[aggregate] {
		n += w.Events
	}
	return n
}

func (w *world) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mended = true
}

// newest is the build of who starts now.
func (w *world) newest() build {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mended {
		return mended
	}
	return broken
}

// poisoned is what a sink of a build says of an event.
func (w *world) poisoned(sink string, b build, e event.Event) error {
	if b == mended {
		return nil
	}
	for _, p := range w.plan.Poisons {
		if p.Sink == sink && p.Aggregate == e.Aggregate && uint64(p.Version) == e.Version { //nolint:gosec // a count
			return p.err()
		}
	}
	return nil
}
