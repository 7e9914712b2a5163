package pipeline

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"millrace/event"
	"millrace/internal/jitter"
)

// Prober is a sink that can tell whether its target answers again. While the
// sink is paused it is asked instead of being given a run.
type Prober interface {
	// Probe returns nil when runs can be applied.
	Probe(ctx context.Context) error
}

// judged tells the breaker what a call's answer says of the sink. It is called
// under the lane's lock, before wakeup.
func (l *lane) judged(now time.Time, c call, answer error) {
	since := l.breaker.since
	switch l.breaker.take(now, c, answer) {
	case paused:
		l.w.opts.Log.Error().Str("sink", l.sink.Name).Stringer("class", event.ClassOf(answer)).Err(answer).
			Msg("a sink fails for everybody and is paused; its records wait, other sinks go on")
		l.repair.Signal()
	case resumed:
		l.w.opts.Log.Info().Str("sink", l.sink.Name).Dur("paused", now.Sub(since)).Msg("a paused sink answers again and goes on")
		l.window.Resume(now, math.MaxInt)
		for _, aggregate := range slices.Sorted(maps.Keys(l.trouble)) {
			if l.trouble[aggregate].sinksFault() {
				l.window.Wake(now, aggregate)
			}
		}
	case unclear:
		l.window.Resume(now, 1)
	case steady:
	}
}

// tryPaused tries a paused sink from time to time until it is back.
func (l *lane) tryPaused(ctx context.Context) {
	for try := 0; l.awaitPause(); try++ {
		wait := openFor + l.w.opts.Jitter.Backoff(time.Second, time.Second, l.w.opts.Worker+"/paused/"+l.sink.Name, try)
		if jitter.Sleep(ctx, wait) != nil {
			return
		}
		if prober, ok := l.sink.Sink.(Prober); ok {
			l.probe(ctx, prober)
			continue
		}
		l.mu.Lock()
		if l.breaker.grant() {
			l.window.Resume(time.Now(), 1)
			l.wakeup()
		}
		l.mu.Unlock()
	}
}

// awaitPause waits until the sink is paused; false means that the lane stops.
func (l *lane) awaitPause() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.stopped && l.breaker.since.IsZero() {
		l.repair.Wait()
	}
	return !l.stopped
}

// probe asks the sink itself whether it is back.
func (l *lane) probe(ctx context.Context, sink Prober) {
	l.mu.Lock()
	if !l.breaker.grant() {
		l.mu.Unlock()
		return
	}
	c := l.breaker.admit()
	l.mu.Unlock()
	err := l.probed(ctx, sink)
	if ctx.Err() != nil {
		err = errNoVerdict
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.judged(time.Now(), c, err)
	l.wakeup()
}

func (l *lane) probed(ctx context.Context, sink Prober) (err error) {
	defer event.Catch(&err)
	ctx, cancel := context.WithTimeout(ctx, l.sink.Call)
	defer cancel()
	return sink.Probe(ctx)
}
