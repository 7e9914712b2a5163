package failure_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"millrace/event"
	"millrace/failure"
)

type refusal struct{ frames []string }

func (refusal) Error() string      { return "refused" }
func (r refusal) Places() []string { return r.frames }

// TestOneFingerprintForOneKindOfFailure: the aggregate, the version and the
// text differ each time and must not tell failures apart; sink, type, place and
// event type must.
func TestOneFingerprintForOneKindOfFailure(t *testing.T) {
	cause := func(sink, eventType string, err error) failure.Cause {
		return failure.CauseOf(err, sink, eventType, 1, time.Unix(1, 0), time.Unix(2, 0))
	}
	wrapped := func(aggregate string, inner error) error {
		return &event.Error{Class: event.Permanent, Op: "applying versions 1 to 2 of " + aggregate, Err: inner}
	}
	base := cause("view", "OrderPlaced", wrapped("order-1", refusal{[]string{"fold.go:7"}}))
	if base.Class != "permanent" || base.Type != "failure_test.refusal" || base.Frames[0] != "fold.go:7" || base.Fingerprint == "" {
		t.Fatalf("the cause is %+v", base)
	}
	if other := cause("view", "OrderPlaced", wrapped("order-2", refusal{[]string{"fold.go:7"}})); other.Fingerprint != base.Fingerprint {
		t.Error("another aggregate has another fingerprint")
	}
	a := cause("view", "T", fmt.Errorf("order 7: %w", errors.New("amount 12 is odd")))
	if b := cause("view", "T", fmt.Errorf("order 8: %w", errors.New("amount 15 is odd"))); a.Fingerprint != b.Fingerprint {
		t.Error("another text has another fingerprint")
	}
	for what, other := range map[string]failure.Cause{
		"sink":       cause("other", "OrderPlaced", wrapped("order-1", refusal{[]string{"fold.go:7"}})),
		"event type": cause("view", "OrderPaid", wrapped("order-1", refusal{[]string{"fold.go:7"}})),
		"place":      cause("view", "OrderPlaced", wrapped("order-1", refusal{[]string{"fold.go:9"}})),
		"type":       cause("view", "OrderPlaced", wrapped("order-1", errors.New("refused"))),
	} {
		if other.Fingerprint == base.Fingerprint {
			t.Errorf("another %s has the same fingerprint", what)
		}
	}
}
