package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"millrace/event"
	"millrace/failure"
)

// Outbox is the control table's side.
type Outbox interface {
	// Promises lists the letters that are still to be sent.
	Promises(ctx context.Context) ([]failure.Promise, error)
	Get(ctx context.Context, key failure.Key) (failure.Marker, error)
	Apply(ctx context.Context, key failure.Key, t failure.Transition) (failure.Verdict, failure.Marker, error)
	// Kept deletes an outbox row, unless a newer block has replaced it.
	Kept(ctx context.Context, p failure.Promise) error
}

// Unroutables is the control table's part with the records that name no
// aggregate.
type Unroutables interface {
	// Unroutable reads one record's row; nil where there is none.
	Unroutable(ctx context.Context, group, table, id string) (*failure.Unroutable, error)
	// ToldUnroutable notes in the row that the queue accepted its letter.
	ToldUnroutable(ctx context.Context, u failure.Unroutable) error
}

// Events is the event store. Reads are strongly consistent.
type Events interface {
	Range(ctx context.Context, aggregate string, from, to uint64, page func([]event.Event) error) error
}

// Queue is the on-failure queue.
type Queue interface {
	// Send answers each letter: nil once the queue has accepted it.
	Send(ctx context.Context, letters []failure.Letter) []error
}

// Notifier sends the letters of one sink. It is safe for concurrent use, and
// several may work on one outbox: a letter may then be sent twice, under one id.
type Notifier struct {
	Outbox Outbox
	Events Events
	Queue  Queue
	Build  string
	// Unroutables has the rows of the promises that name failure.EverySink. Nil:
	// the outbox has none of those.
	Unroutables Unroutables
	// InlineLimit is the most bytes of a record that a letter carries. Default
	// 200 KB.
	InlineLimit int
}

// Unsent is what a round left over.
type Unsent struct {
	Letters int
	Oldest  time.Time // when the oldest of their events failed first; zero: none
	Err     error     // why, of one of them
}

// defaultInline leaves room in a message of 1 MiB for the base64 of binary
// attributes and for everything around the record.
const defaultInline = 200 << 10

// round is how many letters are built at a time, so that memory stays bounded
// whatever the outbox holds.
const round = 10

// Send makes one pass over the outbox. Its error means that the outbox could
// not be read; letters that could not be sent are in the answer.
func (n *Notifier) Send(ctx context.Context) (sent int, unsent Unsent, err error) {
	promises, err := n.Outbox.Promises(ctx)
	if err != nil {
		return 0, Unsent{}, fmt.Errorf("reading the outbox: %w", err)
	}
	for len(promises) > 0 && ctx.Err() == nil {
		some := promises[:min(round, len(promises))]
		promises = promises[len(some):]
		accepted, left := n.some(ctx, some)
		sent += accepted
		unsent.add(left)
	}
	unsent.Letters += len(promises) // a stop came first
	return sent, unsent, nil
}

func (u *Unsent) add(other Unsent) {
	u.Letters += other.Letters
	if !other.Oldest.IsZero() && (u.Oldest.IsZero() || other.Oldest.Before(u.Oldest)) {
		u.Oldest = other.Oldest
	}
	if u.Err == nil {
		u.Err = other.Err
	}
}

// draft is a letter that is to be sent, and what to do when it was.
type draft struct {
	letter  failure.Letter
	promise failure.Promise
	told    func(ctx context.Context) error
}

// some sends the letters of a few promises.
func (n *Notifier) some(ctx context.Context, promises []failure.Promise) (sent int, unsent Unsent) {
	var drafts []draft
	var letters []failure.Letter
	for _, p := range promises {
		build := n.ofBlock
		if p.Key.Sink == failure.EverySink {
			build = n.ofUnroutable
		}
		d, left := build(ctx, p)
		if unsent.add(left); d != nil {
			drafts, letters = append(drafts, *d), append(letters, d.letter)
		}
	}
	if len(letters) == 0 {
		return 0, unsent
	}
	for i, err := range n.offer(ctx, letters) {
		if err != nil {
			unsent.add(Unsent{Letters: 1, Oldest: letters[i].FirstFailed, Err: err})
			continue
		}
		sent++
		if err := drafts[i].told(ctx); err == nil {
			unsent.add(n.forget(ctx, drafts[i].promise))
		}
		// Without an answer the row stays, and the letter is sent again.
	}
	return sent, unsent
}

