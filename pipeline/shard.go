package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/jitter"
	"millrace/reorder"
	"millrace/source"
)

// Why a shard's goroutines were told to end.
var (
	errStopping = &event.Error{Class: event.Stopping, Op: "the worker is stopping"}
	errLost     = &event.Error{Class: event.Fenced, Op: "the lease is held by somebody else"}
)

// shard is one reading of one shard, from the grant of its lease to the last
// write to it.
type shard struct {
	w      *Worker
	handle reorder.Shard
	key    checkpoint.LeaseKey

	// stopReading ends the reader when the worker stops or the lease is lost.
	stopReading context.CancelCauseFunc
	reading     context.Context //nolint:containedctx // it is the reading's own life, not a caller's

	mu       sync.Mutex
	changed  *sync.Cond
	frontier *Frontier
	lease    checkpoint.Lease // as last written
	trust    checkpoint.Trust
	trying   bool               // the lease writer has no answer yet
	tried    checkpoint.Instant // when it sent the write for the first time
	children []source.ShardID
	phase    phase
	reader   bool // the reader has returned
	gone     bool // nothing of it runs any more
	handed   bool // the last write, which hands the lease back or ends it, has landed
	fenced   bool // somebody else holds the lease
	care     care
	strays   int // unroutable records that are not settled
	tide     tide

	fetching, renewing pulse
}

// phase says what the lease writer is to do next.
type phase uint8

const (
	holding   phase = iota + 1 // renew
	finishing                  // everything is settled and the children have rows: write finished
	releasing                  // write no owner
	lost                       // write nothing
)

// newShard sets up the reading of a shard whose lease was granted by a call
// that was sent at an instant.
func (w *Worker) newShard(lease checkpoint.Lease, sent checkpoint.Instant) *shard {
	s := &shard{
		w: w, key: lease.Key, lease: lease, phase: holding,
		frontier: NewFrontier(lease.Checkpoint, len(w.lanes)),
		trust:    checkpoint.NewTrust(w.opts.Lease, w.opts.Call),
	}
	s.changed = sync.NewCond(&s.mu)
	s.trust.Renewed(sent)
	s.reading, s.stopReading = context.WithCancelCause(context.Background())
	w.mu.Lock()
	w.handles++
	s.handle = w.handles
	w.shards = append(w.shards, s)
	w.mu.Unlock()
	for _, l := range w.lanes {
		l.admit(s)
	}
	s.beCareful()
	return s
}

func (s *shard) isGone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// drained is asked under the shard's lock.
func (s *shard) drained() bool {
	return s.phase == lost || s.gone || s.reader && (s.frontier.Settled() || s.still())
}

// release has the lease writer write the last checkpoint and no owner.
func (s *shard) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == holding {
		s.phase = releasing
		s.changed.Broadcast()
	}
}

// settle is called under a lane's lock.
func (s *shard) settle(sink int, ordinals []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frontier.Settle(sink, ordinals...)
	s.changed.Broadcast()
}

// await waits under the shard's lock until a condition holds or ctx ends.
func (s *shard) await(ctx context.Context, holds func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !holds() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.changed.Wait()
	}
	return nil
}

// read follows the shard to its end and then sees it finished.
func (s *shard) read() {
	ctx := s.reading
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reader = true
		s.changed.Broadcast()
	}()
	if !s.judge(ctx) {
		return
	}
	cursor, err := source.NewCursor(s.w.opts.Stream, s.key.Shard, s.lease.Checkpoint)
	if err != nil {
		s.w.opts.Log.Error().Stringer("shard", s.key).Err(err).Msg("the checkpoint cannot be read from; the shard stands still")
		<-ctx.Done()
		return
	}
	p := newPace(s.w.opts)
	for failures := 0; !cursor.Ended(); {
		if err := s.fetch(ctx, cursor, p); err != nil {
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, source.ErrShardGone) {
				break // what was read of it is all there will ever be
			}
			if !s.w.again(ctx, "read/"+string(s.key.Shard), failures, err) {
				return
			}
			failures++
			continue
		}
		failures = 0
		if err := jitter.Sleep(ctx, p.pause(cursor.Ended(), s.w.opts.Jitter, string(s.key.Shard))); err != nil {
			return
		}
	}
	s.finish(ctx)
}

