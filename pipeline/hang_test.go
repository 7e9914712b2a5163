package pipeline_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
)

// hanging is a sink whose first call of each kind gets no answer.
type hanging struct {
	sinks.Sink
	applied, asked bool // each is touched by one goroutine: Parallel is 1
}

func (h *hanging) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	if !h.applied {
		h.applied = true
		<-ctx.Done()
		return []event.Outcome{{Err: ctx.Err()}}
	}
	return h.Sink.Apply(ctx, runs)
}

func (h *hanging) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	if !h.asked {
		h.asked = true
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Sink.Positions(ctx, aggregates)
}

// A call of a sink that is never answered held its aggregate for as long as
// the worker lived.
func TestSinkCallWithoutAnswerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{})
		r := w.start("one", func(o *pipeline.Options) {
			o.Sinks[0].Sink = &hanging{Sink: o.Sinks[0].Sink}
			o.Sinks[0].Parallel, o.Sinks[0].Call = 1, 3*time.Second
		})
		w.append("a", 3)
		eventually(t, 15*time.Second, "both calls given up and repeated", w.caughtUp)
		r.end()
		w.applied("view", "a", 3)
	})
}
