package pipeline

import (
	"context"
	"time"

	"millrace/event"
	"millrace/failure"
)

// errNoAnswer stands for the error of a sink that knows neither whether a run
// took effect nor why.
var errNoAnswer = &event.Error{Class: event.Transient, Op: "applying a run: the sink does not know whether it took effect"}

// troubles are the aggregates whose next event could not be applied, or whose
// next version is missing. They move nothing and hold nobody else up.
type troubles map[string]*Trouble

// Trouble is one aggregate that stands still in one sink.
type Trouble struct {
	Sink      string
	Aggregate string
	Version   uint64 // the first that is not in effect; 0 while the position cannot be read
	EventType string // of that event; empty where it could not be read
	Class     event.Class
	Since     time.Time
	Attempts  int
	Budget    failure.Budget // what the attempts have used up
	Err       error

	tried  bool // by the sink, and not only missing in the event store
	handed bool // to block, which ends it
	unable int  // how often its marker could not be written
}

// note counts one more failed attempt at a version.
func (t troubles) note(sink, aggregate string, version uint64, now time.Time, err error) *Trouble {
	known := t[aggregate]
	if known == nil || known.Version != version {
		known = &Trouble{Sink: sink, Aggregate: aggregate, Version: version, Since: now}
		t[aggregate] = known
	}
	known.Attempts++
	known.Class, known.Err = event.ClassOf(err), err
	return known
}

func (t troubles) end(aggregate string) { delete(t, aggregate) }

// lasting reports whether trying again soon is no use.
func (t *Trouble) lasting() bool { return t.Class != event.Transient }

// sinksFault reports whether the sink may be to blame, and not the event: then
// it is worth a try as soon as the sink is back.
func (t *Trouble) sinksFault() bool {
	switch t.Class {
	case event.Transient, event.Unavailable, event.Batch, event.Foreign:
		return true
	default:
		return false
	}
}

// pause notes a run that failed and says how long its aggregate is held. There
// is no trouble where our own stop, or a newer sink, is the cause. It is called
// under the lane's lock.
func (l *lane) pause(ctx context.Context, now time.Time, run event.Run, o event.Outcome) (time.Duration, *Trouble) {
	class := event.ClassOf(o.Err)
	switch {
	case ctx.Err() != nil, class == event.Stopping:
		return time.Hour, nil // our own stop, which is no failure: nobody will ask again
	case class == event.Fenced:
		return time.Second, nil // a careful shard was lost before it could be tried; soon it will have no records here
	case class == event.Superseded:
		l.w.fail(o.Err)
		return time.Hour, nil
	}
	failed := run.After.Version + 1
	if o.Known {
		failed = o.Position.Version + 1
	}
	t := l.trouble.note(l.sink.Name, run.Aggregate, failed, now, o.Err)
	t.tried = true
	t.Budget = t.Budget.Fail(class, l.moment(now))
	if i := failed - run.After.Version - 1; failed > run.After.Version && i < uint64(len(run.Events)) {
		if name, err := run.Events[i].Type(); err == nil {
			t.EventType = name
		}
	}
	if !l.gives(t) { // else it is blocked, and not repeated
		l.w.counters.retries.Add(1)
	}
	wait := l.w.opts.Jitter.Backoff(50*time.Millisecond, 5*time.Second, l.w.opts.Worker+"/apply/"+run.Aggregate, t.Attempts-1)
	if t.lasting() {
		// Nothing is skipped: the aggregate waits here, and its records hold the
		// checkpoint, until the cause is gone.
		wait = l.w.opts.Jitter.Backoff(2*time.Second, time.Minute, l.w.opts.Worker+"/apply/"+run.Aggregate, t.Attempts-1)
	}
	l.tell(t)
	return wait, t
}

// moment is what the sink's clock shows.
func (l *lane) moment(now time.Time) failure.Moment {
	return failure.Moment{At: now, Effects: l.effects, Lull: now.Sub(l.fresh), Paused: l.breaker.total(now)}
}

// spent gives a run back whose event is not to be tried again, and says whether
// it did. It is being blocked already; or, and then it is to be blocked, it would
// have been when it failed, had it been known where the target stood.
func (l *lane) spent(run event.Run, c call) (_ Trouble, block, spent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.trouble[run.Aggregate]
	if t == nil || !t.tried || t.Version != run.After.Version+1 || !l.gives(t) {
		return Trouble{}, false, false
	}
	now := time.Now()
	retry := now.Add(l.w.opts.Jitter.Backoff(2*time.Second, time.Minute, l.w.opts.Worker+"/spent/"+run.Aggregate, t.Attempts-1+t.unable))
	l.settle(l.window.Done(now, run.Aggregate, event.Outcome{Position: run.After, Known: true, Err: t.Err}, retry))
	l.judged(now, c, errNoVerdict)
	l.wakeup()
	block, t.handed = !t.handed, true
	return *t, block, true
}

// tell logs a trouble when it begins and when it goes on for long.
func (l *lane) tell(t *Trouble) {
	switch {
	case l.gives(t): // block tells
	case l.tellRefused(t):
	case t.lasting() && t.Attempts == 1:
		l.w.opts.Log.Error().Str("sink", t.Sink).Str("aggregate", t.Aggregate).Uint64("version", t.Version).
			Stringer("class", t.Class).Err(t.Err).Msg("an event cannot be applied; its aggregate waits, others go on")
	case t.Attempts&(t.Attempts-1) == 0 && t.Attempts >= 8:
		l.w.opts.Log.Warn().Str("sink", t.Sink).Str("aggregate", t.Aggregate).Uint64("version", t.Version).
			Stringer("class", t.Class).Int("attempts", t.Attempts).Time("since", t.Since).Err(t.Err).Msg("an aggregate still stands still")
	}
}

// troubles copies what stands still in the lane.
func (l *lane) troubles() []Trouble {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Trouble, 0, len(l.trouble))
	for _, t := range l.trouble {
		out = append(out, *t)
	}
	return out
}
