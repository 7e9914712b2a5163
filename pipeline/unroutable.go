package pipeline

import (
	"context"
	"sync"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/jitter"
)

// PausedForLayout is Stats.PausedReason of a worker that has met so many
// records without an aggregate or a version that the layout must be wrong.
const PausedForLayout = "layout"

// tellPaused is how often a worker that is paused says so.
const tellPaused = 5 * time.Minute

// inlineStrays is how many of the records that wait for their row keep their
// image: beyond that, the hash must do. Memory stays bounded however long the
// control table takes none.
const inlineStrays = 50

// strays are the worker's unroutable records. No window can order them and no
// marker can hold them, so each gets a row of its own, and is settled in every
// sink once that is durable. One goroutine writes the rows; reading goes on
// meanwhile.
//
// Many in a short time mean a layout that does not fit the table. To settle
// those would be to lose, shard by shard, what the right layout would read. The
// worker pauses instead: nothing more is fetched and no more rows are written,
// until somebody starts it with the layout that fits.
type strays struct {
	w       *Worker
	arrived chan struct{} // there is something to write or to tell

	mu      sync.Mutex // a leaf: no other lock is taken under it
	waiting []stray    // in the order in which they were read
	images  int        // of those that wait
	recent  []time.Time
	paused  bool
	example []byte // the primary key of a record of the page that led to the pause
	reason  error  // why it has no place
}

// stray is a record that waits for its row.
type stray struct {
	shard   *shard
	ordinal uint64
	record  failure.Unroutable
}

// unplaced is a record of a page that the layout refuses.
type unplaced struct {
	record *event.Record
	reason error
	index  uint64 // in the page
}

func newStrays(w *Worker) *strays { return &strays{w: w, arrived: make(chan struct{}, 1)} }

// stray says what is to become of a record that the layout refuses: whether its
// shard's checkpoint waits for it.
func (w *Worker) stray(r *event.Record) (waits bool) {
	w.counters.unroutable.Add(1)
	// Only the INSERT of an event item is an event, under every layout. To hold
	// the others would let the removal of a misplaced item be one more incident.
	return r.Change == event.Insert
}

// take takes in the unroutable records of a page, whose records have ordinals
// from first on.
func (t *strays) take(s *shard, page []unplaced, first uint64) {
	w := t.w
	if w.opts.Markers == nil {
		for _, u := range page {
			w.opts.Log.Error().Stringer("shard", s.key).Str("sequence", string(u.record.Sequence)).Str("eventId", u.record.ID).
				RawJSON("key", keyText(u.record)).Err(u.reason).
				Msg("a record names no aggregate or version; it holds the shard's checkpoint until the layout fits")
		}
		return
	}
	if !t.admit(page, time.Now()) {
		t.nudge()
		return
	}
	for _, u := range page {
		at := failure.Source{Table: w.opts.Table, Label: s.key.Label, Shard: string(s.key.Shard)}
		record := failure.NewUnroutable(w.opts.Group, at, u.record, u.reason, time.Now())
		w.opts.Log.Error().Str("group", w.opts.Group).Stringer("shard", s.key).Str("sequence", string(u.record.Sequence)).Str("letter", failure.LetterPrefix+record.ID).
			RawJSON("key", keyText(u.record)).Str("fingerprint", record.Cause.Fingerprint).Err(u.reason).Str("next", nextSteps).
			Msg("a record names no aggregate or version; it is put on record, everything else goes on")
		t.add(stray{shard: s, ordinal: first + u.index, record: record})
	}
	t.nudge()
}

// admit counts the records of a page and reports whether they may get rows. All
// of a page count before the first is written: a worker that starts with a
// wrong layout writes none.
func (t *strays) admit(page []unplaced, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := 0
	for old < len(t.recent) && now.Sub(t.recent[old]) >= t.w.opts.UnroutableWindow {
		old++
	}
	t.recent = t.recent[old:]
	for range min(len(page), t.w.opts.UnroutableLimit) {
		t.recent = append(t.recent, now)
	}
	if !t.paused && len(t.recent) >= t.w.opts.UnroutableLimit {
		t.paused, t.example, t.reason = true, keyText(page[0].record), page[0].reason
		t.waiting = nil // their records hold the checkpoint
	}
	return !t.paused
}

