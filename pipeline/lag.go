package pipeline

import "time"

// tide is how far the reading of one shard has come.
type tide struct {
	newest time.Time // when the newest record that was read was created; zero: none was
	tip    time.Time // when the last page came, if nothing stood behind it; zero: more follows, or none came
	done   bool      // the shard is read to its end
}

// page notes that a page came.
func (t *tide) page(now, newest time.Time, full bool) {
	if !newest.IsZero() {
		t.newest = newest
	}
	t.tip = time.Time{}
	if !full {
		t.tip = now
	}
}

// lag is how long ago the newest record that was read was created, or, at the
// stream's end, how long ago nothing more was there. False: nobody knows, since
// no page has come yet.
func (t tide) lag(now time.Time) (time.Duration, bool) {
	switch {
	case t.done:
		return 0, true
	case !t.tip.IsZero():
		return max(now.Sub(t.tip), 0), true
	case !t.newest.IsZero():
		return max(now.Sub(t.newest), 0), true
	}
	return 0, false
}

// untilLost is how long it is until the stream forgets what was read or settled last,
// given how far behind that is. It is not below 0.
func untilLost(behind time.Duration) time.Duration { return max(retention-behind, 0) }
