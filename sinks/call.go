package sinks

import (
	"context"
	"fmt"

	"millrace/event"
)

// Apply hands one run to a sink. A panic of the sink is a permanent failure of
// the run, and takes nobody else down; where the target stands then is not
// known. The run's first event that is not in effect is the one to blame.
func Apply(ctx context.Context, s Sink, run event.Run) (o event.Outcome) {
	if err := apply(ctx, s, run, &o); err != nil {
		return event.Outcome{Err: &event.Error{
			Class: event.Permanent, Op: fmt.Sprintf("applying versions %d to %d of %s", run.After.Version+1, run.Last().Version, run.Aggregate), Err: err,
		}}
	}
	return o
}

func apply(ctx context.Context, s Sink, run event.Run, o *event.Outcome) (err error) {
	defer event.Catch(&err)
	outcomes := s.Apply(ctx, []event.Run{run})
	if len(outcomes) != 1 {
		return fmt.Errorf("the sink gave %d answers to one run", len(outcomes))
	}
	*o = outcomes[0]
	return nil
}

// Positions asks a sink for positions. A panic of the sink is a permanent error
// of the call.
func Positions(ctx context.Context, s Sink, aggregates []string) (at []event.Position, err error) {
	if failed := positions(ctx, s, aggregates, &at, &err); failed != nil {
		return nil, &event.Error{Class: event.Permanent, Op: "reading positions", Err: failed}
	}
	return at, err
}

func positions(ctx context.Context, s Sink, aggregates []string, at *[]event.Position, answer *error) (err error) {
	defer event.Catch(&err)
	if *at, *answer = s.Positions(ctx, aggregates); *answer == nil && len(*at) != len(aggregates) {
		return fmt.Errorf("the sink gave %d positions of %d aggregates", len(*at), len(aggregates))
	}
	return nil
}
