package redrive_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/jitter"
)

// rows is a table of one marker.
type rows struct{ row event.Item }

func (r *rows) Apply(_ context.Context, key failure.Key, t failure.Transition) (failure.Verdict, failure.Marker, error) {
	row, held := t.Apply(r.row)
	verdict := failure.Applied
	if held {
		r.row = row
	} else {
		verdict = failure.Judge(t, row)
	}
	marker, err := failure.ParseMarker(key, row)
	return verdict, marker, err
}

func (r *rows) blocked(t *testing.T, v, seen uint64) failure.Marker {
	t.Helper()
	key := failure.Key{Group: "g", Table: "events", Sink: "view", SinkVersion: 1, Aggregate: "a"}
	for _, step := range []failure.Transition{failure.Block(v, "g0", failure.Cause{Class: "permanent"}), failure.Follow(seen)} {
		if verdict, _, err := r.Apply(t.Context(), key, step); err != nil || !verdict.Succeeded() && seen > v {
			t.Fatalf("%s: %v, %v", step.Name, verdict, err)
		}
	}
	marker, err := failure.ParseMarker(key, r.row)
	if err != nil {
		t.Fatal(err)
	}
	return marker
}

// target is a guarded sink whose every answer may go wrong.
type target struct {
	position uint64
	outcome  func(run event.Run) event.Outcome // nil: the run takes effect
}

func (s *target) Apply(_ context.Context, runs []event.Run) []event.Outcome {
	run := runs[0]
	if s.outcome != nil {
		return []event.Outcome{s.outcome(run)}
	}
	if s.position == run.After.Version {
		s.position = run.Last().Version
	}
	return []event.Outcome{{Known: true, Position: event.Position{Version: s.position}}}
}

func (s *target) Positions(context.Context, []string) ([]event.Position, error) {
	return []event.Position{{Version: s.position}}, nil
}

func (*target) Close(context.Context) error { return nil }

// store holds the versions up to head, less one that is missing, and one that
// a query does not see yet.
type store struct{ head, missing, torn uint64 }

func (s store) Range(_ context.Context, aggregate string, from, to uint64, page func([]event.Event) error) error {
	var events []event.Event
	for v := from; v <= min(to, s.head); v++ {
		if v != s.missing && v != s.torn {
			events = append(events, event.Event{Aggregate: aggregate, Version: v, Layout: event.Orders()})
		}
	}
	return page(events)
}

func (s store) Confirm(_ context.Context, aggregate string, versions []uint64) (events []event.Event, err error) {
	for _, v := range versions {
		if v != s.missing && v <= s.head {
			events = append(events, event.Event{Aggregate: aggregate, Version: v, Layout: event.Orders()})
		}
	}
	return events, nil
}

func redriver(m *rows, s *target, e store) *redrive.Redriver {
	return &redrive.Redriver{
		Markers: m, Events: e, Sink: s, Job: "job", Jitter: jitter.Source{Seed: 1}, RunEvents: 2,
	}
}

