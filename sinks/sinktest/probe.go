package sinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"millrace/event"
	"millrace/sinks"
)

// probe is one check's way to the sink.
type probe struct {
	Harness
	identity   sinks.Identity
	prefix     string
	aggregates int
}

func newProbe(h Harness, name string) *probe {
	if h.Event == nil {
		h.Event = Event
	}
	return &probe{
		Harness:  h,
		identity: sinks.Identity{Group: "sinktest", Source: "events", Sink: "view", Version: 1},
		prefix:   strings.ReplaceAll(name, " ", "-"),
	}
}

// aggregate returns an id that nobody has used.
func (p *probe) aggregate() string {
	p.aggregates++
	return fmt.Sprintf("%s#%d", p.prefix, p.aggregates)
}

// run makes the run of versions after+1 to last.
func (p *probe) run(aggregate string, after, last uint64) event.Run {
	r := event.Run{Aggregate: aggregate, After: event.Position{Version: after}}
	for v := after + 1; v <= last; v++ {
		r.Events = append(r.Events, p.Event(aggregate, v))
	}
	return r
}

// poisoned makes the same run with one version poisoned.
func (p *probe) poisoned(aggregate string, after, last, bad uint64) event.Run {
	r := p.run(aggregate, after, last)
	r.Events[bad-after-1] = p.Poison(aggregate, bad)
	return r
}

// with opens a worker's sink for the time of a function.
func (p *probe) with(ctx context.Context, identity sinks.Identity, use func(sinks.Sink) error) error {
	sink, err := p.Open(identity)
	if err != nil {
		return fmt.Errorf("opening the sink: %w", err)
	}
	err = use(sink)
	if closing := sink.Close(ctx); closing != nil {
		err = errors.Join(err, fmt.Errorf("closing the sink: %w", closing))
	}
	return err
}

// apply applies one run and demands one outcome.
func apply(ctx context.Context, sink sinks.Sink, run event.Run) (event.Outcome, error) {
	outcomes := sink.Apply(ctx, []event.Run{run})
	if len(outcomes) != 1 {
		return event.Outcome{}, fmt.Errorf("%d outcomes for one run", len(outcomes))
	}
	return outcomes[0], nil
}

// mustApply applies one run and demands that the target then holds a position
// and, up to there, no event is missing.
func mustApply(ctx context.Context, sink sinks.Sink, run event.Run, position uint64) error {
	outcome, err := apply(ctx, sink, run)
	if err != nil {
		return err
	}
	return demand(run, outcome, position)
}

// demand compares the outcome of a run that met no obstacle.
func demand(run event.Run, outcome event.Outcome, position uint64) error {
	what := fmt.Sprintf("run %d..%d of %s", run.After.Version+1, run.Last().Version, run.Aggregate)
	switch {
	case outcome.Err != nil:
		return fmt.Errorf("%s: %w", what, outcome.Err)
	case !outcome.Known:
		return fmt.Errorf("%s: position unknown, though the answer came", what)
	case outcome.Position.Version != position:
		return fmt.Errorf("%s: position %d, want %d", what, outcome.Position.Version, position)
	}
	return nil
}

// holds demands that versions 1 to last are in effect, in order, and each
// once.
func (p *probe) holds(ctx context.Context, identity sinks.Identity, aggregate string, last uint64) error {
	got, err := p.Versions(ctx, identity, aggregate)
	if err != nil {
		return fmt.Errorf("reading the effects: %w", err)
	}
	var want []uint64
	for v := uint64(1); v <= last; v++ {
		want = append(want, v)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: versions in effect are %v, want %v", aggregate, got, want)
	}
	return nil
}

// stands demands a position as the sink itself reads it.
func stands(ctx context.Context, sink sinks.Sink, aggregate string, position uint64) error {
	got, err := sink.Positions(ctx, []string{aggregate})
	if err != nil {
		return fmt.Errorf("reading the position: %w", err)
	}
	if len(got) != 1 || got[0].Version != position {
		return fmt.Errorf("%s: positions %v, want %d", aggregate, got, position)
	}
	return nil
}
