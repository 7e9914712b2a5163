package eventstore

import (
	"errors"
	"testing"
)

// TestErrorsSayWhatToDo: the texts an operator or a caller's log gets to see.
func TestErrorsSayWhatToDo(t *testing.T) {
	cause := errors.New("connection reset")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{
			&Conflict{Aggregate: "42", Expected: 7, Version: 9},
			"appending to 42 after version 7: another event stands at version 9",
		},
		{
			&Unsettled{Aggregate: "42", Expected: 7, Events: 2, Err: cause},
			"appending 2 events to 42 after version 7: it is not known whether they stand: connection reset",
		},
		{
			&Refusal{Aggregate: "42", Version: 7, Err: errors.New("the account is closed")},
			"42 refuses at version 7: the account is closed",
		},
		{
			(&Hole{Aggregate: "42", Version: 7}).classed(),
			"loading 42: version 7 of 42 is missing and a later one stands (its events were removed, or written by something that does not read before it writes)",
		},
		{
			&LimitError{Limit: "the item", Unit: "bytes", Found: 409601, Max: 409600, Version: 8, Advice: "keep the payload elsewhere"},
			"the item of version 8 is 409601 bytes, at most 409600 are allowed: keep the payload elsewhere",
		},
		{
			&LimitError{Limit: "the append", Unit: "events", Found: 101, Max: 100, Advice: "append in several steps"},
			"the append is 101 events, at most 100 are allowed: append in several steps",
		},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("%T: %q\nwant %q", tc.err, got, tc.want)
		}
	}
}
