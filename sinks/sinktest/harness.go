package sinktest

import (
	"context"
	"testing"

	"millrace/event"
	"millrace/sinks"
)

// Harness is what the suite needs of a sink's author. All functions work on
// one target, which needs no cleaning in between: each check has aggregates of
// its own.
type Harness struct {
	// Guarded says that the target keeps the position with the effect. Without
	// it, repeats and stale writes are allowed and the checks of the guard are
	// left out.
	Guarded bool
	// Open returns the sink of one more worker, which remembers nothing. The
	// suite closes it. Required.
	Open func(sinks.Identity) (sinks.Sink, error)
	// Versions lists the versions of an aggregate that are in effect in the
	// target, in the order in which they took effect. Required.
	Versions func(ctx context.Context, identity sinks.Identity, aggregate string) ([]uint64, error)
	// Event makes an event that the sink takes. Default: Event.
	Event func(aggregate string, version uint64) event.Event
	// Poison makes an event that the sink refuses for good. Without it the checks
	// of refusals are left out.
	Poison func(aggregate string, version uint64) event.Event
	// LoseAnswer makes the target's next write lose its answer, whoever sends it;
	// took says whether it takes effect nevertheless. Called again before that
	// write, it replaces what it said. Without it the checks of lost answers are
	// left out.
	LoseAnswer func(took bool)
	// Forget makes the target lose an aggregate, position and all. Without it the
	// check of targets that forget is left out.
	Forget func(ctx context.Context, identity sinks.Identity, aggregate string) error
}

// Run runs the suite, each check as a subtest. What a harness cannot do shows
// as skipped.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			if why := c.leftOut(h); why != "" {
				t.Skip(why)
			}
			if err := c.run(t.Context(), newProbe(h, c.name)); err != nil {
				t.Error(err)
			}
		})
	}
}

// check is one statement about a sink.
type check struct {
	name  string
	needs need
	run   func(context.Context, *probe) error
}

// need is what a check cannot do without; needs add up.
type need uint8

const (
	guard need = 1 << iota
	poisoning
	losing
	forgetting
)

// leftOut says why a check cannot be made, nothing when it can.
func (c check) leftOut(h Harness) string {
	switch {
	case c.needs&guard != 0 && !h.Guarded:
		return "the sink has no guard"
	case c.needs&poisoning != 0 && h.Poison == nil:
		return "the harness has no poison"
	case c.needs&losing != 0 && h.LoseAnswer == nil:
		return "the harness cannot lose an answer"
	case c.needs&forgetting != 0 && h.Forget == nil:
		return "the harness cannot make the target forget"
	}
	return ""
}

func checks() []check {
	return []check{
		{"effects come in order", 0, inOrder},
		{"outcomes stand in the order of the runs", 0, outcomesInOrder},
		{"aggregates do not disturb each other", 0, manyAggregates},
		{"an event that is refused lets those before it pass", poisoning, refusedInTheMiddle},
		{"an event that is refused at once changes nothing", poisoning, refusedAtOnce},
		{"our own stop is no failure", 0, stopped},
		{"positions stand in the order of the question", guard, positions},
		{"a run applied twice takes effect once", guard, duplicateRun},
		{"a run applied in part takes effect once", guard, partlyApplied},
		{"a run behind a hole takes no effect", guard, hole},
		{"a late write of another worker changes nothing", guard, zombie},
		{"a lost answer doubles nothing", guard | losing, lostAnswer},
		{"a target that forgets says so", guard | forgetting, forgetful},
		{"identities share no position", guard, identities},
		{"two workers end where one would", guard | losing, twoWorkers},
	}
}
