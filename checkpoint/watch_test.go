package checkpoint

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/source"
)

func held(shard, token, heartbeat string) Lease {
	return Lease{Key: LeaseKey{Group: "g", Table: "t", Label: "l", Shard: source.ShardID(shard)}, State: Active, Owner: "w1", Token: token, Heartbeat: heartbeat}
}

func TestWatch(t *testing.T) {
	const duration = 10 * time.Second
	w := NewWatch(duration)
	at := func(d time.Duration) time.Time { return boot.Add(d) }
	a := held("a", "t1", "h1")
	if w.Expired(at(time.Hour), a) {
		t.Error("a lease that was never seen has expired")
	}
	w.See(at(0), []Lease{a})
	w.See(at(5*time.Second), []Lease{a}) // seen again, and not for the first time
	if w.Expired(at(duration-1), a) || !w.Expired(at(duration), a) {
		t.Error("a heartbeat that stands still for the duration is the limit")
	}
	renewed, regranted := held("a", "t1", "h2"), held("a", "t2", "h1")
	if w.Expired(at(duration), renewed) || w.Expired(at(duration), regranted) {
		t.Error("what is asked about is not what was watched")
	}
	for _, l := range []Lease{renewed, regranted} {
		w.See(at(0), []Lease{a})
		w.See(at(duration), []Lease{l}) // one of the two marks has changed
		if w.Expired(at(2*duration-1), l) || !w.Expired(at(2*duration), l) {
			t.Errorf("%+v does not count from its own first sight", l)
		}
	}
	free, finished := regranted, regranted
	free.Owner, finished.State = "", Finished
	if w.Expired(at(3*duration), free) || w.Expired(at(3*duration), finished) {
		t.Error("a lease that is free or finished has nobody to lose it")
	}
	w.See(at(3*duration), nil)
	w.See(at(3*duration+1), []Lease{regranted})
	if w.Expired(at(3*duration+2), regranted) {
		t.Error("a row that was deleted and is back counts from its old sight")
	}
}

// TestFault17: renewals do not wait for the work, so a holder that works slowly
// and renews never looks expired, whatever the rhythm of the two.
func TestFault17_ARenewedLeaseNeverExpires(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const duration = 10 * time.Second
		w := NewWatch(duration)
		renewEvery := time.Duration(rapid.Int64Range(int64(time.Second), int64(duration)/2).Draw(t, "renew"))
		now, l := time.Duration(0), held("a", "t", "0")
		for range 50 {
			now += time.Duration(rapid.Int64Range(0, int64(duration)/2-1).Draw(t, "look"))
			l.Heartbeat = fmt.Sprint(now / renewEvery)
			if w.See(boot.Add(now), []Lease{l}); w.Expired(boot.Add(now), l) {
				t.Fatalf("taken for expired at %v, renewed every %v", now, renewEvery)
			}
		}
	})
}
