package pipeline

import (
	"context"
	"errors"
	"maps"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/jitter"
	"millrace/source"
)

// keeper decides which shards the worker reads: it pins the group's start,
// lists the stream, makes lease rows, and takes the leases that are free. It
// runs in one goroutine and owns all of its state.
type keeper struct {
	w       *Worker
	watch   *checkpoint.Watch
	pin     checkpoint.Pin
	listing source.Listing
	asked   map[source.ShardID]bool // parents that were asked for by id: are they there?
	told    map[source.ShardID]bool // parents whose absence was logged
	foreign map[string]bool         // lease rows that could not be read when last listed
	list    time.Time               // when to list the stream again
	lists   int
	// How often the last calls of a kind failed, one after the other.
	failedLists, failedTakes, failedAsks int
	askNext                              time.Time // when to ask for the stream's successor again
	asks                                 int
	// What is known of aggregates at which workers died: whether their markers
	// were read, and whether some row was careful then.
	learned, careful bool
}

func newKeeper(w *Worker) *keeper {
	return &keeper{
		w: w, watch: checkpoint.NewWatch(w.opts.Lease),
		asked: map[source.ShardID]bool{}, told: map[source.ShardID]bool{},
	}
}

// pinMargin is how far before the service's own clock a group that starts at
// latest is pinned: that clock is told to the second, and is not the clock of
// every shard.
const pinMargin = time.Minute

