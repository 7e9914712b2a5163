package checkpoint

import "time"

// Watch judges which leases of others have expired. It knows nothing of their
// holders' clocks: a lease has expired when its token and heartbeat stood still
// for the lease's duration on our own clock since we first saw them. It is not
// safe for concurrent use.
type Watch struct {
	duration time.Duration
	seen     map[LeaseKey]sight
}

// sight is when a row was first seen as it is.
type sight struct {
	token, heartbeat string
	since            time.Time
}

// NewWatch returns a watch that has seen nothing.
func NewWatch(duration time.Duration) *Watch {
	return &Watch{duration: duration, seen: map[LeaseKey]sight{}}
}

// See takes a complete listing in. now must be read after the listing was
// answered: what it shows was true before, so counting starts late, never
// early. Rows that the listing lacks are forgotten.
func (w *Watch) See(now time.Time, leases []Lease) {
	seen := make(map[LeaseKey]sight, len(leases))
	for _, l := range leases {
		s, ok := w.seen[l.Key]
		if !ok || s.token != l.Token || s.heartbeat != l.Heartbeat {
			s = sight{token: l.Token, heartbeat: l.Heartbeat, since: now}
		}
		seen[l.Key] = s
	}
	w.seen = seen
}

// Expired reports whether a lease as seen may be taken from its owner. That
// it still stands still is for the grant's own condition to prove.
func (w *Watch) Expired(now time.Time, l Lease) bool {
	s, ok := w.seen[l.Key]
	return ok && l.Owner != "" && l.State != Finished &&
		s.token == l.Token && s.heartbeat == l.Heartbeat && now.Sub(s.since) >= w.duration
}
