package sinktest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"millrace/event"
	"millrace/sinks"
)

// These checks hold for every sink, guarded or not.

func inOrder(ctx context.Context, p *probe) error {
	aggregate := p.aggregate()
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		for _, piece := range [][2]uint64{{0, 1}, {1, 4}, {4, 5}, {5, 25}} {
			if err := mustApply(ctx, sink, p.run(aggregate, piece[0], piece[1]), piece[1]); err != nil {
				return err
			}
		}
		return p.holds(ctx, p.identity, aggregate, 25)
	})
}

func outcomesInOrder(ctx context.Context, p *probe) error {
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		var runs []event.Run
		for n := range uint64(12) {
			runs = append(runs, p.run(p.aggregate(), 0, n+1))
		}
		outcomes := sink.Apply(ctx, runs)
		if len(outcomes) != len(runs) {
			return fmt.Errorf("%d outcomes for %d runs", len(outcomes), len(runs))
		}
		for i, run := range runs {
			if err := demand(run, outcomes[i], uint64(i)+1); err != nil {
				return err
			}
			if err := p.holds(ctx, p.identity, run.Aggregate, uint64(i)+1); err != nil {
				return err
			}
		}
		if outcomes := sink.Apply(ctx, nil); len(outcomes) != 0 {
			return fmt.Errorf("%d outcomes for no run", len(outcomes))
		}
		return nil
	})
}

func manyAggregates(ctx context.Context, p *probe) error {
	const workers, pieces = 8, 5
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		failures := make([]error, workers)
		var all sync.WaitGroup
		for w := range workers {
			aggregate := p.aggregate()
			all.Go(func() {
				for n := range uint64(pieces) {
					run := p.run(aggregate, 3*n, 3*n+3)
					if failures[w] = mustApply(ctx, sink, run, 3*n+3); failures[w] != nil {
						return
					}
				}
				failures[w] = p.holds(ctx, p.identity, aggregate, 3*pieces)
			})
		}
		all.Wait()
		return errors.Join(failures...)
	})
}

// refused demands that a run ended before a version that was refused for good.
func refused(ctx context.Context, sink sinks.Sink, run event.Run, bad uint64) error {
	outcome, err := apply(ctx, sink, run)
	if err != nil {
		return err
	}
	if class := event.ClassOf(outcome.Err); outcome.Err == nil || class != event.Permanent {
		return fmt.Errorf("version %d was to be refused for good, the outcome is %+v of class %v", bad, outcome, class)
	}
	outcome.Err = nil
	return demand(run, outcome, bad-1)
}

func refusedInTheMiddle(ctx context.Context, p *probe) error {
	aggregate, other := p.aggregate(), p.aggregate()
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		if err := refused(ctx, sink, p.poisoned(aggregate, 0, 6, 4), 4); err != nil {
			return err
		}
		if err := p.holds(ctx, p.identity, aggregate, 3); err != nil {
			return err
		}
		// The failed fold has left nothing behind: the event corrected, all goes on.
		if err := mustApply(ctx, sink, p.run(aggregate, 3, 6), 6); err != nil {
			return err
		}
		if err := p.holds(ctx, p.identity, aggregate, 6); err != nil {
			return err
		}
		outcomes := sink.Apply(ctx, []event.Run{p.poisoned(aggregate, 6, 8, 7), p.run(other, 0, 2)})
		if len(outcomes) != 2 {
			return fmt.Errorf("%d outcomes for two runs", len(outcomes))
		}
		if outcomes[0].Err == nil {
			return errors.New("a poisoned run beside another was not refused")
		}
		if err := demand(p.run(other, 0, 2), outcomes[1], 2); err != nil {
			return fmt.Errorf("beside a poisoned run: %w", err)
		}
		return p.holds(ctx, p.identity, other, 2)
	})
}

func refusedAtOnce(ctx context.Context, p *probe) error {
	first, later := p.aggregate(), p.aggregate()
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		if err := refused(ctx, sink, p.poisoned(first, 0, 3, 1), 1); err != nil {
			return err
		}
		if err := p.holds(ctx, p.identity, first, 0); err != nil {
			return err
		}
		if err := mustApply(ctx, sink, p.run(later, 0, 2), 2); err != nil {
			return err
		}
		if err := refused(ctx, sink, p.poisoned(later, 2, 5, 3), 3); err != nil {
			return err
		}
		return p.holds(ctx, p.identity, later, 2)
	})
}

func stopped(ctx context.Context, p *probe) error {
	aggregate := p.aggregate()
	return p.with(ctx, p.identity, func(sink sinks.Sink) error {
		gone, cancel := context.WithCancel(ctx)
		cancel()
		outcome, err := apply(gone, sink, p.run(aggregate, 0, 2))
		if err != nil {
			return err
		}
		if class := event.ClassOf(outcome.Err); class != event.Stopping {
			return fmt.Errorf("class %v with a cancelled context, want stopping: %w", class, outcome.Err)
		}
		if p.Guarded {
			if _, err := sink.Positions(gone, []string{aggregate}); event.ClassOf(err) != event.Stopping {
				return fmt.Errorf("positions with a cancelled context: want class stopping, got: %w", err)
			}
		}
		// Nothing is left of the stop.
		if err := mustApply(ctx, sink, p.run(aggregate, 0, 2), 2); err != nil {
			return err
		}
		return p.holds(ctx, p.identity, aggregate, 2)
	})
}
