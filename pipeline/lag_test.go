package pipeline

import (
	"testing"
	"time"
)

func TestLagOfAShard(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	for _, tc := range []struct {
		name  string
		tide  func(*tide)
		lag   time.Duration
		known bool
	}{
		{"nothing has come", func(*tide) {}, 0, false},
		{"an empty page at the stream's end", func(x *tide) { x.page(at(90), time.Time{}, false) }, 10 * time.Second, true},
		{"a page with more behind it", func(x *tide) { x.page(at(99), at(40), true) }, 60 * time.Second, true},
		{"the last of a backlog", func(x *tide) { x.page(at(98), at(40), true); x.page(at(99), at(97), false) }, time.Second, true},
		{"behind again", func(x *tide) { x.page(at(90), at(89), false); x.page(at(99), at(95), true) }, 5 * time.Second, true},
		{"a clock that is ahead of ours", func(x *tide) { x.page(at(99), at(130), true) }, 0, true},
		{"read to its end", func(x *tide) { x.page(at(9), at(8), true); x.done = true }, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var x tide
			tc.tide(&x)
			if lag, known := x.lag(at(100)); lag != tc.lag || known != tc.known {
				t.Errorf("it is %v, %v, want %v, %v", lag, known, tc.lag, tc.known)
			}
		})
	}
	if got := untilLost(25 * time.Hour); got != 0 {
		t.Errorf("what is lost already is lost in %v", got)
	}
	if got := untilLost(time.Hour); got != 23*time.Hour {
		t.Errorf("an hour behind leaves %v", got)
	}
}

// TestHealthOfLoops: a loop that makes no step is stuck after two minutes, and one
// that rests never is.
func TestHealthOfLoops(t *testing.T) {
	var p pulse
	now := time.Now()
	if p.stands(now.Add(time.Hour)) != 0 {
		t.Error("what has not begun stands still")
	}
	p.beat()
	if stands := p.stands(now.Add(time.Hour)); stands < 59*time.Minute {
		t.Errorf("it stands for %v", stands)
	}
	p.resting()
	if p.stands(now.Add(time.Hour)) != 0 {
		t.Error("what rests stands still")
	}
	w := &Worker{opts: Options{Lease: 10 * time.Second}}
	w.keeping.at.Store(now.Add(-3 * time.Minute).UnixNano())
	if h := w.Health(); len(h.Stuck) != 1 || !h.Listed.IsZero() {
		t.Errorf("%+v", h)
	}
	w.keeping.beat()
	if h := w.Health(); len(h.Stuck) != 0 {
		t.Errorf("%+v", h)
	}
}
