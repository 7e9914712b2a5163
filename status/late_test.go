package status_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/localaws"
	"millrace/status"
)

// TestCatchingUp: under a live writer, what is behind is waited for, and its
// item is compared where it has come to.
func TestCatchingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.story("a", 10)
		b.apply(b.view, "a", 0, 2)
		v := b.verify()
		v.Wait = 10 * time.Second
		var writer sync.WaitGroup
		writer.Go(func() {
			for position := uint64(2); position < 10; position += 2 {
				time.Sleep(time.Second)
				b.apply(b.view, "a", position, position+2)
			}
		})
		defer writer.Wait()
		began := time.Now()
		r, err := v.Run(t.Context())
		if err != nil || !r.Healthy() || r.Events != 10 {
			t.Errorf("%+v, %v", r, err)
		}
		if took := time.Since(began); took < 4*time.Second || took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestTooLate: all that are behind are waited for together, and those that
// moved are told where they are.
func TestTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for i := range 50 {
			b.story(fmt.Sprintf("order-%02d", i), 5)
		}
		v := b.verify()
		v.Wait = 10 * time.Second
		var writer sync.WaitGroup
		writer.Go(func() {
			time.Sleep(2 * time.Second)
			b.apply(b.view, "order-00", 0, 3)
			b.edit("order-00", func(i event.Item) { i["customer"] = event.String("Eve") })
			b.apply(b.view, "order-01", 0, 5)
		})
		defer writer.Wait()
		began := time.Now()
		r, err := v.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("it took %v", took)
		}
		if r.Behind != 48 || r.Mismatches != 1 || r.Aggregates != 50 || r.Events != 8 {
			t.Errorf("%+v", r)
		}
		if f := r.Findings[48]; f.Kind != "mismatch" || f.Aggregate != "order-00" || f.Position != 3 || f.Head != 5 {
			t.Errorf("finding %+v", f)
		}
	})
}

// TestBlockedIsNotWaitedFor: what a marker holds back moves no more, and what
// is blocked during the wait is told as that in the end.
func TestBlockedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.story("a", 5)
		b.block("a", 1)
		v := b.verify()
		v.Wait = 10 * time.Second
		began := time.Now()
		r, err := v.Run(t.Context())
		if err != nil || r.Blocked != 1 || r.Behind != 0 || r.Healthy() || time.Since(began) > time.Second {
			t.Errorf("%+v, %v, after %v", r, err, time.Since(began))
		}
		b.story("b", 2)
		time.AfterFunc(3*time.Second, func() { b.block("b", 1) })
		if r, err := v.Run(t.Context()); err != nil || r.Blocked != 2 || r.Behind != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestUnreadableMarkers: without them nobody knows what is blocked. The rest of
// the report holds.
func TestUnreadableMarkers(t *testing.T) {
	b := newBench(t)
	b.story("a", 1)
	b.order("b", 2)
	why := errors.New("no such table")
	v := b.verify()
	v.Blocked = func(context.Context) ([]failure.Marker, error) { return nil, why }
	r, err := v.Run(t.Context())
	if err != nil || r.BlockedUnknown != "no such table" || r.Aggregates != 2 || r.Events != 2 || r.Behind != 1 || r.Blocked != 0 || r.Healthy() {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestMarkersThatCanBeReadAgain: what is known in the end counts.
func TestMarkersThatCanBeReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.story("a", 2)
		b.block("a", 1)
		v := b.verify()
		v.Wait = 5 * time.Second
		markers, asked := v.Blocked, 0
		v.Blocked = func(ctx context.Context) ([]failure.Marker, error) {
			if asked++; asked == 1 {
				return nil, errors.New("not now")
			}
			return markers(ctx)
		}
		if r, err := v.Run(t.Context()); err != nil || r.BlockedUnknown != "" || r.Blocked != 1 || r.Behind != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestThrottled: throttled reads are repeated, of both tables.
func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for i := range 20 {
			b.order(fmt.Sprintf("order-%02d", i), 2)
		}
		for _, operation := range []string{"Scan", "BatchGetItem"} {
			b.engine.Inject(localaws.Fault{
				Do: localaws.Throttle, Share: 0.5,
				Match: func(c localaws.Call) bool { return c.Operation == operation },
			})
		}
		r, err := b.verify().Run(t.Context())
		if err != nil || !r.Healthy() || r.Aggregates != 20 || r.Events != 40 {
			t.Errorf("%+v, %v", r, err)
		}
		refused := b.engine.Counters().Total(localaws.CallCount{Outcome: "ProvisionedThroughputExceededException"})
		if refused < 10 {
			t.Errorf("only %d calls were throttled", refused)
		}
	})
}

// TestAlwaysThrottled: what stays throttled ends as an error, and soon.
func TestAlwaysThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.order("a", 2)
		b.engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Operation == "BatchGetItem" }})
		r, err := b.verify().Run(t.Context())
		if event.ClassOf(err) != event.Transient || r.Aggregates != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestCancelled: half a comparison is an error and no report, whenever the
// context ends.
func TestCancelled(t *testing.T) {
	why := errors.New("enough")
	for _, tc := range []struct {
		name  string
		after time.Duration
	}{
		{"before it begins", 0},
		{"while it waits for what is behind", 3 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.story("a", 2)
				v := b.verify()
				v.Wait = time.Minute
				ctx, cancel := context.WithCancelCause(t.Context())
				if tc.after == 0 {
					cancel(why)
				}
				defer time.AfterFunc(tc.after, func() { cancel(why) }).Stop()
				r, err := v.Run(ctx)
				if !errors.Is(err, why) {
					t.Errorf("got %v", err)
				}
				if fmt.Sprint(r) != fmt.Sprint(status.Report{}) {
					t.Errorf("a report came with the error: %+v", r)
				}
			})
		})
	}
}
