package eventstore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
)

// TestWhatAnAnswerMeans is the table of doc.go: what each way in which a
// write can fail means for the append. Events go after version 7.
func TestWhatAnAnswerMeans(t *testing.T) {
	throttle, five := fails(400, "ProvisionedThroughputExceededException"), fails(500, "InternalServerError")
	const won, conflict, unsettled, transient, permanent = "won", "conflict", "unsettled", "transient", "permanent"
	for _, tc := range []struct {
		name   string
		events int
		tries  int
		script []answer
		found  []string // the answer to a look at the end of the script
		want   string
		lostAt uint64
	}{
		{name: "one event", events: 1, script: []answer{success}, want: won},
		{name: "several", events: 3, script: []answer{success}, want: won},

		// S8: lost answers.
		{name: "one event, answer lost, our own stands", events: 1, script: []answer{lost, conditionFailed("own")}, want: won},
		{name: "one event, 500 after the effect", events: 1, script: []answer{five, conditionFailed("own")}, want: won},
		{name: "one event, time-out after the effect", events: 1, script: []answer{hangs, conditionFailed("own")}, want: won},
		{name: "one event, two answers lost", events: 1, script: []answer{lost, five, conditionFailed("own")}, want: won},
		{name: "one event, retried by the client unseen", events: 1, script: []answer{conditionFailed("own")}, want: won},
		{name: "one event, no effect the first time", events: 1, script: []answer{lost, success}, want: won},
		{name: "one event, answer lost, another stands", events: 1, script: []answer{lost, conditionFailed(foreign)}, want: conflict, lostAt: 8},
		{name: "one event, what stands is not told: ours", events: 1, script: []answer{lost, conditionFailed("")}, found: []string{"own"}, want: won},
		{name: "one event, what stands is not told: another's", events: 1, script: []answer{conditionFailed("")}, found: []string{"foreign"}, want: conflict, lostAt: 8},
		{name: "one event, what stood is gone", events: 1, script: []answer{conditionFailed("")}, found: []string{""}, want: conflict, lostAt: 8},
		{name: "several, answer lost, all our own stand", events: 3, script: []answer{lost, cancelled("own", "own", "own")}, want: won},
		{name: "several, answer lost, answered by the token", events: 3, script: []answer{lost, success}, want: won},
		{name: "several, only the first failure is told, all stand", events: 3, script: []answer{five, cancelled("own", "None", "None")}, found: []string{"own", "own", "own"}, want: won},
		{name: "several, only the first failure is told, another stands", events: 3, script: []answer{cancelled("own", "None", "None")}, found: []string{"own", "own", "foreign"}, want: conflict, lostAt: 10},
		{name: "several, items not told, all stand", events: 2, script: []answer{lost, cancelled("silent", "silent")}, found: []string{"own", "own"}, want: won},
		{name: "several, one of another stands", events: 3, script: []answer{lost, cancelled("None", "foreign", "None")}, want: conflict, lostAt: 9},

		// S4, S5: throttles are no lost races.
		{name: "one event, throttled", events: 1, script: []answer{throttle, throttle, success}, want: won},
		{name: "one event, throttled by an unmodelled name", events: 1, script: []answer{fails(400, "ThrottlingException"), success}, want: won},
		{name: "one event, under a transaction", events: 1, script: []answer{fails(400, "TransactionConflictException"), success}, want: won},
		{name: "one event, throttled to the end", events: 1, tries: 3, script: []answer{throttle, throttle, throttle}, want: transient},
		{name: "several, throttled as a whole", events: 2, script: []answer{throttle, success}, want: won},
		{name: "several, throttled inside", events: 2, script: []answer{cancelled("None", "ThrottlingError"), success}, want: won},
		{name: "several, over throughput inside", events: 2, script: []answer{cancelled("ProvisionedThroughputExceeded", "None"), success}, want: won},
		{name: "several, under a transaction", events: 2, script: []answer{cancelled("TransactionConflict", "TransactionConflict"), success}, want: won},
		{name: "several, still in progress", events: 2, script: []answer{fails(400, "TransactionInProgressException"), success}, want: won},
		{name: "several, throttled inside to the end", events: 2, tries: 2, script: []answer{cancelled("ThrottlingError", "None"), cancelled("ThrottlingError", "None")}, want: transient},
		{name: "several, throttled and another stands", events: 2, script: []answer{cancelled("ThrottlingError", "foreign")}, want: conflict, lostAt: 9},
		{name: "several, throttled and ours stands", events: 2, script: []answer{lost, cancelled("own", "ThrottlingError"), cancelled("own", "own")}, want: won},

		// Nobody knows.
		{name: "answers lost to the end", events: 1, tries: 2, script: []answer{lost, lost}, want: unsettled},
		{name: "answer lost, then throttled to the end", events: 1, tries: 2, script: []answer{lost, throttle}, want: unsettled},
		{name: "several, answer lost, then throttled inside", events: 2, tries: 2, script: []answer{lost, cancelled("None", "ThrottlingError")}, want: unsettled},

		{name: "what stands is not told, and the look is throttled", events: 1, tries: 1, script: []answer{conditionFailed(""), throttle}, want: unsettled},

		// Refused for good.
		{name: "no permission", events: 1, script: []answer{fails(400, "AccessDeniedException")}, want: "unavailable"},
		{name: "validation", events: 2, script: []answer{fails(400, "ValidationException")}, want: permanent},
		{name: "validation inside", events: 2, script: []answer{cancelled("None", "ValidationError")}, want: permanent},
		{name: "reasons that do not match the items", events: 2, script: []answer{cancelled("None")}, want: permanent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := scripted(t, Budget{Tries: tc.tries}, tc.script...)
				if tc.found != nil {
					w.script = append(w.script, w.found(tc.found...))
				}
				events := slices.Repeat([]NewEvent{placed("1.50")}, tc.events)
				version, err := s.Append(t.Context(), "42", 7, events...)
				if len(w.sent) != len(w.script) {
					t.Errorf("%d calls, want %d", len(w.sent), len(w.script))
				}
				if got := kindOf(err); got != tc.want {
					t.Fatalf("%s, want %s: %v", got, tc.want, err)
				}
				if err == nil && version != 7+uint64(tc.events) {
					t.Errorf("version %d", version)
				}
				var lost *Conflict
				if errors.As(err, &lost) && (lost.Aggregate != "42" || lost.Expected != 7 || lost.Version != tc.lostAt) {
					t.Errorf("lost %+v, want at version %d", lost, tc.lostAt)
				}
			})
		})
	}
}

