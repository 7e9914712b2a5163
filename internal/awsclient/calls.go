package awsclient

import (
	"context"
	"maps"
	"sync"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Call says what was called and how it ended: ok, or the error's code, or
// unanswered.
type Call struct{ Service, Operation, Outcome string }

// Calls counts calls by how they ended. It is safe for concurrent use; the zero
// value is ready.
type Calls struct {
	mu sync.Mutex
	n  map[Call]uint64
}

// Counts are the calls until now.
func (c *Calls) Counts() map[Call]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

func (c *Calls) ended(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[Call]uint64{}
	}
	c.n[call]++
}

// count has every call of a client counted.
func (c *Calls) count(stack *middleware.Stack) error {
	counting := middleware.InitializeMiddlewareFunc("CountCalls", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		call := Call{Service: awsmiddleware.GetServiceID(ctx), Operation: awsmiddleware.GetOperationName(ctx), Outcome: "ok"}
		switch {
		case err != nil && Code(err) != "":
			call.Outcome = Code(err)
		case err != nil:
			call.Outcome = "unanswered"
		}
		c.ended(call)
		return out, metadata, err //nolint:wrapcheck // it is handed through
	})
	return stack.Initialize.Add(counting, middleware.After) //nolint:wrapcheck // the SDK asks for it, and tells
}
