package pipeline

import (
	"context"
	"time"

	"millrace/event"
	"millrace/reorder"
)

// A marker of another build, or one that a hand has damaged, can neither be read
// nor written. Its aggregate is held back like a blocked one, and holds its
// shards' checkpoints, since nothing tells what is on record. No goroutine waits
// with it: a few such markers would stop a sink.

// tryToBlock blocks an aggregate, or holds it back until its marker can be
// written.
func (l *lane) tryToBlock(ctx context.Context, t Trouble) {
	err := l.block(ctx, t)
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ownFault(err) {
		// It is held already, and handed to block again when that ends, untried.
		if known := l.trouble[t.Aggregate]; known != nil {
			known.handed = false
			known.unable++
			l.w.tellCall("block/"+l.sink.Name+"/"+t.Aggregate, blockTries*known.unable, err)
		}
		return
	}
	l.unable(t.Aggregate, t.Version, err).handed = false // or what follows a heal would not be blocked again
	l.settle(l.window.Block(t.Aggregate, 0))             // its followers find out when the marker is good again
	l.wakeup()
}

// unfollowed leaves the followers of an aggregate until a later try.
func (l *lane) unfollowed(f reorder.Follow, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.unable(f.Aggregate, f.UpTo, err)
	l.window.Unfollowed(f, time.Now().Add(l.w.opts.Jitter.Backoff(2*time.Second, time.Minute, l.w.opts.Worker+"/unfollowed/"+f.Aggregate, t.unable-1)))
	l.wakeup()
}

// unable notes a marker that cannot be written, and logs it at first and ever
// more seldom. It is called under the lane's lock.
func (l *lane) unable(aggregate string, version uint64, err error) *Trouble {
	l.w.counters.retries.Add(1)
	t := l.trouble[aggregate]
	if t == nil {
		t = l.trouble.note(l.sink.Name, aggregate, version, time.Now(), err)
	}
	if t.unable++; t.unable&(t.unable-1) == 0 {
		l.w.opts.Log.Error().Str("sink", t.Sink).Str("aggregate", t.Aggregate).Stringer("class", event.ClassOf(err)).
			Int("tries", t.unable).Err(err).Msg("an aggregate's marker cannot be written; it waits and holds the checkpoint, others go on")
	}
	return t
}
