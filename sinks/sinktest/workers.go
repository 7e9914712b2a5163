package sinktest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"millrace/event"
	"millrace/sinks"
)

// twoWorkers lets two workers that know nothing of each other apply runs from
// positions that they believe in, with answers lost on the way, in forty
// seeded histories.
func twoWorkers(ctx context.Context, p *probe) error {
	for seed := range uint64(40) {
		if err := p.history(ctx, rand.New(rand.NewPCG(seed, 0))); err != nil {
			return fmt.Errorf("history of seed %d: %w", seed, err)
		}
	}
	return nil
}

func (p *probe) history(ctx context.Context, random *rand.Rand) error {
	const head = 12
	aggregate := p.aggregate()
	return p.with(ctx, p.identity, func(a sinks.Sink) error {
		return p.with(ctx, p.identity, func(b sinks.Sink) error {
			workers := []*worker{{sink: a}, {sink: b}}
			for range 20 {
				w := workers[random.IntN(2)]
				if w.believes == head {
					w.believes = random.Uint64N(head) // a page is read again after a failover
				}
				if random.IntN(4) == 0 {
					p.LoseAnswer(random.IntN(2) == 0)
				}
				run := p.run(aggregate, w.believes, w.believes+1+random.Uint64N(min(4, head-w.believes)))
				if err := w.step(ctx, run); err != nil {
					return err
				}
			}
			last := workers[0]
			if err := last.settle(ctx, aggregate); err != nil {
				return err
			}
			// Twice, since a fault that nobody has met yet may hit the first.
			for range 2 {
				if last.believes == head {
					break
				}
				if err := last.step(ctx, p.run(aggregate, last.believes, head)); err != nil {
					return err
				}
			}
			return p.holds(ctx, p.identity, aggregate, head)
		})
	})
}

// worker is a sink with a belief about one aggregate's position.
type worker struct {
	sink     sinks.Sink
	believes uint64
}

func (w *worker) step(ctx context.Context, run event.Run) error {
	outcome, err := apply(ctx, w.sink, run)
	if err != nil {
		return err
	}
	if !outcome.Known {
		return w.settle(ctx, run.Aggregate)
	}
	if outcome.Err == nil && outcome.Position.Version >= run.After.Version && outcome.Position.Version < run.Last().Version {
		return fmt.Errorf("run %d..%d stopped at %d without an error", run.After.Version+1, run.Last().Version, outcome.Position.Version)
	}
	w.believes = outcome.Position.Version
	return nil
}

// settle asks for the position, which is what a worker does after a lost
// answer.
func (w *worker) settle(ctx context.Context, aggregate string) error {
	at, err := w.sink.Positions(ctx, []string{aggregate})
	if err != nil {
		return fmt.Errorf("reading the position: %w", err)
	}
	w.believes = at[0].Version
	return nil
}
