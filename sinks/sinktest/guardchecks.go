package sinktest

import (
	"context"
	"fmt"

	"millrace/event"
	"millrace/sinks"
)

// These checks are about the guard: what the target does with a run that does
// not fit its position.

func positions(ctx context.Context, p *probe) error {
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		aggregates := make([]string, sinks.MaxPositions)
		for i := range aggregates {
			aggregates[i] = p.aggregate()
			if i%7 == 3 {
				if err := mustApply(ctx, sink, p.run(aggregates[i], 0, uint64(i)), uint64(i)); err != nil {
					return err
				}
			}
		}
		got, err := sink.Positions(ctx, aggregates)
		if err != nil {
			return fmt.Errorf("reading positions: %w", err)
		}
		if len(got) != len(aggregates) {
			return fmt.Errorf("%d positions for %d aggregates", len(got), len(aggregates))
		}
		for i, position := range got {
			want := uint64(0) // never seen
			if i%7 == 3 {
				want = uint64(i)
			}
			if position.Version != want {
				return fmt.Errorf("position %d of %d is %d, want %d", i, len(got), position.Version, want)
			}
		}
		return nil
	})
}

func duplicateRun(ctx context.Context, p *probe) error {
	aggregate := p.aggregate()
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		if err := mustApply(ctx, sink, p.run(aggregate, 0, 5), 5); err != nil {
			return err
		}
		for _, repeat := range [][2]uint64{{0, 5}, {0, 3}, {2, 4}, {4, 5}} {
			if err := mustApply(ctx, sink, p.run(aggregate, repeat[0], repeat[1]), 5); err != nil {
				return err
			}
		}
		if err := p.holds(ctx, p.identity, aggregate, 5); err != nil {
			return err
		}
		return stands(ctx, sink, aggregate, 5)
	})
}

func partlyApplied(ctx context.Context, p *probe) error {
	aggregate := p.aggregate()
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		if err := mustApply(ctx, sink, p.run(aggregate, 0, 5), 5); err != nil {
			return err
		}
		if err := mustApply(ctx, sink, p.run(aggregate, 3, 8), 8); err != nil {
			return err
		}
		if err := mustApply(ctx, sink, p.run(aggregate, 0, 9), 9); err != nil {
			return err
		}
		return p.holds(ctx, p.identity, aggregate, 9)
	})
}

// hole: the target stands below the run. The outcome tells where, without an
// error, so that the window fills from there.
func hole(ctx context.Context, p *probe) error {
	fresh, begun := p.aggregate(), p.aggregate()
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		if err := mustApply(ctx, sink, p.run(fresh, 4, 6), 0); err != nil {
			return err
		}
		if err := p.holds(ctx, p.identity, fresh, 0); err != nil {
			return err
		}
		if err := mustApply(ctx, sink, p.run(begun, 0, 2), 2); err != nil {
			return err
		}
		if err := mustApply(ctx, sink, p.run(begun, 3, 6), 2); err != nil {
			return err
		}
		if err := p.holds(ctx, p.identity, begun, 2); err != nil {
			return err
		}
		return mustApply(ctx, sink, p.run(begun, 2, 6), 6)
	})
}

// zombie: a worker that lost its lease wakes up and writes what it had in hand
// while its successor is further on, or behind.
func zombie(ctx context.Context, p *probe) error {
	aggregate := p.aggregate()
	return p.with(ctx, p.identity, func(old sinks.Sink) error {
		return p.with(ctx, p.identity, func(young sinks.Sink) error {
			steps := []struct {
				sink        sinks.Sink
				after, last uint64
				position    uint64
			}{
				{old, 0, 3, 3},
				{young, 3, 6, 6},
				{old, 3, 5, 6}, // late: its memory says 3
				{old, 3, 8, 8}, // late, and longer: the rest is the correct next step
				{young, 6, 7, 8},
				{young, 8, 9, 9},
				{old, 8, 9, 9},
			}
			for _, s := range steps {
				if err := mustApply(ctx, s.sink, p.run(aggregate, s.after, s.last), s.position); err != nil {
					return err
				}
			}
			return p.holds(ctx, p.identity, aggregate, 9)
		})
	})
}

