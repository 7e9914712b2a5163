package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"millrace/event"
	"millrace/reorder"
)

// errMissing is why an aggregate waits whose next version is not in the event
// store although a later one is.
var errMissing = errors.New("the event store does not have it, although it has a later one")

// errPage ends a range behind its first page.
var errPage = errors.New("one page is enough")

// confirmVersions is how many versions one Confirm reads: ten items of the
// largest size fill a transaction's 4 MB (DynamoDB API Reference).
const confirmVersions = 10

// fillGaps reads what the window misses from the event store.
func (l *lane) fillGaps(ctx context.Context) {
	for {
		gap, ok := l.nextGap()
		if !ok {
			return
		}
		l.fill(ctx, gap)
	}
}

func (l *lane) nextGap() (reorder.Gap, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.stopped {
		if len(l.gaps) == 0 {
			l.gaps, _ = l.window.Due(time.Now())
			l.wakeup()
		}
		if len(l.gaps) > 0 {
			gap := l.gaps[0]
			if l.gaps = l.gaps[1:]; len(l.gaps) > 0 {
				l.due.Signal()
			}
			return gap, true
		}
		l.due.Wait()
	}
	return reorder.Gap{}, false
}

// fill answers one gap: with what follows its beginning without a hole, or,
// when that is missing, by asking again later. A version that is missing is
// read once more in a transaction before it counts as missing, since a query
// may see one item of a transaction and not yet the other.
func (l *lane) fill(ctx context.Context, gap reorder.Gap) {
	missed := l.missed(gap)
	var events []event.Event
	var err error
	if missed {
		events, err = l.confirm(ctx, gap)
	} else {
		// One page is enough at a time, however heavy its events are: the gap goes
		// on behind it.
		err = l.w.opts.Store.Range(ctx, gap.Aggregate, gap.From, gap.To, func(page []event.Event) error {
			events = page
			return errPage
		})
		if errors.Is(err, errPage) {
			err = nil
		}
	}
	n := 0
	for n < len(events) && events[n].Version == gap.From+uint64(n) {
		n++
	}

	if t, block := l.filled(ctx, gap, missed, events[:n], err); block {
		l.tryToBlock(ctx, t)
	}
}

// filled answers a gap. The trouble is to be blocked when it says so.
func (l *lane) filled(ctx context.Context, gap reorder.Gap, missed bool, events []event.Event, err error) (_ Trouble, block bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case len(events) == 0 && !l.window.Awaits(gap.Aggregate, gap.From):
		// What is before it comes first, and keeps its count where it stands still.
		// Blocked here, the aggregate would have versions below that nobody tried.
		l.window.Postpone(now, gap, now.Add(l.w.opts.Jitter.Around(l.w.opts.GapConfirm, l.w.opts.Worker+"/confirm/"+gap.Aggregate, 0)))
	case err != nil:
		l.window.Postpone(now, gap, now.Add(l.pauseGap(ctx, gap, now, fmt.Errorf("reading versions %d to %d: %w", gap.From, gap.To, err))))
	case len(events) == 0 && !missed:
		l.trouble.note(l.sink.Name, gap.Aggregate, gap.From, now, &event.Error{Class: event.Gap, Op: "filling a gap", Err: errMissing}).Attempts = 0
		l.window.Postpone(now, gap, now.Add(l.w.opts.Jitter.Around(l.w.opts.GapConfirm, l.w.opts.Worker+"/confirm/"+gap.Aggregate, 0)))
	case len(events) == 0:
		l.window.Postpone(now, gap, now.Add(l.pauseGap(ctx, gap, now, &event.Error{Class: event.Gap, Op: fmt.Sprintf("filling a gap: version %d", gap.From), Err: errMissing})))
	default:
		// What has failed in the sink keeps its count: where each try needs it, or
		// what follows it, read again, it would else never be tried often enough.
		if t := l.trouble[gap.Aggregate]; t != nil && t.Version == gap.From && !t.tried {
			l.trouble.end(gap.Aggregate)
		}
		l.window.Fill(now, gap, events)
	}
	l.wakeup()
	if t := l.trouble[gap.Aggregate]; t != nil && missed && err == nil && len(events) == 0 && ctx.Err() == nil && l.gives(t) {
		return *t, true
	}
	return Trouble{}, false
}

func (l *lane) confirm(ctx context.Context, gap reorder.Gap) ([]event.Event, error) {
	versions := make([]uint64, 0, confirmVersions)
	for v := gap.From; v <= gap.To && len(versions) < confirmVersions; v++ {
		versions = append(versions, v)
	}
	return l.w.opts.Store.Confirm(ctx, gap.Aggregate, versions)
}

// missed reports whether the gap's first version was found missing before.
func (l *lane) missed(gap reorder.Gap) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.trouble[gap.Aggregate]
	return t != nil && t.Class == event.Gap && t.Version == gap.From
}

// pauseGap notes a gap that could not be filled and says when to try again,
// with growing pauses: its record may still arrive by itself.
func (l *lane) pauseGap(ctx context.Context, gap reorder.Gap, now time.Time, err error) time.Duration {
	if ctx.Err() != nil {
		return time.Hour
	}
	t := l.trouble.note(l.sink.Name, gap.Aggregate, gap.From, now, err)
	l.tell(t)
	base, limit := 100*time.Millisecond, 5*time.Second
	if t.lasting() {
		base, limit = 10*time.Second, time.Minute
	}
	return l.w.opts.Jitter.Backoff(base, limit, l.w.opts.Worker+"/gap/"+gap.Aggregate, t.Attempts-1)
}
