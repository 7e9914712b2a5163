package sinks

import (
	"context"

	"millrace/event"
)

// Sink applies runs to a target.
//
// A guarded sink keeps the position in the target, in the same atomic write
// as the effect: a run takes effect only where the target holds Run.After.
//
// Calls are concurrent; concurrent calls have different aggregates. A sink
// never retries and never sleeps: the pipeline does, because only it knows
// what else waits. A target that turns out to be somebody else's is an error of
// class event.Foreign, or event.Superseded if a newer version of the sink owns
// it: of another class it would block every aggregate.
type Sink interface {
	// Apply returns one outcome for each run, in the same order.
	Apply(ctx context.Context, runs []event.Run) []event.Outcome
	// Positions reads the positions of up to MaxPositions aggregates,
	// consistently, in the same order. The zero position means nothing applied.
	Positions(ctx context.Context, aggregates []string) ([]event.Position, error)
	// Close releases what the sink holds. No call is under way or follows.
	Close(ctx context.Context) error
}

// MaxPositions is the most aggregates of one Positions call: what one
// BatchGetItem takes (DynamoDB API Reference).
const MaxPositions = 100

// Identity names whose positions a sink keeps. Two identities never share a
// position, whatever their target.
type Identity struct {
	Group   string // consumer group
	Source  string // the event store's table
	Sink    string
	Version int // of the sink; a rebuild raises it
}
