package pipeline

import (
	"errors"
	"sync"
	"time"

	"millrace/event"
)

// noticeEvery is the least time between two lines of the log about one thing
// that stays wrong until somebody puts it right. Every call and every aggregate
// meets it, and a line for each would hide what it is.
const noticeEvery = 5 * time.Minute

// notices knows when what was logged last. It is safe for concurrent use.
type notices struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due reports whether a thing is to be logged now, and takes it that it is.
func (n *notices) due(thing string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if last, told := n.at[thing]; told && now.Sub(last) < noticeEvery {
		return false
	}
	if n.at == nil {
		n.at = map[string]time.Time{}
	}
	n.at[thing] = now
	return true
}

// tellMissing reports whether an error is of a table or a stream that is not
// there, and logs which.
func (w *Worker) tellMissing(err error) bool {
	var missing *event.Missing
	if !errors.As(err, &missing) {
		return false
	}
	if w.notices.due(missing.What + " " + missing.Name) {
		w.opts.Log.Error().Err(err).Msgf("the %s %q is gone; what needs it waits until it is back, and no aggregate is blocked for it", missing.What, missing.Name)
	}
	return true
}

// tellRefused logs, for all of a sink's aggregates together, that the sink's
// target cannot be used, and reports whether that is what an error says.
func (l *lane) tellRefused(t *Trouble) bool {
	switch {
	case l.w.tellMissing(t.Err):
	case t.Class != event.Unavailable && t.Class != event.Foreign:
		return false
	case l.w.notices.due("sink " + l.sink.Name):
		l.w.opts.Log.Error().Str("group", l.w.opts.Group).Str("sink", t.Sink).Str("aggregate", t.Aggregate).Stringer("class", t.Class).Err(t.Err).
			Msg("a sink cannot use its target, and somebody has to put that right; its records wait and are tried again with long pauses, no aggregate is blocked for it")
	}
	return true
}