func TestHowARedriveEnds(t *testing.T) {
	refused := &event.Error{Class: event.Permanent, Op: "folding", Err: errors.New("no")}
	throttled := &event.Error{Class: event.Transient, Op: "writing"}
	for _, tc := range []struct {
		name    string
		outcome func(run event.Run) event.Outcome
		store   store
		want    redrive.Outcome
		to      uint64
		state   failure.State
		blocked uint64
		waited  bool // patience was used up
	}{
		{name: "everything is applied", store: store{head: 9}, want: redrive.Released, to: 7, state: failure.Live},
		{
			name: "it fails again", store: store{head: 9}, want: redrive.Failed, to: 2, state: failure.Blocked, blocked: 3,
			outcome: func(run event.Run) event.Outcome {
				return event.Outcome{Known: true, Position: run.After, Err: refused}
			},
		},
		{
			name: "the sink panics", store: store{head: 9}, want: redrive.Failed, to: 2, state: failure.Blocked, blocked: 3,
			outcome: func(event.Run) event.Outcome { panic("no such currency") },
		},
		{name: "a version is missing", store: store{head: 9, missing: 5}, want: redrive.Failed, to: 4, state: failure.Blocked, blocked: 5},
		{name: "a transaction can be seen in part", store: store{head: 9, torn: 5}, want: redrive.Released, to: 7, state: failure.Live},
		{
			name: "the target is throttled for long", store: store{head: 9}, want: redrive.Paused, to: 2, state: failure.Redriving, blocked: 3, waited: true,
			outcome: func(run event.Run) event.Outcome {
				return event.Outcome{Known: true, Position: run.After, Err: throttled}
			},
		},
		{
			name: "the target refuses everybody", store: store{head: 9}, want: redrive.Paused, to: 2, state: failure.Redriving, blocked: 3, waited: true,
			outcome: func(run event.Run) event.Outcome {
				return event.Outcome{Known: true, Position: run.After, Err: &event.Error{Class: event.Unavailable, Op: "writing"}}
			},
		},
		{
			// To block it again would be to blame the record for the configuration.
			name: "the target's item is somebody else's", store: store{head: 9}, want: redrive.Paused, to: 2, state: failure.Redriving, blocked: 3,
			outcome: func(run event.Run) event.Outcome {
				return event.Outcome{Known: true, Position: run.After, Err: &event.Error{Class: event.Foreign, Op: "writing"}}
			},
		},
		{
			// It used to go round without a pause and without an end.
			name: "every answer is lost", store: store{head: 9}, want: redrive.Paused, to: 2, state: failure.Redriving, blocked: 3, waited: true,
			outcome: func(event.Run) event.Outcome { return event.Outcome{} },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := &rows{}, &target{position: 2, outcome: tc.outcome}
				began := time.Now()
				result, err := redriver(m, s, tc.store).Redrive(t.Context(), m.blocked(t, 3, 7))
				if err != nil || result.Outcome != tc.want || result.From != 2 || result.To != tc.to {
					t.Fatalf("it ended %+v, %v", result, err)
				}
				marker, err := failure.ParseMarker(failure.Key{Aggregate: "a"}, m.row)
				if err != nil || marker.State != tc.state || marker.BlockedVersion != tc.blocked {
					t.Errorf("the marker is %+v, %v", marker, err)
				}
				if tc.name == "the sink panics" && (marker.Cause.Type != "*event.Panic" || !strings.Contains(strings.Join(marker.Cause.Frames, " "), "redrive_test.go")) {
					t.Errorf("the cause tells nothing of the panic: %+v", marker.Cause)
				}
				if waited := time.Since(began) >= 30*time.Second; waited != tc.waited {
					t.Errorf("it took %v", time.Since(began))
				}
			})
		})
	}
}

// TestStoppedRedriveCanBeTakenOver: a job that dies leaves its claim, which
// another takes over and finishes.
func TestStoppedRedriveCanBeTakenOver(t *testing.T) {
	m, s := &rows{}, &target{position: 2}
	marker := m.blocked(t, 3, 7)
	ctx, cancel := context.WithCancel(t.Context())
	s.outcome = func(run event.Run) event.Outcome {
		cancel()
		return event.Outcome{Known: true, Position: run.After, Err: &event.Error{Class: event.Stopping, Op: "writing"}}
	}
	if _, err := redriver(m, s, store{head: 9}).Redrive(ctx, marker); !errors.Is(err, context.Canceled) {
		t.Fatalf("a stop ended as %v", err)
	}
	s.outcome = nil
	claimed, err := failure.ParseMarker(marker.Key, m.row)
	if err != nil || claimed.State != failure.Redriving {
		t.Fatalf("the claim is %+v, %v", claimed, err)
	}
	if result, err := redriver(m, s, store{head: 9}).Redrive(t.Context(), claimed); err != nil || result.Outcome != redrive.Released || s.position != 7 {
		t.Errorf("the next job ended %+v, %v, at %d", result, err, s.position)
	}
	// And one that comes too late leaves it alone.
	if result, err := redriver(m, s, store{head: 9}).Redrive(t.Context(), claimed); err != nil || result.Outcome != redrive.Left {
		t.Errorf("a late job ended %+v, %v", result, err)
	}
}
