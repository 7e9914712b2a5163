package watermill

import (
	"context"
	"errors"
	"fmt"

	"millrace/event"
)

// send publishes one event, alone: of a call with several the first to fail
// may have later ones behind it that were accepted.
func (s *Sink) send(ctx context.Context, e event.Event) error {
	op := fmt.Sprintf("publishing version %d of %s", e.Version, e.Aggregate)
	// A call that is not made is known to have had no effect.
	if err := ctx.Err(); err != nil {
		return &event.Error{Class: event.ClassOf(err), Op: op, Err: context.Cause(ctx)}
	}
	err := s.attempt(ctx, e)
	if err == nil {
		return nil
	}
	return &event.Error{Class: classOf(ctx, err), Op: op, Err: err}
}

func (s *Sink) attempt(ctx context.Context, e event.Event) (err error) {
	defer event.Catch(&err)
	topic, m, err := s.message(e)
	if err != nil {
		return err
	}
	m.SetContext(ctx)
	return s.options.Publisher.Publish(topic, m) //nolint:wrapcheck // send names the operation
}

// classOf classes a failed attempt. A context that ended inside the publisher
// is not ours: called stopping, it would hide a broken publisher for good.
func classOf(ctx context.Context, err error) event.Class {
	var classed *event.Error
	var panicked *event.Panic
	switch {
	case ctx.Err() != nil:
		return event.ClassOf(ctx.Err())
	case errors.As(err, &classed):
		return classed.Class
	case errors.As(err, &panicked):
		return event.Permanent
	case errors.Is(err, context.DeadlineExceeded):
		return event.Transient
	}
	return event.Unknown
}
