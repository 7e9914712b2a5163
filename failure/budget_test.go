package failure_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/event"
	"millrace/failure"
)

var limits = failure.Limits{Attempts: 5, RetryFor: 30 * time.Second, MaxAge: 15 * time.Minute}

// attempts fails n times, every so often; others take effect in between or not.
func attempts(b failure.Budget, now *failure.Moment, class event.Class, n int, every time.Duration, others bool) failure.Budget {
	for range n {
		now.At = now.At.Add(every)
		if others {
			now.Effects++
		}
		b = b.Fail(class, *now)
	}
	return b
}

func TestWhenARecordIsExhausted(t *testing.T) {
	for _, tc := range []struct {
		name    string
		class   event.Class
		n       int
		every   time.Duration
		others  bool
		want    bool
		charged int
	}{
		{name: "transient, too few", class: event.Transient, n: 5, every: time.Minute, others: true, want: false, charged: 4},
		{name: "transient, too soon", class: event.Transient, n: 30, every: time.Second, others: true, want: false, charged: 29},
		{name: "transient, often and long enough", class: event.Transient, n: 31, every: time.Second, others: true, want: true, charged: 30},
		{name: "batch, often and long enough", class: event.Batch, n: 6, every: 6 * time.Second, others: true, want: true, charged: 5},
		{name: "unknown, too few", class: event.Unknown, n: 5, every: time.Hour, others: true, want: false, charged: 4},
		{name: "unknown, often enough", class: event.Unknown, n: 6, every: time.Millisecond, others: true, want: true, charged: 5},
		{name: "unavailable is nobody's fault", class: event.Unavailable, n: 1000, every: time.Minute, others: true, want: false},
		{name: "permanent at once", class: event.Permanent, n: 1, want: true},
		{name: "a gap at once", class: event.Gap, n: 1, want: true},
		{name: "a stop never", class: event.Stopping, n: 100, every: time.Hour, others: true, want: false},
		{name: "transient, nobody is answered", class: event.Transient, n: 1000, every: time.Minute},
		{name: "unknown, nobody is answered", class: event.Unknown, n: 1000, every: time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := failure.Moment{At: time.Unix(1, 0)}
			b := attempts(failure.Budget{}, &now, tc.class, tc.n, tc.every, tc.others)
			if got := limits.Exhausted(tc.class, b); got != tc.want || b.Charged != tc.charged {
				t.Errorf("exhausted: %v with %+v", got, b)
			}
		})
	}
}

// TestH19a_AnOutageIsNoAge: of an outage as long as one likes, before which and
// after which others are answered, a record is charged for what lies between
// its own attempts, and not for what the sink was paused.
func TestH19a_AnOutageIsNoAge(t *testing.T) {
	now := failure.Moment{At: time.Unix(1, 0)}
	b := attempts(failure.Budget{}, &now, event.Transient, 2, time.Second, true)
	b = attempts(b, &now, event.Transient, 400, 5*time.Second, false)
	if b.Charged != 1 || b.Age != time.Second {
		t.Errorf("more than half an hour without an answer to anybody cost %+v", b)
	}
	now.At, now.Paused, now.Effects = now.At.Add(time.Hour), now.Paused+time.Hour-3*time.Second, now.Effects+9
	if b = b.Fail(event.Transient, now); b.Charged != 2 || b.Age != 4*time.Second {
		t.Errorf("an hour's pause cost %+v", b)
	}
	if limits.Exhausted(event.Transient, b) {
		t.Errorf("exhausted with %+v", b)
	}
}

// TestMaxAge: with pauses that are long a record is exhausted by its age alone.
func TestMaxAge(t *testing.T) {
	few := failure.Limits{Attempts: 100, RetryFor: time.Second, MaxAge: 15 * time.Minute}
	now := failure.Moment{At: time.Unix(1, 0)}
	b := attempts(failure.Budget{}, &now, event.Transient, 15, time.Minute, true)
	if few.Exhausted(event.Transient, b) {
		t.Errorf("exhausted after 14 minutes: %+v", b)
	}
	if b = attempts(b, &now, event.Transient, 1, time.Minute, true); !few.Exhausted(event.Transient, b) {
		t.Errorf("not exhausted after 15 minutes: %+v", b)
	}
	// Its event could not be read for hours; that is no attempt.
	now = failure.Moment{At: time.Unix(1, 0)}
	b = attempts(failure.Budget{}, &now, event.Transient, 2, 5*time.Hour, true)
	if limits.Exhausted(event.Transient, b) {
		t.Errorf("exhausted by one attempt: %+v", b)
	}
}

// TestBudgetProperties: whatever happens, a record is charged at most once for
// each attempt that others were answered before, its age is at most the time
// that passed without pauses, and neither falls.
func TestBudgetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Unix(1, 0)
		now := failure.Moment{At: begin}
		var b failure.Budget
		answered, seen := 0, uint64(0)
		for i, n := 0, rapid.IntRange(1, 40).Draw(t, "attempts"); i < n; i++ {
			step := time.Duration(rapid.IntRange(1, 100_000).Draw(t, "ms")) * time.Millisecond
			now.At = now.At.Add(step)
			now.Paused += step * time.Duration(rapid.IntRange(0, 4).Draw(t, "paused")) / 4
			now.Effects += uint64(rapid.SampledFrom([]int{0, 0, 1, 7}).Draw(t, "effects"))
			if i > 0 && now.Effects > seen {
				answered++
			}
			seen = now.Effects
			class := rapid.SampledFrom([]event.Class{event.Transient, event.Unknown, event.Batch, event.Unavailable}).Draw(t, "class")
			before := b
			b = b.Fail(class, now)
			switch {
			case b.Charged < before.Charged || b.Age < before.Age:
				t.Fatalf("%+v became %+v", before, b)
			case b.Charged > answered || b.Age > now.At.Sub(begin)-now.Paused:
				t.Fatalf("%+v after %d answers to others in %v, paused for %v", b, answered, now.At.Sub(begin), now.Paused)
			case answered == 0 && limits.Exhausted(class, b):
				t.Fatalf("exhausted although nobody was answered: %+v", b)
			}
		}
	})
}
