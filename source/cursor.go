package source

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errLatest is what NewCursor returns for a start at latest.
var errLatest = errors.New("a shard is not followed from latest: what is written until its first record is read would be lost; pin a time")

// Trimmed is the error of a Cursor whose place lies before the oldest record
// kept. What lay between From and the trim horizon is lost unless it had been
// read before; the cursor goes on at the horizon. It wraps ErrTrimmed.
type Trimmed struct {
	Shard ShardID
	From  Start     // the place that is not there any more
	Since time.Time // when the last record read was created, or From's time; zero: unknown
	Err   error
}

// Error tells the lost range.
func (t *Trimmed) Error() string {
	from := t.From.Kind.String()
	if t.From.Sequence != "" {
		from += " " + string(t.From.Sequence)
	}
	if !t.Since.IsZero() {
		from += " (" + t.Since.UTC().Format(time.RFC3339) + ")"
	}
	return fmt.Sprintf("records of shard %s from %s to the trim horizon are lost: %v", t.Shard, from, t.Err)
}

// Unwrap returns the cause.
func (t *Trimmed) Unwrap() error { return t.Err }

// Cursor follows a shard from a start to its end. It keeps the place after the
// last record it handed on, and takes a new iterator from there whenever the
// old one is of no use. It is not safe for concurrent use.
//
// A start at a time that lies before the trim horizon begins at the horizon,
// and no service says so: whoever keeps a pin compares it with the stream's
// clock (StreamInfo.Now) and its 24 hours of retention.
//
//	at start --Read--> after record --Read--> ... --no next iterator--> at shard end
//	   ^ trimmed: at horizon, reported once       \--shard gone: stays gone
type Cursor struct {
	reader  Reader
	shard   ShardID
	at      Start
	created time.Time // of the last record handed on
	it      Iterator  // empty: to be taken anew
	gone    error
}

// NewCursor returns a cursor at a start, which a checkpoint or a pin is. A start
// at latest is refused.
func NewCursor(r Reader, shard ShardID, from Start) (*Cursor, error) {
	if from.Kind == Latest {
		return nil, fmt.Errorf("following shard %s: %w", shard, errLatest)
	}
	return &Cursor{reader: r, shard: shard, at: from}, nil
}

// At is the place after the last record handed on, where a new iterator would
// start; at the end of the shard its kind is ShardEnd.
func (c *Cursor) At() Start { return c.at }

// Ended reports whether the shard is read to its end, the last page included.
func (c *Cursor) Ended() bool { return c.at.Kind == ShardEnd }

// Read returns the next page of at most limit records. The shard has ended when
// Ended reports so, never because a page is empty or a call failed; the page
// that ends it may carry records. Reading on after the end returns empty pages.
//
// An iterator that has expired since the last Read is replaced, once, from the
// place after the last record. The error is a *Trimmed when records may be
// lost, and the next Read goes on at the trim horizon. ErrShardGone is final:
// what was not read will never be, and every further Read returns it. After any
// other error the same Read can be tried again.
func (c *Cursor) Read(ctx context.Context, limit int) (Page, error) {
	if c.Ended() {
		return Page{}, nil
	}
	if c.gone != nil {
		return Page{}, c.gone
	}
	fresh := c.it == ""
	page, err := c.read(ctx, limit)
	if errors.Is(err, ErrIteratorExpired) && !fresh {
		page, err = c.read(ctx, limit)
	}
	if err != nil {
		return Page{}, c.failed(err)
	}
	if n := len(page.Records); n > 0 {
		last := page.Records[n-1]
		c.at, c.created = Start{Kind: AfterSequence, Sequence: last.Sequence}, last.Created
	}
	c.it = page.Next
	if page.Next == "" {
		c.at = Start{Kind: ShardEnd}
	}
	return page, nil
}

// read takes an iterator where there is none and reads from it. An iterator
// that expired is dropped.
func (c *Cursor) read(ctx context.Context, limit int) (Page, error) {
	if c.it == "" {
		it, err := c.reader.Iterator(ctx, c.shard, c.at)
		if err != nil {
			return Page{}, fmt.Errorf("starting shard %s at %s: %w", c.shard, c.at.Kind, err)
		}
		if it == "" {
			return Page{}, nil // nothing is left to read, as the contract says
		}
		c.it = it
	}
	page, err := c.reader.Read(ctx, c.it, limit)
	if err != nil {
		if errors.Is(err, ErrIteratorExpired) {
			c.it = ""
		}
		return Page{}, fmt.Errorf("reading shard %s: %w", c.shard, err)
	}
	return page, nil
}

func (c *Cursor) failed(err error) error {
	switch {
	case errors.Is(err, ErrShardGone):
		c.gone = err
	case errors.Is(err, ErrTrimmed):
		lost := &Trimmed{Shard: c.shard, From: c.at, Since: c.created, Err: err}
		if lost.Since.IsZero() {
			lost.Since = c.at.Time
		}
		c.at, c.it = Start{Kind: TrimHorizon}, ""
		return lost
	}
	return err
}