// run works until ctx ends; take is called for each lease that is to be
// granted, and outlives ctx: a grant that the stop cut short could still take
// effect, and nobody would release it.
func (k *keeper) run(ctx context.Context, take func(checkpoint.Lease) error) {
	for try := 0; ; try++ {
		err := k.begin(ctx)
		if err == nil {
			break
		}
		if !k.w.again(ctx, "begin", try, err) {
			return
		}
	}
	failures := 0
	defer k.w.keeping.resting()
	for n := 0; ; n++ {
		k.w.keeping.beat()
		busy, err := k.cycle(ctx, take)
		if err != nil {
			if !k.w.again(ctx, "keep", failures, err) {
				return
			}
			failures++
			continue
		}
		failures = 0
		wait := k.w.opts.Scan
		if busy {
			wait /= 2
		}
		timer := time.NewTimer(k.w.opts.Jitter.Around(wait, k.w.opts.Worker+"/scan", n))
		select {
		case <-timer.C:
		case <-k.w.kicked:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// begin finds out which stream this is and where the group starts on it.
func (k *keeper) begin(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, k.w.opts.Call)
	defer cancel()
	info, err := k.w.opts.Stream.Describe(call)
	if err != nil {
		return err
	}
	pin := checkpoint.Pin{
		Group: k.w.opts.Group, Table: info.Table, Label: info.Label,
		Start: source.Start{Kind: source.TrimHorizon}, At: time.Now(),
	}
	if k.w.opts.Start == source.Latest {
		now := info.Now
		if now.IsZero() {
			now = time.Now()
		}
		pin.Start = source.Start{Kind: source.AtTime, Time: now.Add(-pinMargin)}
	}
	if k.pin, err = k.w.opts.Control.Pin(call, pin); err != nil {
		return err
	}
	for _, l := range k.w.lanes {
		l.begins(k.pin)
	}
	return nil
}

// cycle looks once at the lease rows, and at the stream when it is time. busy
// says that more is to be done soon.
func (k *keeper) cycle(ctx context.Context, take func(checkpoint.Lease) error) (busy bool, err error) {
	k.reap()
	rows, err := k.rows(ctx)
	if err != nil {
		return true, err
	}
	lineage := k.lineage(rows)
	if now := time.Now(); !now.Before(k.list) || !k.listing.Complete() || k.listing.Cursor() != "" {
		call, cancel := context.WithTimeout(ctx, 4*k.w.opts.Call)
		err := source.Discover(call, k.w.opts.Stream, &k.listing, source.Budget{Calls: 20, Each: k.w.opts.Call})
		cancel()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			// What was listed is kept; the rest comes with the next cycle.
			k.w.counters.retries.Add(1)
			k.w.tellCall("list", k.failedLists, err)
			k.failedLists++
		} else if k.failedLists = 0; k.listing.Complete() && k.listing.Cursor() == "" {
			k.lists++
			k.list = now.Add(k.w.opts.Jitter.Around(k.w.opts.Discover, k.w.opts.Worker+"/discover", k.lists))
		}
	}
	k.ask(ctx, rows, lineage)
	if made, err := k.make(ctx, lineage); err != nil {
		return true, err
	} else if made {
		if rows, err = k.rows(ctx); err != nil {
			return true, err
		}
		lineage = k.lineage(rows)
	}
	k.w.keeping.beat()
	if err := k.learnCrashed(ctx, rows); err != nil {
		return true, err
	}
	waiting := k.take(ctx, rows, lineage, take)
	k.succeed(ctx, rows)
	return waiting || !k.listing.Complete(), nil
}

// reap forgets the shards that have ended.
func (k *keeper) reap() {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	kept := k.w.shards[:0]
	for _, s := range k.w.shards {
		if !s.isGone() {
			kept = append(kept, s)
		}
	}
	clear(k.w.shards[len(kept):])
	k.w.shards = kept
}

// rows reads the group's lease rows on this stream.
func (k *keeper) rows(ctx context.Context) ([]checkpoint.Lease, error) {
	call, cancel := context.WithTimeout(ctx, k.w.opts.Call)
	defer cancel()
	listing, err := k.w.opts.Control.Listing(call, k.w.opts.Group, k.pin.Table)
	if err != nil {
		return nil, err
	}
	k.tellForeign(listing.Foreign)
	k.w.listed.Store(time.Now().UnixNano())
	all := listing.Leases
	k.watch.See(time.Now(), all)
	rows := all[:0]
	for _, l := range all {
		if l.Key.Label == k.pin.Label {
			rows = append(rows, l)
		}
	}
	return rows, nil
}

func (k *keeper) lineage(rows []checkpoint.Lease) source.Lineage {
	known := make(map[source.ShardID]source.Row, len(rows))
	for _, l := range rows {
		known[l.Key.Shard] = source.Row{
			Parents:  l.Parents,
			Finished: l.State == checkpoint.Finished,
			Read:     l.Checkpoint != k.pin.Start,
		}
	}
	return source.Lineage{Rows: known, Listing: &k.listing, Asked: k.asked}
}

// ask looks for parents that have no row and were not listed: only the stream
// can say whether they are gone. Gone is for ever; one that is there is asked
// for again in the next cycle.
func (k *keeper) ask(ctx context.Context, rows []checkpoint.Lease, lineage source.Lineage) {
	maps.DeleteFunc(k.asked, func(_ source.ShardID, there bool) bool { return there })
	for _, l := range rows {
		if l.State != checkpoint.WaitingForParent {
			continue
		}
		for _, parent := range lineage.Verdict(l.Key.Shard).Unknown {
			k.w.keeping.beat()
			call, cancel := context.WithTimeout(ctx, k.w.opts.Call)
			there, err := source.Exists(call, k.w.opts.Stream, parent)
			cancel()
			if err == nil {
				k.asked[parent] = there
			}
		}
	}
}

// make writes the rows of shards that have none, ancestors first.
func (k *keeper) make(ctx context.Context, lineage source.Lineage) (made bool, err error) {
	unmade := lineage.Unmade()
	if len(unmade) == 0 {
		return false, nil
	}
	rows := make([]checkpoint.Lease, len(unmade))
	for i, shard := range unmade {
		state := checkpoint.Active
		if len(shard.Parents) > 0 {
			state = checkpoint.WaitingForParent
		}
		rows[i] = checkpoint.Lease{
			Key:        checkpoint.LeaseKey{Group: k.w.opts.Group, Table: k.pin.Table, Label: k.pin.Label, Shard: shard.ID},
			Parents:    shard.Parents,
			State:      state,
			Checkpoint: lineage.Start(shard.ID, k.pin.Start),
			Sinks:      k.w.sinkIDs,
		}
	}
	call, cancel := context.WithTimeout(ctx, 4*k.w.opts.Call)
	defer cancel()
	return true, k.w.opts.Control.Create(call, rows)
}

// take grants itself what is free. waiting says that something is not.
func (k *keeper) take(ctx context.Context, rows []checkpoint.Lease, lineage source.Lineage, take func(checkpoint.Lease) error) (waiting bool) {
	now := time.Now()
	view := checkpoint.View{
		Leases: rows,
		Sinks:  k.w.sinkIDs,
		Held:   map[checkpoint.LeaseKey]bool{},
		// A row in this worker's name that it does not hold is a grant whose answer
		// was lost: nobody else can be reading, and nobody need wait for its expiry.
		Expired: func(l checkpoint.Lease) bool { return l.Owner == k.w.opts.Worker || k.watch.Expired(now, l) },
		Ready:   func(l checkpoint.Lease) bool { return lineage.Verdict(l.Key.Shard).Ready() },
	}
	for _, s := range k.w.held() {
		view.Held[s.key] = true
	}
	unowned := 0
	for _, l := range rows {
		if l.State != checkpoint.Finished && !view.Held[l.Key] {
			waiting = true
			if (l.Owner == "" || view.Expired(l)) && view.Ready(l) {
				unowned++
			}
		}
		if lacking := checkpoint.Admit(l, k.w.sinkIDs).Lacking; len(lacking) > 0 && l.State != checkpoint.Finished {
			k.tellOnce(l.Key.Shard, "the checkpoint speaks for sinks that this worker does not have; it leaves the shard alone", lacking)
		}
	}
	for _, l := range checkpoint.Plan(view, len(rows)) {
		k.w.keeping.beat() // each is a call, and there may be hundreds
		for _, parent := range lineage.Verdict(l.Key.Shard).Gone {
			k.tellOnce(parent, "a parent shard is gone from the stream and was never read here; what it held is lost unless it was read before", []string{string(l.Key.Shard)})
			k.w.counters.shardsGone.Add(1)
		}
		if ctx.Err() != nil {
			return true
		}
		switch err := take(l); {
		case err == nil:
			k.failedTakes = 0
			unowned--
			if l.Owner == "" {
				k.w.counters.tookFree.Add(1)
			} else {
				k.w.counters.tookExpired.Add(1)
			}
		case event.ClassOf(err) == event.Fenced: // somebody was quicker
		default:
			k.w.counters.retries.Add(1)
			k.w.tellCall("take/"+string(l.Key.Shard), k.failedTakes, err)
			k.failedTakes++
		}
	}
	k.w.unowned.Store(int64(max(unowned, 0)))
	return waiting
}

// tellForeign logs the rows that cannot be read, each until it can. Nobody of
// this build takes such a shard, and its records are trimmed after a day.
func (k *keeper) tellForeign(rows []checkpoint.Foreign) {
	foreign := make(map[string]bool, len(rows))
	for _, f := range rows {
		if foreign[f.Row] = true; !k.foreign[f.Row] {
			k.w.opts.Log.Error().Str("row", f.Row).Str("reason", f.Reason).
				Msg("a lease row is damaged, or of another build; nobody of this build reads its shard")
		}
	}
	k.foreign = foreign
}

func (k *keeper) tellOnce(shard source.ShardID, message string, about []string) {
	if k.told[shard] {
		return
	}
	k.told[shard] = true
	k.w.opts.Log.Error().Str("shard", string(shard)).Strs("about", about).Msg(message)
}

// grant takes one lease and has its row list the worker's sinks before the
// first read.
func (w *Worker) grant(ctx context.Context, seen checkpoint.Lease) (*shard, error) {
	call, cancel := context.WithTimeout(ctx, 2*w.opts.Call)
	defer cancel()
	sent := w.instant()
	lease, err := w.opts.Control.Grant(call, seen, w.opts.Worker)
	if err != nil && event.ClassOf(err) == event.Transient {
		// The answer may be lost and the lease ours: the same grant once more
		// tells, instead of an expiry that nobody waits for.
		lease, err = w.opts.Control.Grant(call, seen, w.opts.Worker)
	}
	if err != nil {
		return nil, err
	}
	if admission := checkpoint.Admit(lease, w.sinkIDs); len(admission.Joining) > 0 {
		lease.Sinks, lease.Unverified = admission.Sinks, admission.Unverified
		if lease, err = w.opts.Control.Write(call, lease); err != nil {
			return nil, err
		}
		w.opts.Log.Warn().Stringer("shard", lease.Key).Strs("sinks", admission.Joining).
			Msg("sinks join a shard that was read without them; they are unverified until heads and positions were compared")
	}
	return w.newShard(lease, sent), nil
}

// childWaits bounds the search for a closed shard's children: quick at first,
// since they usually are there, and patient then.
const (
	childWaitFirst = 50 * time.Millisecond
	childWaitLast  = 10 * time.Second
)

// children gives a finished shard's children their rows. A shard without
// children is finished without when its stream is disabled or lacks it;
// otherwise they are only not listed yet, and to finish without them would
// be to lose sight of them.
func (w *Worker) children(ctx context.Context, s *shard) ([]source.ShardID, bool) {
	for try := 0; ; try++ {
		ids, done, err := w.findChildren(ctx, s, try)
		if done {
			return ids, true
		}
		if err != nil && event.ClassOf(err) != event.Transient && try%8 == 0 && ctx.Err() == nil && !w.tellMissing(err) {
			w.opts.Log.Error().Stringer("shard", s.key).Err(err).Msg("the shard is read to its end, but its children cannot be listed")
		}
		wait := w.opts.Jitter.Backoff(childWaitFirst, childWaitLast, s.timer("children"), try)
		if jitter.Sleep(ctx, wait) != nil {
			return nil, false
		}
	}
}

func (w *Worker) findChildren(ctx context.Context, s *shard, try int) (ids []source.ShardID, done bool, err error) {
	call, cancel := context.WithTimeout(ctx, 2*w.opts.Call)
	defer cancel()
	children, err := w.opts.Stream.Children(call, s.key.Shard)
	switch {
	case errors.Is(err, source.ErrShardGone), errors.Is(err, source.ErrStreamGone):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	case len(children) == 0:
		if try < 3 {
			return nil, false, nil
		}
		info, err := w.opts.Stream.Describe(call)
		return nil, err == nil && info.Status == source.Disabled, err
	}
	s.mu.Lock()
	parent := s.lease
	s.mu.Unlock()
	if err := w.opts.Control.Create(call, checkpoint.ChildRows(parent, children)); err != nil {
		return nil, false, err
	}
	for _, c := range children {
		ids = append(ids, c.ID)
	}
	return ids, true, nil
}
