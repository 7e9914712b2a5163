package pipeline

import (
	"context"
	"time"

	"millrace/event"
	"millrace/sinks"
)

// learn reads positions of aggregates that are seen for the first time.
func (l *lane) learn(ctx context.Context) {
	for {
		aggregates, ok := l.nextUnseen()
		if !ok {
			return
		}
		for try := 0; ; try++ {
			left, err := l.ask(ctx, aggregates)
			if err == nil {
				break
			}
			if aggregates = left; !l.w.again(ctx, "positions/"+l.sink.Name, try, err) {
				return
			}
		}
	}
}

func (l *lane) nextUnseen() ([]string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.stopped {
		if aggregates := l.window.Unseen(sinks.MaxPositions); len(aggregates) > 0 {
			return aggregates, true
		}
		l.unseen.Wait()
	}
	return nil, false
}

// ask learns aggregates' positions. With an error it returns those that are to
// be asked for again, all of them for that one reason.
//
// A lasting error can be due to one aggregate: an item that is somebody
// else's, for example. Then each is asked for by itself, so that the one waits
// and not the ninety-nine that were asked for with it.
func (l *lane) ask(ctx context.Context, aggregates []string) (left []string, err error) {
	err = l.askTogether(ctx, aggregates)
	if err == nil || !ownFault(err) {
		return aggregates, err
	}
	if len(aggregates) == 1 {
		l.unlearned(aggregates[0], err)
		return nil, nil
	}
	failed := make(map[string]error, len(aggregates))
	for i, aggregate := range aggregates {
		if err = l.askTogether(ctx, []string{aggregate}); err != nil && !ownFault(err) {
			left = append(left, aggregates[i:]...)
			break
		} else if err != nil {
			failed[aggregate] = err
			left = append(left, aggregate)
		}
	}
	if len(failed) == len(aggregates) {
		return aggregates, err // it is the table's fault, not each one's
	}
	kept := left[:0]
	for _, aggregate := range left {
		if own := failed[aggregate]; own != nil {
			l.unlearned(aggregate, own)
			continue
		}
		kept = append(kept, aggregate)
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return kept, err
}

// ownFault reports whether an error may be due to one of the aggregates that
// were asked for: a call that was cut short, throttled, refused to everybody or
// superseded is not.
func ownFault(err error) bool {
	switch event.ClassOf(err) {
	case event.Transient, event.Unavailable, event.Stopping, event.Superseded:
		return false
	default:
		return true
	}
}

func (l *lane) askTogether(ctx context.Context, aggregates []string) error {
	positions, err := l.positions(ctx, aggregates)
	if err != nil {
		return err
	}
	if l.sink.FromStart {
		if aggregates, positions, err = l.beginMissing(ctx, aggregates, positions); err != nil {
			return err
		}
	}
	l.learned(aggregates, positions)
	return nil
}

// positions makes one call for up to sinks.MaxPositions aggregates.
func (l *lane) positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	call, cancel := context.WithTimeout(ctx, l.sink.Call)
	defer cancel()
	positions, err := sinks.Positions(call, l.sink.Sink, aggregates)
	if event.ClassOf(err) == event.Superseded {
		l.w.fail(err)
	}
	return positions, err
}

func (l *lane) learned(aggregates []string, positions []event.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for i, aggregate := range aggregates {
		// What was in trouble may have taken effect although its answer was lost,
		// and then no run follows that would end the trouble.
		if t := l.trouble[aggregate]; t != nil && positions[i].Version >= t.Version {
			l.trouble.end(aggregate)
		}
		l.settle(l.window.Learn(now, aggregate, positions[i]))
	}
	l.wakeup()
}

// unlearned holds an aggregate whose position cannot be read. It is never
// blocked: where a marker would stand is not known without the position.
func (l *lane) unlearned(aggregate string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var retry time.Time
	if l.window.Holds(aggregate) { // its shard may have been lost meanwhile
		t := l.trouble.note(l.sink.Name, aggregate, 0, now, err)
		l.w.counters.retries.Add(1)
		if !l.tellRefused(t) && t.Attempts&(t.Attempts-1) == 0 { // at first, and ever more seldom
			l.w.opts.Log.Error().Str("sink", t.Sink).Str("aggregate", t.Aggregate).Stringer("class", t.Class).
				Int("attempts", t.Attempts).Err(err).Msg("an aggregate's position cannot be read; it waits, others go on")
		}
		retry = now.Add(l.w.opts.Jitter.Backoff(2*time.Second, time.Minute, l.w.opts.Worker+"/position/"+aggregate, t.Attempts-1))
	}
	l.window.Unlearned(aggregate, retry)
	l.wakeup()
}
