package sinks

import (
	"context"

	"millrace/event"
)

// Beginner is a sink whose aggregates can begin after version 1. Begin moves the
// position of one that has none to at, in a write that is conditional on that,
// and returns the position that stands then: another one, where somebody else
// was first. Everything at or below it counts as not the sink's.
type Beginner interface {
	Begin(ctx context.Context, aggregate string, at event.Position) (event.Position, error)
}
