package pipeline

import (
	"context"
	"fmt"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/reorder"
)

// Markers keeps the markers of blocked aggregates.
type Markers interface {
	// Apply makes one conditional write and says what came of it, with the row
	// as it stands then.
	Apply(ctx context.Context, key failure.Key, t failure.Transition) (failure.Verdict, failure.Marker, error)
	// Crashed lists a sink's markers of class crash that are not live: they are
	// few.
	Crashed(ctx context.Context, scope failure.Scope) ([]failure.Marker, error)
	// Standing lists a sink's markers that are not live, and the rows among them
	// that this build cannot read.
	Standing(ctx context.Context, scope failure.Scope) ([]failure.Marker, []failure.Foreign, error)
	// PutUnroutable writes the row of a record that names no aggregate, unless
	// it stands already. Of class event.Permanent is a row that is not taken as
	// it is.
	PutUnroutable(ctx context.Context, u failure.Unroutable) error
}

// followers is how many markers one lane raises at a time.
const followers = 4

// blockTries is how often a marker is tried in a row. An applier or a filler waits
// meanwhile: with a control table that is throttled for minutes, as many poisoned
// aggregates as there are appliers would stop the sink.
const blockTries = 4

// nextSteps is what an operator does about a block.
const nextSteps = "dlq-redriver groups lists what is blocked by cause, dlq-redriver show tells all of this one; after the fix dlq-redriver redrive brings it back"

// gives reports whether an aggregate in trouble is to be blocked. Without
// markers, and while the trouble may pass by itself, it is held instead.
func (l *lane) gives(t *Trouble) bool {
	if l.w.opts.Markers == nil {
		return false
	}
	return l.w.opts.limits().Exhausted(t.Class, t.Budget)
}

// complaint is the error that a marker tells of.
func (t Trouble) complaint() error {
	switch t.Class {
	case event.Unknown, event.Transient, event.Batch:
		return &event.Error{
			Class: t.Class, Op: fmt.Sprintf("giving up after %d attempts over %v", t.Attempts, time.Since(t.Since).Round(time.Second)), Err: t.Err,
		}
	default:
		return t.Err
	}
}

// scope is the markers of the lane's sink.
func (l *lane) scope() failure.Scope {
	return failure.Scope{Group: l.w.opts.Group, Table: l.w.opts.Table, Sink: l.sink.Name, SinkVersion: l.sink.Version}
}

// block puts an aggregate on record as blocked at the version that failed,
// which settles it; what follows is settled by reference. The versions below
// were answered as applied. An error is that of a marker that cannot be written:
// now, or, when it may be its own fault, before somebody repairs it.
func (l *lane) block(ctx context.Context, t Trouble) error {
	key := l.scope().Key(t.Aggregate)
	cause := failure.CauseOf(t.complaint(), l.sink.Name, t.EventType, t.Attempts, t.Since, time.Now())
	generation := l.generation(t.Aggregate)
	if t.Class == event.Gap {
		l.awaitHole(t.Aggregate, t.Version) // before its record can be settled by reference
	}
	for try := 0; ; try++ {
		call, cancel := context.WithTimeout(ctx, l.w.opts.Call)
		// The same generation after a lost answer, so that our own marker is known.
		verdict, row, err := l.w.opts.Markers.Apply(call, key, failure.Block(t.Version, generation, cause))
		cancel()
		switch {
		case err == nil && verdict.Succeeded():
			l.w.counters.blocked.Add(1)
			l.tellBlocked(t, cause)
			l.blocked(t.Aggregate, t.Version)
			return nil
		case err == nil && verdict == failure.FollowInstead && row.SeenVersion < t.Version:
			// The position has passed that block, whose writer did not know: it is
			// ended, and ours is written.
			if err = l.passed(ctx, key, t.Version-1); err == nil {
				continue
			}
		case err == nil && verdict == failure.FollowInstead && t.Class == event.Crash && row.Cause.Class != cause.Class:
			// Blocked for something else, which a sweep could redrive, and die.
			if err = l.toCrash(ctx, row, t.Version, cause); err == nil {
				continue // the row tells what became of it
			}
		case err == nil && verdict == failure.FollowInstead:
			l.blocked(t.Aggregate, row.SeenVersion)
			return nil
		case err == nil:
			// Somebody blocked and released it in between: the marker can be
			// written now, or the event applied by whoever fixed it.
			l.w.counters.retries.Add(1)
			l.retry(t.Aggregate)
			return nil
		}
		// What killed workers has nobody who waits for it but its shard, and must not
		// be tried in between.
		if ctx.Err() == nil && (ownFault(err) || try+1 >= blockTries && t.Class != event.Crash) {
			return err
		}
		if !l.w.again(ctx, "block/"+l.sink.Name+"/"+t.Aggregate, try, err) {
			return nil
		}
	}
}

