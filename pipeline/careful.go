package pipeline

import (
	"context"
	"fmt"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/sinks"
)

// carefulRecords is how many records the checkpoint must pass before a shard
// that was read carefully counts as past what killed its readers. None of them
// lived to write that its checkpoint had moved, which they do at every renewal:
// three seconds, five pages of a thousand records each. To end with the first
// that is settled would be to meet a killer in the middle of a page again at
// full speed, at the price of three more workers for each record before it.
const carefulRecords = 20_000

// care is the part of a shard by which poison that kills the worker is found.
// It is under the shard's lock.
type care struct {
	on      bool
	attempt checkpoint.Attempt // what the row is to show
	since   time.Time          // the grant
	fetched bool               // a page was read
}

// beCareful begins the care for a shard whose readers vanished time and again.
// Without markers there is no use in it: what it found could not be put aside.
func (s *shard) beCareful() {
	s.care.since = time.Now()
	b := s.lease.Barren
	if !b.Careful() || s.w.opts.Markers == nil {
		return
	}
	s.care.on = true
	s.w.gate.care(s)
	s.w.counters.careful.Add(1)
	s.w.opts.Log.Error().Stringer("shard", s.key).Int("vanished", b.Grants).
		Msg("the last holders of a shard vanished without progress; it is read carefully, event by event")
}

// barren is what the row is to tell of vanished holders with the next write.
// It is called under the shard's lock.
func (s *shard) barren() checkpoint.Barren {
	if s.phase != holding {
		return checkpoint.Barren{}
	}
	b := s.lease.Barren
	if s.progressed() {
		b = checkpoint.Barren{}
	}
	b.Attempt = s.care.attempt
	return b
}

// progressed reports whether this reader got further than those that vanished.
// A reader that has nothing to do for the length of a lease has: a shard that
// is quiet would otherwise be careful for ever, and its worker with it.
func (s *shard) progressed() bool {
	if s.care.fetched && s.frontier.Settled() && time.Since(s.care.since) >= s.w.opts.Lease {
		return true
	}
	if s.care.on {
		return s.frontier.Passed() >= carefulRecords
	}
	_, moved := s.frontier.Checkpoint()
	return moved
}

// relax ends the care once the row says that there was progress. It is called
// under the shard's lock.
func (s *shard) relax() {
	if !s.care.on || s.lease.Barren.Careful() {
		return
	}
	s.care.on = false
	s.w.gate.relax(s)
	s.w.opts.Log.Info().Stringer("shard", s.key).Msg("the shard is past what its last holders vanished at; it is read at full speed")
}

// unnoted reports whether the row does not show yet what is to be attempted.
// That nothing is attempted any more waits for the next write.
func (s *shard) unnoted() bool {
	return s.care.attempt != (checkpoint.Attempt{}) && s.lease.Barren.Attempt != s.care.attempt
}

// note sets what the rows of careful shards are to show.
func note(careful []*shard, a checkpoint.Attempt) {
	for _, s := range careful {
		s.mu.Lock()
		s.care.attempt = a
		s.changed.Broadcast()
		s.mu.Unlock()
	}
}

// noted waits until all of them show it. A lease that was lost is an error: its
// successor must not lose this worker too, to an attempt that is on no record.
func noted(ctx context.Context, careful []*shard) error {
	for _, s := range careful {
		gone := false
		err := s.await(ctx, func() bool {
			gone = s.phase == lost
			return s.phase != holding || !s.unnoted()
		})
		if err != nil {
			return err
		}
		if gone {
			return errLost
		}
	}
	return nil
}

// attempt takes a run to the sink. While a shard is careful, it is the only
// attempt of the worker and of one event, and it is on record in the rows of
// all careful shards before it begins. All, not those alone that hold a record
// of the event: what kills the worker is to be known to whoever comes next,
// and a note that an earlier attempt left elsewhere would accuse an innocent.
//
// Positions, gaps and pages are read without a note. A worker that dies there
// makes the next ones careful, but nobody is blamed.
func (l *lane) attempt(ctx context.Context, run event.Run) event.Outcome {
	careful, err := l.w.gate.enter(ctx)
	if err != nil {
		return event.Outcome{Position: run.After, Known: true, Err: err}
	}
	defer l.w.gate.leave()
	if len(careful) > 0 {
		run.Events = run.Events[:1]
		note(careful, checkpoint.Attempt{Sink: l.sink.id(), Aggregate: run.Aggregate, Version: run.After.Version + 1})
		defer note(careful, checkpoint.Attempt{})
		if err := noted(ctx, careful); err != nil {
			return event.Outcome{Position: run.After, Known: true, Err: err}
		}
	}
	call, cancel := context.WithTimeout(ctx, l.sink.Call)
	defer cancel()
	return sinks.Apply(call, l.sink.Sink, run)
}

// judge blocks the aggregate at which the last holders of the shard vanished,
// before anything is read. It reports whether to read: the lease may be lost.
func (s *shard) judge(ctx context.Context) bool {
	s.mu.Lock()
	b, on := s.lease.Barren, s.care.on
	s.mu.Unlock()
	accused := b.Blamed()
	l := s.w.laneOf(accused.Sink)
	if !on || l == nil {
		return true
	}
	for try := 0; ; try++ {
		positions, err := l.positions(ctx, []string{accused.Aggregate})
		switch {
		case err == nil && positions[0].Version+1 == accused.Version:
			l.tryToBlock(ctx, Trouble{
				Sink: l.sink.Name, Aggregate: accused.Aggregate, Version: accused.Version, Class: event.Crash,
				Since: time.Now(), Attempts: b.Deaths,
				Err: &event.Error{Class: event.Crash, Op: fmt.Sprintf("the worker died %d times while it applied this event", b.Deaths)},
			})
			return ctx.Err() == nil
		case err == nil:
			// At or beyond the version it had taken effect, and the deaths had
			// another cause. Below it the target has forgotten since; what it needs
			// next is another event, of which nothing is known.
			return true
		case ownFault(err) && ctx.Err() == nil:
			s.w.opts.Log.Error().Stringer("shard", s.key).Str("sink", l.sink.Name).Str("aggregate", accused.Aggregate).Err(err).
				Msg("workers died at an event of this aggregate, and its position cannot be read; it is not blocked")
			return true
		}
		if !s.w.again(ctx, "judge/"+string(s.key.Shard), try, err) {
			return false
		}
	}
}

func (w *Worker) laneOf(sink string) *lane {
	for _, l := range w.lanes {
		if l.sink.id() == sink {
			return l
		}
	}
	return nil
}