// ofBlock drafts the letter of a block; nil when there is none to send now.
func (n *Notifier) ofBlock(ctx context.Context, p failure.Promise) (*draft, Unsent) {
	marker, err := n.Outbox.Get(ctx, p.Key)
	if err != nil {
		return nil, Unsent{Letters: 1, Err: err}
	}
	if marker.State != failure.Blocked || marker.BlockID != p.BlockID || marker.Notified == p.BlockID {
		// Released, claimed, blocked anew, or told already by somebody who was
		// killed before the row was deleted.
		if marker.State != failure.Redriving {
			return nil, n.forget(ctx, p)
		}
		return nil, Unsent{}
	}
	letter, err := n.letter(ctx, marker)
	if err != nil {
		return nil, Unsent{Letters: 1, Oldest: marker.Cause.First, Err: err}
	}
	return &draft{letter: letter, promise: p, told: func(ctx context.Context) error {
		_, _, err := n.Outbox.Apply(ctx, p.Key, failure.Notified(p.BlockID))
		return err
	}}, Unsent{}
}

// ofUnroutable drafts the letter of a record that names no aggregate.
func (n *Notifier) ofUnroutable(ctx context.Context, p failure.Promise) (*draft, Unsent) {
	u, err := n.Unroutables.Unroutable(ctx, p.Key.Group, p.Key.Table, p.BlockID)
	switch {
	case err != nil:
		return nil, Unsent{Letters: 1, Err: err}
	case u == nil, u.Notified != "": // ended, or told already
		return nil, n.forget(ctx, p)
	}
	return &draft{letter: u.Letter(n.Build, n.inline()), promise: p, told: func(ctx context.Context) error {
		return n.Unroutables.ToldUnroutable(ctx, *u)
	}}, Unsent{}
}

func (n *Notifier) inline() int {
	if n.InlineLimit <= 0 {
		return defaultInline
	}
	return n.InlineLimit
}

// offer sends letters. One that the queue refuses is sent without its record: a
// queue may be set to take less than the service does, and no letter may wait
// for ever. What it leaves out stands in the event store.
func (n *Notifier) offer(ctx context.Context, letters []failure.Letter) []error {
	answers := n.Queue.Send(ctx, letters)
	var refused []int
	var shorter []failure.Letter
	for i, err := range answers {
		if event.ClassOf(err) == event.Permanent && letters[i].Record.Item != nil {
			letters[i].Record.Item = nil
			refused, shorter = append(refused, i), append(shorter, letters[i])
		}
	}
	if len(refused) == 0 {
		return answers
	}
	for k, err := range n.Queue.Send(ctx, shorter) {
		answers[refused[k]] = err
	}
	return answers
}

// forget deletes a row that has nothing left to tell; what fails here is tried
// again with the next pass and holds no letter up.
func (n *Notifier) forget(ctx context.Context, p failure.Promise) Unsent {
	if err := n.Outbox.Kept(ctx, p); err != nil && event.ClassOf(err) != event.Transient && event.ClassOf(err) != event.Stopping {
		return Unsent{Err: err}
	}
	return Unsent{}
}

var errOne = errors.New("one event is enough")

// letter builds a letter of the marker and of what the event store holds now.
func (n *Notifier) letter(ctx context.Context, m failure.Marker) (failure.Letter, error) {
	var item event.Item
	var eventType string
	err := n.Events.Range(ctx, m.Key.Aggregate, m.BlockedVersion, m.BlockedVersion, func(page []event.Event) error {
		var err error
		if item, err = page[0].Image.Item(); err != nil {
			return err
		}
		if eventType, err = page[0].Type(); err != nil {
			eventType = "" // it may be the very thing that failed
		}
		return errOne
	})
	if err != nil && !errors.Is(err, errOne) {
		return failure.Letter{}, fmt.Errorf("reading the event of a letter: %w", err)
	}
	return failure.NewLetter(m, item, eventType, n.Build, n.inline()), nil
}
