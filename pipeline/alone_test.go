package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
)

// puzzledBy fails at one version of some aggregates, without a word why.
type puzzledBy struct {
	sinks.Sink
	version    uint64
	aggregates map[string]bool
}

func (p puzzledBy) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	run := runs[0]
	if !p.aggregates[run.Aggregate] || run.After.Version >= p.version || run.Last().Version < p.version {
		return p.Sink.Apply(ctx, runs)
	}
	if run.Events = run.Events[:p.version-1-run.After.Version]; len(run.Events) > 0 {
		if o := p.Sink.Apply(ctx, []event.Run{run})[0]; o.Err != nil || !o.Known {
			return []event.Outcome{o}
		}
	}
	return []event.Outcome{{Position: event.Position{Version: p.version - 1}, Known: true, Err: errors.New("puzzling")}}
}

// TestC12_UnknownFailuresInAShardThatHasEnded: their shard is not finished
// before they are settled, and nothing of its children is read until then. So
// nobody else can ever have success, which a charge used to wait for.
func TestC12_UnknownFailuresInAShardThatHasEnded(t *testing.T) {
	for name, aggregates := range map[string]map[string]bool{
		"one": {"a": true},
		"two": {"a": true, "c": true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				markers := newMarkerTable()
				for aggregate := range aggregates {
					w.append(aggregate, 5)
				}
				for _, s := range w.engine.Shards(eventsTable) {
					if err := w.engine.Roll(eventsTable, s.ID); err != nil {
						t.Fatal(err)
					}
				}
				w.append("b", 10)
				r := w.start("one", withMarkers(markers), func(o *pipeline.Options) {
					o.Sinks[0].Sink = puzzledBy{o.Sinks[0].Sink, 3, aggregates}
				})
				eventually(t, 15*time.Minute, "what the child holds is applied", func() bool { return w.has("view", "b", 10) })
				for aggregate := range aggregates {
					if m := markers.marker(t, aggregate); m.BlockedVersion != 3 || m.Cause.Class != event.Unknown.String() {
						t.Errorf("the marker is %+v", m)
					}
				}
				r.end()
			})
		})
	}
}