func kindOf(err error) string {
	var conflict *Conflict
	var unsettled *Unsettled
	switch {
	case err == nil:
		return "won"
	case errors.As(err, &conflict):
		return "conflict"
	case errors.As(err, &unsettled):
		return "unsettled"
	}
	return event.ClassOf(err).String()
}

// TestThrottleIsNoLostRace: however long a throttle lasts, what comes out is
// the throttle.
func TestThrottleIsNoLostRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := scripted(t, Budget{}, slices.Repeat([]answer{fails(400, "ProvisionedThroughputExceededException")}, 10)...)
		began := time.Now()
		_, err := s.Append(t.Context(), "42", 0, placed("1"))
		if kindOf(err) != "transient" || len(w.sent) != 10 {
			t.Fatalf("%d calls, then %v", len(w.sent), err)
		}
		if took := time.Since(began); took <= 0 || took > 15*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestAnEqualEventOfAnotherIsNotOurs: two writers that append the same thing
// at the same time must not both be told that it was theirs.
func TestAnEqualEventOfAnotherIsNotOurs(t *testing.T) {
	theirs, w := scripted(t, Budget{}, success)
	if _, err := theirs.Append(t.Context(), "42", 7, placed("1")); err != nil {
		t.Fatal(err)
	}
	stands := planned(w.sent[0])[0]
	ours, _ := scripted(t, Budget{}, success, conditionFailed(stands))
	ours.jitter.Seed = 2
	if _, err := ours.Append(t.Context(), "41", 0, placed("1")); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Append(t.Context(), "42", 7, placed("1")); kindOf(err) != "conflict" {
		t.Errorf("got %v, want a conflict", err)
	}
}

// TestTheSameCommandAgainIsTheSameAppend: a caller that repeats an append of
// which nobody knew the outcome is told that it stands.
func TestTheSameCommandAgainIsTheSameAppend(t *testing.T) {
	e := placed("1.0")
	e.Command = "command-1"
	first, w := scripted(t, Budget{Tries: 1}, lost)
	if _, err := first.Append(t.Context(), "42", 7, e); kindOf(err) != "unsettled" {
		t.Fatalf("got %v, want unsettled", err)
	}
	e.Attributes = event.Item{"payload": event.Map{"amount": event.Number("1")}} // the same number
	again, _ := scripted(t, Budget{}, conditionFailed(planned(w.sent[0])[0]))
	if version, err := again.Append(t.Context(), "42", 7, e); version != 8 || err != nil {
		t.Errorf("got %d, %v", version, err)
	}
}

// TestAttemptsOfOneAppendShareTheirToken, and no two appends do.
func TestAttemptsOfOneAppendShareTheirToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := scripted(t, Budget{}, lost, success, success)
		for range 2 {
			if _, err := s.Append(t.Context(), "42", 7, placed("1"), placed("2")); err != nil {
				t.Fatal(err)
			}
		}
		token := func(n int) string { return string(w.sent[n].body["ClientRequestToken"]) }
		if token(0) != token(1) || token(1) == token(2) || len(token(0)) < 10 || len(token(0)) > 38 {
			t.Errorf("tokens %s, %s, %s", token(0), token(1), token(2))
		}
	})
}

// TestAStopIsNoFailure: a caller that stops gets its stop back, and what was
// not known stays so.
func TestAStopIsNoFailure(t *testing.T) {
	for _, tc := range []struct {
		name      string
		first     answer
		unsettled bool
	}{
		{"while throttled", fails(400, "ThrottlingException"), false},
		{"after a lost answer", lost, true},
		{"in a call", hangs, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s, _ := scripted(t, Budget{Base: time.Hour, Cap: time.Hour, Call: time.Hour, Total: time.Hour}, tc.first)
				done := make(chan error, 1)
				go func() {
					_, err := s.Append(ctx, "42", 0, placed("1"))
					done <- err
				}()
				synctest.Wait()
				cancel()
				err := <-done
				var unsettled *Unsettled
				if event.ClassOf(err) != event.Stopping || errors.As(err, &unsettled) != tc.unsettled {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
