package dynamodb_test

import (
	"strings"
	"testing"

	"millrace/event"
	"millrace/failure"
)

// TestC8_AnAggregateOfAnyName: an id may fill a partition key of the event
// table, and a sort key of the control table has room for half of it. It is
// blocked, listed under its name, promised a letter, claimed and released.
func TestC8_AnAggregateOfAnyName(t *testing.T) {
	for name, id := range map[string]string{
		"2 KB": strings.Repeat("x", 2048), "2 KB of unicode": strings.Repeat("世", 682), "escaped": strings.Repeat("%|", 400),
		"odd": "a|b%7Cé世\n%", "a hash of nobody": "|" + strings.Repeat("0", 64),
	} {
		t.Run(name, func(t *testing.T) {
			_, s := open(t)
			apply := func(step failure.Transition) failure.Marker {
				t.Helper()
				verdict, marker, err := s.Apply(t.Context(), keyOf(id), step)
				if err != nil || verdict != failure.Applied {
					t.Fatalf("%s came to %v, %v", step.Name, verdict, err)
				}
				return marker
			}
			apply(failure.Block(2, "g1", failure.Cause{Class: event.Crash.String()}))
			apply(failure.Follow(4))

			markers, foreign, err := s.Standing(t.Context(), scope)
			if err != nil || len(foreign) != 0 || len(markers) != 1 || markers[0].Key != keyOf(id) || markers[0].SeenVersion != 4 {
				t.Errorf("listed are %+v, %v, %v", markers, foreign, err)
			}
			if crashed, err := s.Crashed(t.Context(), scope); err != nil || len(crashed) != 1 || crashed[0].Key != keyOf(id) {
				t.Errorf("of class crash are %+v, %v", crashed, err)
			}
			promises, err := s.Promises(t.Context(), scope)
			if err != nil || len(promises) != 1 || promises[0].Key != keyOf(id) {
				t.Fatalf("promised are %+v, %v", promises, err)
			}
			if err := s.Kept(t.Context(), promises[0]); err != nil {
				t.Error(err)
			}
			if promises, err = s.Promises(t.Context(), scope); err != nil || len(promises) != 0 {
				t.Errorf("still promised are %+v, %v", promises, err)
			}

			apply(failure.Claim("g1", "g2", "job"))
			apply(failure.BackToBlocked("g2", 3, 4, "g3", failure.Cause{Class: "permanent"}))
			apply(failure.Claim("g3", "g4", "job"))
			apply(failure.Release("g4", 4, "g5"))
			if marker, err := s.Get(t.Context(), keyOf(id)); err != nil || marker.NotLive() {
				t.Errorf("the marker is %+v, %v", marker, err)
			}
		})
	}
}
