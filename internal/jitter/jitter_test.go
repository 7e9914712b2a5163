package jitter

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitsStayInTheirBounds(t *testing.T) {
	s := Source{Seed: 7}
	seen := map[time.Duration]bool{}
	for n := range 1000 {
		if d := s.Around(time.Second, "renew", n); d < 900*time.Millisecond || d >= 1100*time.Millisecond {
			t.Fatalf("Around gave %v", d)
		} else {
			seen[d] = true
		}
		limit := min(50*time.Millisecond<<min(n, 20), time.Second)
		if d := s.Backoff(50*time.Millisecond, time.Second, "retry", n); d <= 0 || d > limit {
			t.Fatalf("Backoff %d gave %v, over %v", n, d, limit)
		}
	}
	if len(seen) < 990 {
		t.Fatalf("only %d of 1000 waits differ: timers would share instants", len(seen))
	}
}

func TestAWaitDependsOnSeedNameAndCountOnly(t *testing.T) {
	s := Source{Seed: 7}
	if s.Around(time.Second, "a", 3) != (Source{Seed: 7}).Around(time.Second, "a", 3) {
		t.Error("the same wait came out differently")
	}
	for _, other := range []time.Duration{
		s.Around(time.Second, "b", 3), s.Around(time.Second, "a", 4), Source{Seed: 8}.Around(time.Second, "a", 3),
	} {
		if other == s.Around(time.Second, "a", 3) {
			t.Error("another wait came out the same")
		}
	}
	ids := map[string]bool{}
	for n := range 10000 {
		ids[s.ID("token", n)] = true
	}
	if len(ids) != 10000 {
		t.Errorf("%d of 10000 ids differ", len(ids))
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("slept %v, %v", time.Since(began), err)
		}
	})
}
