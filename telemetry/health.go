package telemetry

import (
	"fmt"
	"time"

	"millrace/pipeline"
)

// Health is the answer to one of two questions.
type Health struct {
	Schema  string   `json:"schema"`
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons"` // why not; or, of a worker that is ready, what is not as it should be
}

// HealthSchema names the form of the answers.
const HealthSchema = "millrace.health/v1"

// Alive is false when another process should take this one's place: its own loops
// stand still. What sinks, tables and queues do is no reason: a restart would not
// cure them, and would come on top.
func Alive(s Snapshot) Health {
	h := Health{Schema: HealthSchema, OK: true, Reasons: []string{}}
	if s.Worker != nil && len(s.Worker.Health.Stuck) > 0 {
		h.OK, h.Reasons = false, s.Worker.Health.Stuck
	}
	return h
}

// What a person should know of a worker that does its work.
const (
	longUnsent = 5 * time.Minute
	shortLeft  = 6 * time.Hour
)

// Ready is false while the worker cannot do its work: it has not begun, cannot
// read the lease rows, or reads nothing because the layout is wrong. Everything
// else is named and does not count.
func Ready(s Snapshot) Health {
	h := Health{Schema: HealthSchema, OK: true, Reasons: []string{}}
	note := func(format string, args ...any) { h.Reasons = append(h.Reasons, fmt.Sprintf(format, args...)) }
	w := s.Worker
	if w == nil {
		h.OK = false
		note("no worker runs yet")
		return h
	}
	switch old := max(3*w.Lease, 30*time.Second); {
	case w.Health.Listed.IsZero():
		h.OK = false
		note("the lease rows were not read yet")
	case s.Now.Sub(w.Health.Listed) > old:
		h.OK = false
		note("the lease rows were not read since %s", w.Health.Listed.UTC().Format(time.RFC3339))
	}
	if w.Stats.PausedReason == pipeline.PausedForLayout {
		h.OK = false
		note("the layout does not fit the table: too many records name no aggregate, and nothing is read")
	}
	for _, sink := range w.Stats.PausedSinks {
		note("sink %s fails for everybody and is paused", sink)
	}
	if n := len(w.Troubles); n > 0 {
		note("%d aggregates fail and are tried again, such as %s", n, w.Troubles[0].Aggregate)
	}
	if left := w.Stats.DataLoss; left != nil && *left < shortLeft {
		note("the stream forgets what is not read or settled in %v", left.Round(time.Minute))
	}
	if l := s.Letters; l != nil && l.Unsent > 0 && !l.Oldest.IsZero() && s.Now.Sub(l.Oldest) > longUnsent {
		note("%d letters wait for their queue, the oldest since %s", l.Unsent, l.Oldest.UTC().Format(time.RFC3339))
	}
	return h
}