func (l *lane) tellBlocked(t Trouble, cause failure.Cause) {
	log := l.w.opts.Log
	if t.EventType != "" { // of an event that could be read
		log = log.With().Str("eventType", t.EventType).Logger()
	}
	log.Error().Str("group", l.w.opts.Group).Str("sink", l.sink.Name).Str("aggregate", t.Aggregate).Uint64("version", t.Version).
		Stringer("class", t.Class).Str("fingerprint", cause.Fingerprint).Err(t.complaint()).Str("next", nextSteps).
		Msg("an event cannot be applied; its aggregate is blocked, others go on")
}

// passed ends a marker that a position has passed.
func (l *lane) passed(ctx context.Context, key failure.Key, position uint64) error {
	call, cancel := context.WithTimeout(ctx, l.w.opts.Call)
	defer cancel()
	verdict, _, err := l.w.opts.Markers.Apply(call, key, failure.Heal(position, l.generation(key.Aggregate)))
	if err == nil && verdict.Succeeded() {
		l.w.counters.healed.Add(1)
		l.w.opts.Log.Info().Str("sink", l.sink.Name).Str("aggregate", key.Aggregate).Uint64("position", position).
			Msg("a blocked aggregate has passed its block by itself; the marker is ended")
	}
	return err
}

// generation draws one that no row has ever had: the worker's id is unlike
// every other, earlier runs included.
func (l *lane) generation(aggregate string) string {
	n := l.blocks.Add(1)
	return l.w.opts.Jitter.ID(l.w.opts.Worker+"/"+l.sink.Name+"/"+aggregate, int(n))
}

func (l *lane) blocked(aggregate string, seen uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble.end(aggregate)
	l.settle(l.window.Block(aggregate, seen))
	l.wakeup()
}

// retry ends an aggregate's hold.
func (l *lane) retry(aggregate string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble.end(aggregate) // or it would be blocked again untried
	l.settle(l.window.Block(aggregate, 0))
	l.window.Unblock(aggregate)
	l.wakeup()
}

// follow puts the records of blocked aggregates on the record of their
// markers.
func (l *lane) follow(ctx context.Context) {
	for {
		f, ok := l.nextFollow()
		if !ok {
			return
		}
		for try := 0; ; try++ {
			call, cancel := context.WithTimeout(ctx, l.w.opts.Call)
			verdict, row, err := l.w.opts.Markers.Apply(call, l.scope().Key(f.Aggregate), failure.Follow(f.UpTo))
			cancel()
			if err == nil {
				l.followed(f, verdict, row)
				break
			}
			if ownFault(err) && ctx.Err() == nil {
				l.unfollowed(f, err)
				break
			}
			if !l.w.again(ctx, "follow/"+l.sink.Name+"/"+f.Aggregate, try, err) {
				return
			}
		}
	}
}

func (l *lane) nextFollow() (reorder.Follow, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.stopped {
		if follows := l.window.Follows(1); len(follows) > 0 {
			return follows[0], true
		}
		l.raise.Wait()
	}
	return reorder.Follow{}, false
}

func (l *lane) followed(f reorder.Follow, verdict failure.Verdict, row failure.Marker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := uint64(0) // the marker is live: forget what was believed
	if verdict.Succeeded() {
		seen = max(f.UpTo, row.SeenVersion)
	}
	l.trouble.end(f.Aggregate)
	l.settle(l.window.Followed(time.Now(), f, seen))
	l.wakeup()
}