// fetch reads one page and hands it on.
func (s *shard) fetch(ctx context.Context, cursor *source.Cursor, p *pace) error {
	if err := s.await(ctx, func() bool { return s.frontier.Span() < s.w.opts.Span }); err != nil {
		return err
	}
	for i, l := range s.w.lanes {
		if err := l.reserve(ctx); err != nil {
			for _, earlier := range s.w.lanes[:i] {
				earlier.release()
			}
			return err
		}
	}
	offered := false
	defer func() {
		if !offered {
			for _, l := range s.w.lanes {
				l.release()
			}
		}
	}()
	// Room may have taken long to come: only now is it known whether the lease
	// can still be trusted.
	if err := s.await(ctx, s.mayCall); err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, s.w.opts.Call)
	defer cancel()
	s.fetching.beat()
	defer s.fetching.resting()
	p.began()
	page, err := cursor.Read(call, source.MaxPageRecords)
	var trimmed *source.Trimmed
	switch {
	case errors.As(err, &trimmed):
		s.w.counters.trimmed.Add(1)
		s.w.opts.Log.Error().Stringer("shard", s.key).Err(err).Time("since", trimmed.Since).
			Msg("records were trimmed before they were read; reading goes on at the trim horizon")
		return nil
	case errors.Is(err, source.ErrShardGone):
		s.w.counters.shardsGone.Add(1)
		s.w.opts.Log.Error().Stringer("shard", s.key).Err(err).
			Msg("the shard is gone from the stream; what it held beyond the checkpoint is lost")
		return err
	case err != nil:
		return err
	}
	p.read(len(page.Records), page.Bytes)
	offered = true
	s.deliver(page, p.full)
	return nil
}

// mayCall is asked under the shard's lock.
func (s *shard) mayCall() bool {
	return s.phase == holding && s.trust.MayCall(s.w.instant(), s.w.opts.Call) && !s.w.strays.isPaused()
}

// deliver routes a page's records and hands its events to every lane.
func (s *shard) deliver(page source.Page, full bool) {
	w := s.w
	w.counters.pages.Add(1)
	w.counters.records.Add(uint64(len(page.Records)))
	marks := make([]Mark, len(page.Records))
	events := make([]reorder.Offered, 0, len(page.Records))
	var strays []unplaced
	for i := range page.Records {
		r := &page.Records[i]
		marks[i] = Mark{Sequence: r.Sequence, Created: r.Created}
		e, verdict, err := w.opts.Layout.Route(r)
		switch verdict {
		case event.IsEvent:
			marks[i].Waits = true
			events = append(events, reorder.Offered{Event: e, Ordinal: uint64(i)})
		case event.Filtered:
			w.counters.filtered.Add(1)
		case event.Violation:
			w.violation(s, r, e)
		case event.Unroutable:
			if marks[i].Waits = w.stray(r); marks[i].Waits {
				strays = append(strays, unplaced{record: r, reason: err, index: uint64(i)})
			}
		}
	}
	s.mu.Lock()
	first := s.frontier.Page(marks)
	s.care.fetched = true
	s.strays += len(strays)
	var newest time.Time
	if len(marks) > 0 {
		newest = marks[len(marks)-1].Created
	}
	s.tide.page(time.Now(), newest, full)
	s.mu.Unlock()
	if len(strays) > 0 {
		w.strays.take(s, strays, first)
	}
	for i := range events {
		events[i].Ordinal += first
	}
	for _, l := range w.lanes {
		l.offer(s, page.Bytes, events)
	}
}

// finish waits until everything is settled, gives the children their rows and
// has the lease writer mark the shard as finished.
func (s *shard) finish(ctx context.Context) {
	s.mu.Lock()
	s.frontier.End()
	s.tide.done = true
	s.mu.Unlock()
	if s.await(ctx, s.frontier.Settled) != nil {
		return
	}
	children, ok := s.w.children(ctx, s)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == holding {
		s.children, s.phase = children, finishing
		s.changed.Broadcast()
	}
}

// pace says how long to wait before the next read of a shard.
type pace struct {
	spacing  time.Duration // between the beginnings of two reads
	data     time.Duration
	idle     time.Duration
	started  time.Time
	empty    int // empty pages in a row
	full     bool
	sequence int
}

func newPace(o Options) *pace {
	p := &pace{data: o.PollData, idle: o.PollIdle}
	if o.ReadsPerSecond > 0 {
		p.spacing = time.Duration(float64(time.Second) / o.ReadsPerSecond)
	}
	return p
}

func (p *pace) began() { p.started = time.Now() }

func (p *pace) read(records, bytes int) {
	p.full = records == source.MaxPageRecords || bytes >= source.MaxPageBytes
	if records > 0 {
		p.empty = 0
	} else {
		p.empty++
	}
}

// pause is nothing after a full page but what the limit of reads asks for,
// short after data, and grows while nothing comes.
func (p *pace) pause(ended bool, j jitter.Source, name string) time.Duration {
	if ended {
		return 0
	}
	wait := time.Duration(0)
	switch {
	case p.full:
	case p.empty == 0:
		wait = p.data
	default:
		wait = min(p.data<<min(p.empty, 10), p.idle)
	}
	p.sequence++
	if wait > 0 {
		wait = j.Around(wait, "poll/"+name, p.sequence)
	}
	return max(wait, p.spacing-time.Since(p.started))
}