func lostAnswer(ctx context.Context, p *probe) error {
	for _, took := range []bool{true, false} {
		aggregate := p.aggregate()
		err := p.with(ctx, p.identity, func(sink sinks.Sink) error {
			if err := mustApply(ctx, sink, p.run(aggregate, 0, 2), 2); err != nil {
				return err
			}
			p.LoseAnswer(took)
			outcome, err := apply(ctx, sink, p.run(aggregate, 2, 4))
			if err != nil {
				return err
			}
			if outcome.Known || event.ClassOf(outcome.Err) != event.Transient {
				return fmt.Errorf("outcome %+v, want an unknown position and a transient error", outcome)
			}
			stood := uint64(2)
			if took {
				stood = 4
			}
			if err := stands(ctx, sink, aggregate, stood); err != nil {
				return err
			}
			if err := mustApply(ctx, sink, p.run(aggregate, 2, 5), 5); err != nil {
				return err
			}
			return p.holds(ctx, p.identity, aggregate, 5)
		})
		if err != nil {
			return fmt.Errorf("answer lost, took effect %v: %w", took, err)
		}
	}
	return nil
}

func forgetful(ctx context.Context, p *probe) error {
	aggregate := p.aggregate()
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		if err := mustApply(ctx, sink, p.run(aggregate, 0, 4), 4); err != nil {
			return err
		}
		if err := p.Forget(ctx, p.identity, aggregate); err != nil {
			return fmt.Errorf("making the target forget: %w", err)
		}
		if err := mustApply(ctx, sink, p.run(aggregate, 4, 5), 0); err != nil {
			return err
		}
		if err := stands(ctx, sink, aggregate, 0); err != nil {
			return err
		}
		if err := mustApply(ctx, sink, p.run(aggregate, 0, 6), 6); err != nil {
			return err
		}
		return p.holds(ctx, p.identity, aggregate, 6)
	})
}

// identities: whoever is not the first on an aggregate has a position of its
// own, or is told that the place is taken. What must not happen is the answer
// "already applied".
func identities(ctx context.Context, p *probe) error {
	aggregate := p.aggregate()
	if err := p.with(ctx, p.identity, func(sink sinks.Sink) error {
		return mustApply(ctx, sink, p.run(aggregate, 0, 5), 5)
	}); err != nil {
		return err
	}
	for _, change := range []func(*sinks.Identity){
		func(i *sinks.Identity) { i.Group = "sinktest-2" },
		func(i *sinks.Identity) { i.Source = "bank" },
		func(i *sinks.Identity) { i.Sink = "view-2" },
		func(i *sinks.Identity) { i.Version = 2 },
	} {
		other := p.identity
		change(&other)
		if err := p.with(ctx, other, func(sink sinks.Sink) error { return p.separate(ctx, sink, other, aggregate) }); err != nil {
			return fmt.Errorf("identity %+v beside %+v: %w", other, p.identity, err)
		}
	}
	if err := p.with(ctx, p.identity, func(sink sinks.Sink) error { return stands(ctx, sink, aggregate, 5) }); err != nil {
		return err
	}
	return p.holds(ctx, p.identity, aggregate, 5)
}

func (p *probe) separate(ctx context.Context, sink sinks.Sink, identity sinks.Identity, aggregate string) error {
	at, asking := sink.Positions(ctx, []string{aggregate})
	if asking == nil && at[0].Version != 0 {
		return fmt.Errorf("it starts at position %d", at[0].Version)
	}
	outcome, err := apply(ctx, sink, p.run(aggregate, 0, 3))
	if err != nil {
		return err
	}
	if outcome.Err == nil {
		return p.holds(ctx, identity, aggregate, 3)
	}
	// Of class permanent it would block every aggregate of the target.
	if class := event.ClassOf(outcome.Err); class != event.Foreign && class != event.Superseded {
		return fmt.Errorf("class %v, want foreign or superseded: %w", class, outcome.Err)
	}
	if asking == nil {
		return fmt.Errorf("Positions took the place for free, Apply did not: %w", outcome.Err)
	}
	return nil
}
