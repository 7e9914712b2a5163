package eventstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"millrace/event"
	"millrace/internal/localaws"
)

// place appends one event whatever the state is.
func place(tally) ([]NewEvent, error) { return []NewEvent{placed("1")}, nil }

// TestHandleReturnsTheStateItMade without another read.
func TestHandleReturnsTheStateItMade(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	fill(t, s, "42", 3, 1)
	state, version, err := Handle(t.Context(), s, Command[tally]{
		Aggregate: "42", Fold: add,
		Decide: func(state tally) ([]NewEvent, error) {
			if state.last != 3 {
				t.Errorf("decides on %v", state)
			}
			return []NewEvent{placed("1"), placed("2")}, nil
		},
	})
	if err != nil || version != 5 || state.last != 5 {
		t.Fatalf("got %v at %d, %v", state, version, err)
	}
	loaded, _, err := Load(t.Context(), s, "42", add)
	if err != nil || loaded != state {
		t.Errorf("loaded %v, handled %v, %v", loaded, state, err)
	}
}

// TestARefusalIsFinal: the rule is asked once and its error is found.
func TestARefusalIsFinal(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	fill(t, s, "42", 3, 1)
	empty, asked := errors.New("nothing to ship"), 0
	_, _, err := Handle(t.Context(), s, Command[tally]{
		Aggregate: "42", Fold: add,
		Decide: func(tally) ([]NewEvent, error) { asked++; return nil, empty },
	})
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Version != 3 || !errors.Is(err, empty) || asked != 1 {
		t.Errorf("asked %d times, got %v", asked, err)
	}
}

// TestNothingToDoIsNoAppend and leaves the state as it is.
func TestNothingToDoIsNoAppend(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	fill(t, s, "42", 3, 1)
	state, version, err := Handle(t.Context(), s, Command[tally]{
		Aggregate: "42", Fold: add, Decide: func(tally) ([]NewEvent, error) { return nil, nil },
	})
	if err != nil || version != 3 || state.last != 3 {
		t.Errorf("got %v at %d, %v", state, version, err)
	}
}

// TestAnEventThatCannotBeFoldedIsNotAppended: it would be poison for ever.
func TestAnEventThatCannotBeFoldedIsNotAppended(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	bad := errors.New("unknown event")
	_, _, err := Handle(t.Context(), s, Command[tally]{
		Aggregate: "42", Decide: place,
		Fold: func(tally, event.Event) (tally, error) { return tally{}, bad },
	})
	if !errors.Is(err, bad) || event.ClassOf(err) != event.Permanent {
		t.Errorf("got %v", err)
	}
	if head, err := s.Head(t.Context(), "42"); head != 0 || err != nil {
		t.Errorf("head %d, %v", head, err)
	}
}

// TestALostRaceIsDecidedAnew on what the winner left, a bounded number of
// times.
func TestALostRaceIsDecidedAnew(t *testing.T) {
	for _, tc := range []struct{ rivals, tries, decided int }{
		{rivals: 0, decided: 1},
		{rivals: 1, decided: 2},
		{rivals: 4, decided: 5},
		{rivals: 9, decided: 5},
		{rivals: 9, tries: 2, decided: 2},
		{rivals: 9, tries: 20, decided: 10},
	} {
		t.Run(fmt.Sprint(tc.rivals, " rivals, tries ", tc.tries), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, e := opened(t, localaws.Options{})
				rival := client(t, e, 2)
				decided := 0
				state, version, err := Handle(t.Context(), s, Command[tally]{
					Aggregate: "42", Fold: add, Tries: tc.tries,
					Decide: func(state tally) ([]NewEvent, error) {
						if state.last != uint64(decided) {
							t.Errorf("decision %d on version %d", decided+1, state.last)
						}
						if decided < tc.rivals {
							if _, err := rival.Append(t.Context(), "42", state.last, placed("1")); err != nil {
								t.Error(err)
							}
						}
						decided++
						return place(state)
					},
				})
				if decided != tc.decided {
					t.Errorf("decided %d times, want %d", decided, tc.decided)
				}
				wantWin := tc.decided > tc.rivals
				if got := kindOf(err); wantWin != (got == "won") || !wantWin && got != "conflict" {
					t.Errorf("got %v", err)
				}
				if wantWin && (version != uint64(tc.decided) || state.last != version) {
					t.Errorf("got %v at %d", state, version)
				}
			})
		})
	}
}

// TestManyHandlersOnOneAggregate: every command takes effect once.
func TestManyHandlersOnOneAggregate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := opened(t, localaws.Options{})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if _, _, err := Handle(t.Context(), s, Command[tally]{Aggregate: "42", Fold: add, Decide: place, Tries: 100}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if state, version, err := Load(t.Context(), s, "42", add); err != nil || version != 16 || state.events != 16 {
			t.Errorf("%v at %d, %v", state, version, err)
		}
	})
}
