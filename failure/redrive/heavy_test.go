package redrive_test

import (
	"context"
	"testing"
	"testing/synctest"

	"millrace/event"
	"millrace/failure/redrive"
	"millrace/internal/jitter"
)

// heavy is a store whose pages end after two events, and counts those that were
// handed on for one read.
type heavy struct {
	store
	most int
}

func (h *heavy) Range(ctx context.Context, aggregate string, from, to uint64, page func([]event.Event) error) error {
	read := 0
	defer func() { h.most = max(h.most, read) }()
	for ; from <= min(to, h.head); from += 2 {
		err := h.store.Range(ctx, aggregate, from, min(to, from+1), func(events []event.Event) error {
			read += len(events)
			return page(events)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestC9_HeavyEventsAreReadByThePage: what waits is never in memory by the
// thousand, whatever its size: eight aggregates of events of 400 KB at a time
// would be 3 GB.
func TestC9_HeavyEventsAreReadByThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, view, events := &rows{}, &target{}, &heavy{store: store{head: 51}}
		r := &redrive.Redriver{
			Markers: table, Events: events, Sink: view, Job: "job", Jitter: jitter.Source{Seed: 1},
		}
		got, err := r.Redrive(t.Context(), table.blocked(t, 1, 51))
		if err != nil || got.Outcome != redrive.Released || got.To != 51 {
			t.Fatalf("it ended %+v, %v", got, err)
		}
		if events.most != 2 {
			t.Errorf("one read took %d events", events.most)
		}
	})
}
