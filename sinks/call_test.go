package sinks_test

import (
	"context"
	"errors"
	"testing"

	"millrace/event"
	"millrace/sinks"
)

// odd is a sink that answers as it is told.
type odd struct {
	apply     func() []event.Outcome
	positions func() ([]event.Position, error)
}

func (o odd) Apply(context.Context, []event.Run) []event.Outcome { return o.apply() }

func (o odd) Positions(context.Context, []string) ([]event.Position, error) { return o.positions() }

func (odd) Close(context.Context) error { return nil }

// TestWhatASinkMustNotDo: a panic, and another number of answers than of
// questions, are permanent failures of what was asked, with the place of the
// panic; nothing is known then of the target. Everything else is handed on.
func TestWhatASinkMustNotDo(t *testing.T) {
	run := event.Run{Aggregate: "a", After: event.Position{Version: 1}, Events: []event.Event{{Aggregate: "a", Version: 2}}}
	throttled := &event.Error{Class: event.Transient, Op: "writing"}
	for name, tc := range map[string]struct {
		sink   odd
		class  event.Class
		places bool
		known  bool
	}{
		"panic": {
			sink:  odd{func() []event.Outcome { panic(throttled) }, func() ([]event.Position, error) { panic(throttled) }},
			class: event.Permanent, places: true,
		},
		"no answer": {
			sink:  odd{func() []event.Outcome { return nil }, func() ([]event.Position, error) { return nil, nil }},
			class: event.Permanent,
		},
		"an error": {
			sink: odd{
				func() []event.Outcome { return []event.Outcome{{Known: true, Err: throttled}} },
				func() ([]event.Position, error) { return nil, throttled },
			},
			class: event.Transient, known: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := sinks.Apply(t.Context(), tc.sink, run)
			_, err := sinks.Positions(t.Context(), tc.sink, []string{"a"})
			for _, err := range []error{o.Err, err} {
				var panicked *event.Panic
				if event.ClassOf(err) != tc.class || errors.As(err, &panicked) != tc.places {
					t.Errorf("got %v of class %v", err, event.ClassOf(err))
				}
			}
			if o.Known != tc.known {
				t.Errorf("the outcome is %+v", o)
			}
		})
	}
}
