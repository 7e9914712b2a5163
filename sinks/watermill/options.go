package watermill

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"millrace/event"
	"millrace/sinks"
)

// Positions keeps the positions of sinks whose targets keep none;
// *position.Store does. A Move that finds the row elsewhere answers with where
// it stands and no error.
type Positions interface {
	Positions(ctx context.Context, id sinks.Identity, aggregates []string) ([]event.Position, error)
	Move(ctx context.Context, id sinks.Identity, aggregate string, from, to event.Position) (event.Position, error)
}

// Options are the settings of a sink.
type Options struct {
	// Publisher is this sink's alone and closed with it. It gets the call's
	// context with each message; one that does not heed it holds up its
	// aggregate, and a stop, for as long as it blocks. Required.
	Publisher message.Publisher
	// Topic names an event's topic: text with the placeholders {type} and
	// {aggregate}, "orders" or "orders.{type}". Brokers order nothing across
	// topics. Required.
	Topic string
	// Identity says whose positions these are. Required, each part of it; the
	// version is at least 1.
	Identity sinks.Identity
	// Positions is where the positions are. Required.
	Positions Positions
	// Marshal makes a message's payload. The same event must give the same
	// bytes. Its errors are permanent unless they are an *event.Error. It is
	// called concurrently. Default: JSON.
	Marshal func(event.Event) ([]byte, error)
	// Cache is how many aggregates' positions are remembered, about, so that a
	// run that follows on this worker's own last write needs no read. Default
	// 10,000; negative for none.
	Cache int
}

const defaultCache = 10_000

// New makes the sink. It calls nobody.
func New(o Options) (*Sink, error) {
	if o.Marshal == nil {
		o.Marshal = JSON
	}
	if o.Cache == 0 {
		o.Cache = defaultCache
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("setting up watermill sink %s: %w", o.Identity.Sink, err)
	}
	return &Sink{options: o, memory: newMemory(o.Cache)}, nil
}

func (o Options) check() error {
	id := o.Identity
	switch {
	case o.Publisher == nil:
		return errors.New("no publisher")
	case o.Positions == nil:
		return errors.New("no positions")
	case id.Group == "" || id.Source == "" || id.Sink == "" || id.Version < 1:
		return errors.New("an identity has a group, a source, a sink and a version from 1 on")
	}
	return checkTopic(o.Topic)
}
