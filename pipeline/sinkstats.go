package pipeline

import (
	"time"

	"millrace/failure"
	"millrace/reorder"
)

// SinkStats is what a worker has done for one sink since its start.
type SinkStats struct {
	Name string
	reorder.Stats
	Usage reorder.Usage // held now

	Pending int       // records read and not settled
	Oldest  time.Time // when the oldest of them was created; zero when there is none
	Paused  bool      // it fails for everybody

	RunEvents  Histogram // events of the runs
	ApplyTook  Histogram // seconds of the calls that took effect wholly
	ApplyFails Histogram // seconds of the others

	// Standing is what the last sweep found blocked, by whomever; nil until one
	// has ended, and without markers.
	Standing *Standing
}

// Standing counts blocked aggregates.
type Standing struct {
	ByClass map[string]int
	Oldest  time.Time // when the one that failed first did; zero: none
}

// standing sums markers up.
func standing(markers []failure.Marker) *Standing {
	s := &Standing{ByClass: map[string]int{}}
	for _, m := range markers {
		s.ByClass[m.Cause.Class]++
		if s.Oldest.IsZero() || m.Cause.First.Before(s.Oldest) {
			s.Oldest = m.Cause.First
		}
	}
	return s
}

// measures are what a lane counts of its runs, under its lock.
type measures struct {
	events, took, fails Histogram
	standing            *Standing
}

func newMeasures() measures {
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	return measures{
		events: newHistogram(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000),
		took:   newHistogram(seconds...), fails: newHistogram(seconds...),
	}
}

// ran notes one run.
func (m *measures) ran(events int, took time.Duration, failed bool) {
	m.events.observe(float64(events))
	if failed {
		m.fails.observe(took.Seconds())
	} else {
		m.took.observe(took.Seconds())
	}
}

// stats is what the lane knows; what waits is the shards' to tell.
func (l *lane) stats() SinkStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return SinkStats{
		Name: l.sink.Name, Stats: l.window.Stats(), Usage: l.window.Usage(), Paused: !l.breaker.since.IsZero(),
		RunEvents: l.measures.events.clone(), ApplyTook: l.measures.took.clone(), ApplyFails: l.measures.fails.clone(),
		Standing: l.measures.standing,
	}
}
