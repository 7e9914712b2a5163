package service

import (
	"context"
	"errors"
	"time"

	"millrace/failure/notify"
	queue "millrace/failure/sqs"
	"millrace/internal/jitter"
)

// sweepPause is the time between two sweeps of the queue. A letter that is over
// misleads nobody who asks its marker.
const sweepPause = 5 * time.Minute

// SweepLetters deletes the letters of the service's sinks that have nothing left
// to tell from the configured queue, and says how many. It makes passes for as
// long as they find more to delete. The count holds beside an error.
func (s *Service) SweepLetters(ctx context.Context) (deleted int, err error) {
	if s.config.Queue == "" {
		return 0, errors.New("sweeping letters: no queue is configured")
	}
	q, err := s.queue()
	if err != nil {
		return 0, err
	}
	for sweeper := s.sweeper(q); ; {
		swept, err := sweeper.Sweep(ctx)
		if deleted += swept.Deleted; err != nil || !swept.More || swept.Deleted == 0 {
			return deleted, err
		}
	}
}

func (s *Service) sweeper(q *queue.Queue) notify.Sweeper {
	sweeper := notify.Sweeper{Markers: outbox{s}, Inbox: q}
	for _, t := range s.targets {
		sweeper.Scopes = append(sweeper.Scopes, t.scope)
	}
	if !s.selected {
		sweeper.Unroutables = s.Markers()
	}
	return sweeper
}

// sweepLetters sweeps the queue until ctx ends, for what redrives, heals and
// workers that were killed have left behind.
func (s *Service) sweepLetters(ctx context.Context, q *queue.Queue) {
	sweeper, waits := s.sweeper(q), jitter.New()
	failures := 0
	// The first wait is any part of a whole one: workers of one deployment
	// start together and need not sweep together.
	wait := waits.Backoff(sweepPause, sweepPause, "sweep/first", 0)
	for pass := 0; jitter.Sleep(ctx, wait) == nil; pass++ {
		swept, err := sweeper.Sweep(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failures = 0
		} else if failures++; seldom(failures) {
			s.config.Log.Error().Str("queue", s.config.Queue).Int("left", swept.Left).Err(err).
				Msg("letters that are over cannot be deleted; they are tried again, and harm nobody")
		}
		if swept.Received > 0 {
			s.config.Log.Info().Str("queue", s.config.Queue).Int("deleted", swept.Deleted).Int("kept", swept.Kept).Int("foreign", swept.Foreign).
				Msg("letters swept")
		}
		wait = waits.Around(sweepPause, "sweep", pass)
	}
}
