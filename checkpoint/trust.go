package checkpoint

import "time"

// Instant is one moment on the two clocks of a machine. Go's monotonic clock
// (CLOCK_MONOTONIC on Linux) stands still while the machine sleeps and the
// wall clock does not, so only both together show that it slept.
type Instant struct {
	Mono time.Duration // since the process started
	Wall time.Time     // without a monotonic reading
}

// At makes the instant of now, as time.Now gave it, in a process that started
// at start.
func At(start, now time.Time) Instant {
	return Instant{Mono: now.Sub(start), Wall: now.Round(0)}
}

// trustShare is how much of a lease its holder uses. The rest is for clocks of
// different rate, for sleeps below the tolerance and for calls under way.
const trustShare = 0.7

// TrustWindow is how long a holder trusts a lease of that duration, given the
// longest time-out among the calls it makes under it. A window of nothing or
// less means that the two do not go together: no call may ever be made.
func TrustWindow(lease, longestCall time.Duration) time.Duration {
	return time.Duration(float64(lease)*trustShare) - longestCall
}

// Trust tells how long the holder of a lease may act on it. It counts from the
// moment the last renewal that landed was sent: counted from the answer, a slow
// answer would let the holder read on while another already may take the lease.
// The zero value trusts nothing. It is not safe for concurrent use.
type Trust struct {
	window    time.Duration
	tolerance time.Duration
	sent      Instant
	held      bool
}

// NewTrust returns the trust of a lease that is not held yet.
func NewTrust(lease, longestCall time.Duration) Trust {
	// A tenth of the lease may pass unseen between the clocks: with the share
	// above it still ends before anybody else can see the lease expire.
	return Trust{window: TrustWindow(lease, longestCall), tolerance: lease / 10}
}

// Renewed tells that a grant or renewal landed, and when it was sent. An
// answer that comes after that of a later renewal changes nothing.
func (t *Trust) Renewed(sent Instant) {
	if t.held && sent.Mono < t.sent.Mono {
		return
	}
	t.sent, t.held = sent, true
}

// Lost ends trust: the lease is released, fenced or given up.
func (t *Trust) Lost() { t.held = false }

// Left is how much of the window is left, never less than nothing. Clocks that
// moved apart since the renewal was sent end trust until the next one lands.
func (t *Trust) Left(now Instant) time.Duration {
	if !t.held {
		return 0
	}
	passed := now.Mono - t.sent.Mono
	if drift := now.Wall.Sub(t.sent.Wall) - passed; drift.Abs() > t.tolerance {
		// Remembered, since a wall clock that is set back later would hide it.
		t.held = false
		return 0
	}
	return max(0, t.window-passed)
}

// MayCall reports whether a call with this time-out may be started now: only
// with room for all of it.
func (t *Trust) MayCall(now Instant, timeout time.Duration) bool {
	left := t.Left(now)
	return left > 0 && timeout <= left
}
