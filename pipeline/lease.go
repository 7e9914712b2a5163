package pipeline

import (
	"context"
	"errors"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/jitter"
)

// keepLease makes every write to the shard's lease row, one at a time, so that
// none can overtake another: renewals that carry the checkpoint, and one last
// write that says how it ended.
func (s *shard) keepLease(ctx context.Context) {
	defer s.end() //nolint:contextcheck // the end of ctx is what it cleans up after
	renew := s.w.opts.Jitter.Around(s.w.opts.Renew, s.timer("renew"), 0)
	failures := 0
	for n := 1; ; n++ {
		s.renewing.beat()
		s.waitForWork(ctx, renew)
		if ctx.Err() != nil {
			return
		}
		last, err := s.write(ctx)
		switch {
		case err == nil && last:
			return
		case err == nil:
			renew = s.w.opts.Jitter.Around(s.w.opts.Renew, s.timer("renew"), n)
			if failures > 0 {
				renew = 0 // trust counts from the first try, and may be over
			}
			failures = 0
		case event.ClassOf(err) == event.Fenced:
			s.w.counters.fenced.Add(1)
			s.lose()
			s.w.opts.Log.Warn().Stringer("shard", s.key).Msg("the lease was lost; its records will be read again by whoever holds it now")
			return
		case errors.Is(err, checkpoint.ErrBackwards):
			// A fault of ours. To go on would be to repeat it.
			s.w.opts.Log.Error().Stringer("shard", s.key).Err(err).Msg("the lease row refused to go back; the shard is given up")
			return
		case ctx.Err() != nil:
			return // cut short by ourselves, which is no failure
		default:
			// Nobody knows whether it landed. The trust window ends the reading
			// if this goes on, and the row itself tells in the end.
			s.w.counters.retries.Add(1)
			s.w.tellCall("lease/"+string(s.key.Shard), failures, err)
			failures++
			renew = s.w.opts.Jitter.Backoff(100*time.Millisecond, s.w.opts.Renew/2, s.timer("rewrite"), n)
			if jitter.Sleep(ctx, renew) != nil {
				return
			}
			renew = 0
		}
	}
}

func (s *shard) timer(what string) string {
	return s.w.opts.Worker + "/" + what + "/" + string(s.key.Shard)
}

// waitForWork returns when it is time to renew, or at once when there is an
// attempt to note or a last write to make.
func (s *shard) waitForWork(ctx context.Context, renew time.Duration) {
	timed, cancel := context.WithTimeout(ctx, renew)
	defer cancel()
	_ = s.await(timed, func() bool { return s.phase != holding || s.unnoted() }) // both ends of the wait mean work
}

// write makes one write as the phase asks for; last says that nothing follows.
func (s *shard) write(ctx context.Context) (last bool, err error) {
	s.mu.Lock()
	planned := s.lease.Clone()
	if at, moved := s.frontier.Checkpoint(); moved {
		planned.Checkpoint = at
	}
	planned.Barren = s.barren()
	phase := s.phase
	switch phase {
	case finishing:
		planned.State, planned.Children, planned.Owner = checkpoint.Finished, s.children, ""
	case releasing:
		planned.Owner = ""
	default:
	}
	s.mu.Unlock()

	call, cancel := context.WithTimeout(ctx, s.w.opts.Call)
	defer cancel()
	if !s.trying {
		s.trying, s.tried = true, s.w.instant()
	}
	written, err := s.w.opts.Control.Write(call, planned)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.lease.Barren.Attempt = checkpoint.Attempt{} // what the row shows is not known
		return false, err
	}
	s.lease = written
	// A try that finds its marks in the row proves no more than that an earlier
	// one landed: the heartbeat that others see may be as old as the first.
	s.trust.Renewed(s.tried)
	s.trying = false
	s.handed = phase == finishing || phase == releasing
	s.relax()
	s.changed.Broadcast()
	return s.handed, nil
}

// lose notes that the lease is somebody else's, whatever was to be written.
func (s *shard) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase, s.fenced = lost, true
}

// end takes the shard out of the lanes. Where its lease was lost nothing of it
// may be settled any more; where it was finished or released nothing is left.
func (s *shard) end() {
	s.mu.Lock()
	if s.phase == holding {
		s.phase = lost
	}
	s.trust.Lost()
	s.changed.Broadcast()
	s.mu.Unlock()
	s.w.gate.relax(s)
	s.stopReading(errLost)
	_ = s.await(context.Background(), func() bool { return s.reader }) // it cannot be cut short
	for _, l := range s.w.lanes {
		l.drop(s)
	}
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.w.kick()
}