func (t *strays) add(s stray) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused { // by another shard's page, a moment ago
		return
	}
	if s.record.Record.Item != nil {
		if t.images++; t.images > inlineStrays {
			t.images--
			s.record.Record.Item = nil
		}
	}
	t.waiting = append(t.waiting, s)
}

func (t *strays) nudge() {
	select {
	case t.arrived <- struct{}{}:
	default: // it will look anyway
	}
}

func (t *strays) isPaused() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.paused
}

// held reports whether unroutable records wait for nothing that this worker
// will do.
func (t *strays) held() bool { return t.w.opts.Markers == nil || t.isPaused() }

// run writes rows until ctx ends.
func (t *strays) run(ctx context.Context) {
	for told := 0; ; {
		if s, ok := t.next(); ok {
			t.put(ctx, s)
			continue
		}
		if t.isPaused() {
			t.tell(told)
			if jitter.Sleep(ctx, t.w.opts.Jitter.Around(tellPaused, t.w.opts.Worker+"/paused", told)) != nil {
				return
			}
			told++
			continue
		}
		select {
		case <-t.arrived:
		case <-ctx.Done():
			return
		}
	}
}

func (t *strays) next() (stray, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		return stray{}, false
	}
	s := t.waiting[0]
	t.waiting = t.waiting[1:]
	if s.record.Record.Item != nil {
		t.images--
	}
	return s, true
}

// put writes one row, for as long as it takes, and settles its record.
func (t *strays) put(ctx context.Context, s stray) {
	for try := 0; ctx.Err() == nil && !t.isPaused(); try++ {
		call, cancel := context.WithTimeout(ctx, t.w.opts.Call)
		err := t.w.opts.Markers.PutUnroutable(call, s.record)
		cancel()
		switch {
		case err == nil:
			s.shard.settleStray(s.ordinal)
			return
		case event.ClassOf(err) == event.Permanent && s.record.Record.Item != nil:
			s.record.Record.Item = nil // the hash and the key must do
			continue
		}
		if !t.w.again(ctx, "unroutable/"+s.record.ID, try, err) {
			return
		}
	}
}

// tell says that the worker is paused, and what to do.
func (t *strays) tell(told int) {
	t.mu.Lock()
	example, reason := t.example, t.reason
	t.mu.Unlock()
	if told == 0 {
		// A drain that is under way need not wait for what gets no row any more.
		for _, s := range t.w.held() {
			s.mu.Lock()
			s.changed.Broadcast()
			s.mu.Unlock()
		}
	}
	t.w.opts.Log.Error().Str("paused", PausedForLayout).Stringer("layout", t.w.opts.Layout).
		RawJSON("example", example).Err(reason).Uint64("unroutable", t.w.counters.unroutable.Load()).
		Msg("many records name no aggregate or version, so the layout does not fit the table: the pipeline is paused and settles none of them; " +
			"correct the layout and start again, reading goes on where it stands")
}

// keyText is a record's primary key in DynamoDB's JSON form.
func keyText(r *event.Record) []byte { return event.AppendItemJSON(nil, r.Keys) }

// settleStray settles a record in every sink: its row is durable.
func (s *shard) settleStray(ordinal uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strays--
	for sink := range s.w.lanes {
		s.frontier.Settle(sink, ordinal)
	}
	s.changed.Broadcast()
}

// still reports whether all that is not settled are unroutable records that
// get no row. It is asked under the shard's lock.
func (s *shard) still() bool {
	if s.strays == 0 || !s.w.strays.held() {
		return false
	}
	for sink := range s.w.lanes {
		if _, pending := s.frontier.Oldest(sink); pending > s.strays {
			return false
		}
	}
	return true
}
