package redrive_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
)

// table is an event table of one item.
type table struct {
	item event.Item
	err  error
}

func (e table) Item(context.Context, event.Item) (event.Item, error) { return e.item, e.err }

// TestH22_HowARerouteEnds: what becomes of an unroutable record, by what its item is
// today and by where the sink is. The row ends only where the record is
// accounted for.
func TestH22_HowARerouteEnds(t *testing.T) {
	refused := &event.Error{Class: event.Permanent, Op: "folding", Err: errors.New("no")}
	version7 := event.Item{"pk": event.String("a"), "sk": event.Orders().VersionKey(7)}
	for _, tc := range []struct {
		name     string
		table    table
		forget   bool
		position uint64
		blocked  bool // at 3, with nothing above on record
		store    store
		refuse   bool
		endErr   error
		want     redrive.Fate
		to, seen uint64
		ended    bool
	}{
		{name: "it is in effect", table: table{item: version7}, position: 9, store: store{head: 9}, want: redrive.Ended, to: 9, ended: true},
		{name: "it is applied with what lies before it", table: table{item: version7}, position: 2, store: store{head: 9}, want: redrive.Ended, to: 7, ended: true},
		{name: "its aggregate is blocked", table: table{item: version7}, position: 2, blocked: true, store: store{head: 9}, want: redrive.Ended, to: 2, seen: 7, ended: true},
		{name: "it cannot be applied", table: table{item: version7}, position: 2, store: store{head: 9}, refuse: true, want: redrive.Refused, to: 2},
		{name: "one before it is missing", table: table{item: version7}, position: 2, store: store{head: 9, missing: 5}, want: redrive.Refused, to: 4},
		{name: "it has no place yet", table: table{item: event.Item{"pk": event.String("a"), "sk": event.String("profile")}}, position: 2, want: redrive.Still, to: 2},
		{name: "it is gone", position: 2, want: redrive.Gone, to: 2},
		{name: "it is gone and given up", forget: true, position: 2, want: redrive.Forgotten, to: 2, ended: true},
		{name: "the table does not answer", table: table{err: &event.Error{Class: event.Transient, Op: "reading"}}, position: 2, want: redrive.Postponed, to: 2},
		{name: "the row cannot be deleted", table: table{item: version7}, position: 9, store: store{head: 9}, endErr: &event.Error{Class: event.Transient, Op: "deleting"}, want: redrive.Postponed, to: 9, ended: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := &rows{}, &target{position: tc.position}
				if tc.blocked {
					m.blocked(t, 3, 3)
				}
				if tc.refuse {
					s.outcome = func(run event.Run) event.Outcome {
						return event.Outcome{Known: true, Position: run.After, Err: refused}
					}
				}
				ended := false
				r := &redrive.Rerouter{
					Items: tc.table, Layout: event.Orders(), ForgetGone: tc.forget,
					Targets: []redrive.Target{{Redriver: redriver(m, s, tc.store), Key: failure.Key{Group: "g", Table: "events", Sink: "view", SinkVersion: 1}}},
					End:     func(context.Context, failure.Unroutable) error { ended = true; return tc.endErr },
				}
				result, err := r.Reroute(t.Context(), failure.Unroutable{ID: "e1"})
				seen, _ := failure.AsVersion(m.row[failure.SeenVersionAttribute])
				if err != nil || result.Outcome != tc.want || ended != tc.ended || s.position != tc.to || seen != tc.seen {
					t.Errorf("it ended %+v, %v; the row ended: %v; the sink is at %d, the marker at %d", result, err, ended, s.position, seen)
				}
			})
		})
	}
}

// TestH22_FilteredByNow: the layout was mended so that the item is no event.
func TestH22_FilteredByNow(t *testing.T) {
	ended := false
	r := &redrive.Rerouter{
		Items: table{item: event.Item{"pk": event.String("a"), "sk": event.String("profile")}}, Layout: event.Bank(),
		End: func(context.Context, failure.Unroutable) error { ended = true; return nil },
	}
	if result, err := r.Reroute(t.Context(), failure.Unroutable{ID: "e1"}); err != nil || result.Outcome != redrive.NoEvent || !ended {
		t.Errorf("it ended %+v, %v; the row ended: %v", result, err, ended)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.Reroute(stopped, failure.Unroutable{ID: "e1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a stop gave %v", err)
	}
}
