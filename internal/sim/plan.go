package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"millrace/internal/localaws"
)

// Plan is a world before it is run: everything that a seed decides.
type Plan struct {
	Seed   uint64
	Engine localaws.Options
	// Writes are the appends of each aggregate, in order of time.
	Writes  map[string][]Write
	Steps   []Step // in order of time
	Poisons []Poison
	// Fix is when the cause of poison is mended; 0 for after the quiet, when all
	// else has come to rest.
	Fix time.Duration
	// Queue is when the on-failure queue is created; 0 for before everything.
	Queue time.Duration
	// Quiet is when faults and appends are over, from the beginning.
	Quiet time.Duration
}

// Write is one append of a number of events.
type Write struct {
	At     time.Duration
	Events int
	// Late is how long after that they are stored, while the appends behind them
	// do not wait: a source that breaks its own order, and leaves a hole.
	Late time.Duration
}

// Step is something that is done to the world, or that begins, at a time.
type Step struct {
	At   time.Duration
	What string
	Do   func(*world)
}

// hot is the aggregate that most events belong to.
const hot = "hot"

// NewPlan draws a world.
func NewPlan(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // choices that a seed repeats
	p := Plan{
		Seed:   seed,
		Writes: map[string][]Write{},
		Quiet:  30*time.Second + time.Duration(r.Int64N(int64(time.Minute))),
		Engine: localaws.Options{
			Seed:             seed,
			Shards:           1 + r.IntN(4),
			Permute:          pick(r, 0, 0, 2, 6),
			EmptyPages:       pick(r, -1, 1, 3),
			RollAfter:        pick(r, -1, 20*time.Second, 45*time.Second),
			ChildSequences:   pick(r, localaws.SequencesHigher, localaws.SequencesLower, localaws.SequencesLonger),
			ListingLag:       pick(r, 0, 3*time.Second, 15*time.Second),
			ChildFilterLag:   pick(r, 0, time.Second, 8*time.Second),
			StaleReads:       pick(r, 0, 2*time.Second),
			TornTransactions: pick(r, 0, 20*time.Millisecond, time.Second),
			KeepHistory:      true,
		},
	}
	p.draw(r)
	return p
}

func (p *Plan) draw(r *rand.Rand) {
	moment := func() time.Duration { return time.Duration(r.Int64N(int64(p.Quiet))) }
	writes := func(aggregate string, n int) {
		for range n {
			p.Writes[aggregate] = append(p.Writes[aggregate], Write{At: moment(), Events: pick(r, 1, 1, 1, 2, 5)})
		}
		slices.SortFunc(p.Writes[aggregate], func(a, b Write) int { return cmp.Compare(a.At, b.At) })
	}
	writes(hot, 20+r.IntN(60))
	for i := range 2 + r.IntN(6) {
		writes(fmt.Sprintf("a%d", i), 1+r.IntN(8))
	}
	steps := 4 + r.IntN(14)
	for len(p.Steps) < steps {
		make := pick(r, makers...)
		p.Steps = append(p.Steps, make(p, r, moment())...)
	}
	p.poison()
	p.sort()
}

func (p *Plan) sort() {
	slices.SortStableFunc(p.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
}

// String is the schedule as a failing seed prints it.
func (p Plan) String() string {
	var b strings.Builder
	o := p.Engine
	fmt.Fprintf(&b, "seed %d: shards %d, permute %d, empty pages %d, roll after %v, child sequences %d, listing lag %v, child filter lag %v, stale reads %v, torn transactions %v\n",
		p.Seed, o.Shards, o.Permute, o.EmptyPages, o.RollAfter, o.ChildSequences, o.ListingLag, o.ChildFilterLag, o.StaleReads, o.TornTransactions)
	for _, aggregate := range sorted(p.Writes) {
		fmt.Fprintf(&b, "  %s: %d events by %d appends\n", aggregate, p.events(aggregate), len(p.Writes[aggregate]))
		version := 1
		for _, w := range p.Writes[aggregate] {
			if w.Late > 0 {
				fmt.Fprintf(&b, "  %8.3fs versions %d to %d of %s are stored %v late\n", w.At.Seconds(), version, version+w.Events-1, aggregate, w.Late.Round(time.Millisecond))
			}
			version += w.Events
		}
	}
	for _, poison := range p.Poisons {
		fmt.Fprintf(&b, "  %v\n", poison)
	}
	if p.troubled() && p.Fix == 0 {
		fmt.Fprintln(&b, "  mended when all else has come to rest")
	}
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "  %8.3fs %s\n", s.At.Seconds(), s.What)
	}
	fmt.Fprintf(&b, "  %8.3fs quiet", p.Quiet.Seconds())
	return b.String()
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
