package checkpoint

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var boot = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// after is the instant d after the start on both clocks.
func after(d time.Duration) Instant { return Instant{Mono: d, Wall: boot.Add(d)} }

func TestH26_TrustRunsFromTheSending(t *testing.T) {
	const lease, longest = 10 * time.Second, time.Second
	trust := NewTrust(lease, longest)
	if trust.MayCall(after(0), 0) {
		t.Error("a lease that is not held is trusted")
	}
	trust.Renewed(after(0)) // however late its answer came
	for _, test := range []struct {
		now, timeout time.Duration
		may          bool
	}{
		{0, 6 * time.Second, true},
		{0, 6*time.Second + 1, false},
		{3 * time.Second, time.Second, true},
		{5 * time.Second, time.Second, true},
		{5*time.Second + 1, time.Second, false}, // no room for the call's time-out
		{6 * time.Second, 0, false},
		{time.Hour, 0, false},
	} {
		if got := trust.MayCall(after(test.now), test.timeout); got != test.may {
			t.Errorf("a call of %v at %v: %v, want %v", test.timeout, test.now, got, test.may)
		}
	}
	if got := TrustWindow(lease, 8*time.Second); got > 0 {
		t.Errorf("a time-out longer than the lease's share leaves a window of %v", got)
	}
}

func TestH26_AnOldAnswerDoesNotExtendOrShortenTrust(t *testing.T) {
	trust := NewTrust(10*time.Second, time.Second)
	trust.Renewed(after(3 * time.Second))
	trust.Renewed(after(time.Second))
	if left := trust.Left(after(3 * time.Second)); left != 6*time.Second {
		t.Errorf("%v left, want 6s from the later renewal", left)
	}
	trust.Lost()
	if trust.MayCall(after(3*time.Second), 0) {
		t.Error("a lost lease is trusted")
	}
}

func TestH26_SleepEndsTrust(t *testing.T) {
	for name, wall := range map[string]time.Duration{
		"slept a minute":      time.Minute,
		"slept just too long": 2*time.Second + 1,
		"wall clock set back": -time.Hour,
	} {
		trust := NewTrust(10*time.Second, time.Second)
		trust.Renewed(after(0))
		now := Instant{Mono: time.Second, Wall: boot.Add(wall)}
		if name == "wall clock set back" {
			now.Wall = boot.Add(time.Second + wall)
		}
		if trust.MayCall(now, 0) {
			t.Errorf("%s: the lease looks fresh", name)
		}
		// A wall clock that is put right afterwards does not bring trust back.
		if trust.MayCall(after(time.Second), 0) {
			t.Errorf("%s: trust came back by itself", name)
		}
		// Nor does a renewal that was sent before the sleep and answered after.
		trust.Renewed(after(0))
		if trust.MayCall(now, 0) {
			t.Errorf("%s: a renewal sent before it is trusted", name)
		}
		trust.Renewed(now)
		if !trust.MayCall(now, time.Second) {
			t.Errorf("%s: a renewal after it is not trusted", name)
		}
	}
	// What NTP does in a lease's time is no jump.
	trust := NewTrust(10*time.Second, time.Second)
	trust.Renewed(after(0))
	if !trust.MayCall(Instant{Mono: time.Second, Wall: boot.Add(time.Second + 300*time.Millisecond)}, 0) {
		t.Error("a small step of the wall clock ended trust")
	}
}

// TestFault20: a lease table that throttles every renewal makes the holder step
// down early, before anybody else may take the lease.
func TestFault20_TrustEndsBeforeTheLeaseCanBeTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "lease"))
		longest := time.Duration(rapid.Int64Range(0, int64(duration)).Draw(t, "longest call"))
		sent := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "sent"))
		slept := time.Duration(rapid.Int64Range(0, int64(duration)/10).Draw(t, "slept unseen"))
		passed := time.Duration(rapid.Int64Range(0, int64(2*duration)).Draw(t, "passed"))
		timeout := time.Duration(rapid.Int64Range(0, int64(longest)).Draw(t, "time-out"))

		trust := NewTrust(duration, longest)
		trust.Renewed(after(sent))
		now := Instant{Mono: sent + passed, Wall: boot.Add(sent + passed + slept)}
		if !trust.MayCall(now, timeout) {
			return
		}
		// Another worker saw the heartbeat at the earliest when it was sent, on a
		// clock that does not sleep, and waits for the whole duration.
		if ends := passed + slept + timeout; ends >= duration {
			t.Fatalf("a call may end %v after the renewal, the lease expires after %v", ends, duration)
		}
	})
}

func TestAtReadsBothClocks(t *testing.T) {
	start := time.Now()
	now := start.Add(time.Second)
	if got := At(start, now); got.Mono != time.Second || got.Wall != now.Round(0) {
		t.Errorf("got %+v", got)
	}
}
