package pipeline

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"millrace/event"
	"millrace/failure"
)

// sweepDeaths is how many sweepers may vanish over one block. What a sweep
// applies is noted like every attempt while a shard is careful, but a worker
// lives long enough to sweep only where its shards make progress, and nobody is
// careful then: an event behind a hole would kill a worker a minute for ever.
const sweepDeaths = 2

// sweepJobOf names a sweeper's claim over a block at which others vanished.
func sweepJobOf(vanished int, worker string) string {
	return fmt.Sprintf("%s%d/%s", sweepJob, vanished, worker)
}

// vanished is how many sweepers have left a claim over the block behind, one
// after the other.
func vanished(m failure.Marker) int {
	job, sweepers := strings.CutPrefix(m.Job, sweepJob)
	if m.State != failure.Redriving || !sweepers {
		return 0
	}
	count, _, _ := strings.Cut(job, "/")
	before, _ := strconv.Atoi(count) // a claim without a count is somebody's first
	return before + 1
}

// accuse leaves a block to an operator at which sweepers died time and again:
// the event after the position, which is where the aggregate stands.
func (s *sweeper) accuse(ctx context.Context, m failure.Marker) error {
	positions, err := s.positions(ctx, []string{m.Key.Aggregate})
	if err != nil {
		return err
	}
	version, now := positions[0].Version+1, time.Now()
	reason := &event.Error{Class: event.Crash, Op: fmt.Sprintf("the worker died %d times while it redrove this aggregate", vanished(m))}
	return s.toCrash(ctx, m, version, failure.CauseOf(reason, s.sink.Name, "", vanished(m), now, now))
}

// toCrash makes a block of another cause one of class crash, which everybody
// knows who begins, and no sweep redrives. A row that somebody has changed
// since, and a claim that is all that was written before a worker died, are
// left as they are: the aggregate is held back in any case.
func (l *lane) toCrash(ctx context.Context, m failure.Marker, version uint64, cause failure.Cause) error {
	call, cancel := context.WithTimeout(ctx, 2*l.w.opts.Call)
	defer cancel()
	claim := l.generation(m.Key.Aggregate)
	verdict, row, err := l.w.opts.Markers.Apply(call, m.Key, failure.Claim(m.Generation, claim, "crash/"+l.w.opts.Worker))
	if err != nil || !verdict.Succeeded() {
		return err
	}
	verdict, _, err = l.w.opts.Markers.Apply(call, m.Key, failure.BackToBlocked(claim, version, row.SeenVersion, l.generation(m.Key.Aggregate), cause))
	if err != nil {
		return err
	}
	if verdict.Succeeded() {
		l.w.opts.Log.Error().Str("group", l.w.opts.Group).Str("sink", l.sink.Name).Str("aggregate", m.Key.Aggregate).Uint64("version", version).
			Str("fingerprint", cause.Fingerprint).Str("reason", cause.Text).Str("next", nextSteps).Msg("a blocked aggregate is left to an operator: workers die of it")
	}
	l.blocked(m.Key.Aggregate, row.SeenVersion)
	return nil
}
