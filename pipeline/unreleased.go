package pipeline

import (
	"errors"
	"fmt"

	"millrace/event"
)

// ErrLeasesLeft is what Run returns after a stop that could not release all
// leases: their shards stand still until they expire.
var ErrLeasesLeft = errors.New("leases are left to expire")

var (
	errDeafSink = errors.New("a sink did not return from a call that was cancelled")
	errCut      = errors.New("the stop was cut short")
	errNoWrite  = errors.New("the control table did not take the last writes in time")
)

// unreleased tells of leases that a stop left behind: a stop that looks like any
// other must not hide that shards stand still until they expire. A lease that
// was lost is somebody else's, and no such thing.
func unreleased(held []*shard, sinksReturned, cut bool) error {
	left := 0
	for _, s := range held {
		s.mu.Lock()
		if !s.fenced && !s.handed {
			left++
		}
		s.mu.Unlock()
	}
	if left == 0 {
		return nil
	}
	cause := errNoWrite
	switch {
	case cut:
		cause = errCut
	case !sinksReturned:
		cause = errDeafSink
	}
	return &event.Error{
		Class: event.Transient, Op: "ending the worker", Err: fmt.Errorf("%d %w: %w", left, ErrLeasesLeft, cause),
		Hint: "their shards are read again, from their last checkpoints, when they have expired",
	}
}
