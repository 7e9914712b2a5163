package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"millrace/event"
	"millrace/failure"
)

// Markers is the control table as a sweep asks it. Reads are consistent.
type Markers interface {
	Get(ctx context.Context, key failure.Key) (failure.Marker, error)
}

// Inbox is the on-failure queue as its letters come back.
type Inbox interface {
	// Receive receives up to most letters and hides them from other receivers
	// for a time. Fewer mean that it found no others.
	Receive(ctx context.Context, most int, hide time.Duration) ([]failure.Received, error)
	// Delete answers each letter: nil once it is deleted.
	Delete(ctx context.Context, handles []string) []error
}

// Sweeper deletes the letters of some sinks that have nothing left to tell: those
// of aggregates that are live again, or were blocked anew. A queue deletes by
// the receipt of a letter alone, so whoever wants to delete must receive. It is
// safe for concurrent use, and several may sweep one queue.
type Sweeper struct {
	Markers Markers
	Inbox   Inbox
	// Scopes are the sinks whose letters it judges; all others are left alone.
	Scopes []failure.Scope
	// Unroutables has it judge the letters of unroutable records of their tables
	// as well. Nil: they are left alone.
	Unroutables Unroutables
	// Most is how many letters a pass receives at most, in tens. Default 5000.
	Most int
	// Hide is how long a letter that stays is hidden from others, from the
	// moment it was received. A pass ends in two thirds of it, so that it sees
	// none twice. Default 30 s.
	Hide time.Duration
}

// Swept counts what a pass saw.
type Swept struct {
	Received int
	Deleted  int
	Kept     int  // of blocks that stand
	Foreign  int  // not ours, or no letters at all
	Left     int  // that could not be judged or deleted; the next pass will
	More     bool // a bound ended the pass, not an empty queue
}

// Sweep makes one pass over the queue. The counts hold beside an error, which is
// the first of a call that failed.
func (s Sweeper) Sweep(ctx context.Context) (Swept, error) {
	if s.Most <= 0 {
		s.Most = 5000
	}
	if s.Hide <= 0 {
		s.Hide = 30 * time.Second
	}
	p := pass{Sweeper: s}
	for began := time.Now(); ; {
		received, err := s.Inbox.Receive(ctx, round, s.Hide)
		if err != nil {
			p.fail(fmt.Errorf("receiving letters: %w", err))
		}
		p.judge(ctx, received)
		switch {
		case p.stop || err != nil || len(received) < round:
			return p.swept, p.err
		case p.swept.Received+round > s.Most, time.Since(began) > s.Hide*2/3:
			p.swept.More = true
			return p.swept, p.err
		}
	}
}

// pass is one pass under way.
type pass struct {
	Sweeper
	swept Swept
	err   error
	stop  bool // the control table or the queue does not answer
}

func (p *pass) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	// What one row or one letter has at fault must not keep a pass from the
	// others; after what concerns all, the next call would fare no better.
	switch event.ClassOf(err) {
	case event.Transient, event.Stopping, event.Unavailable:
		p.stop = true
	default:
	}
}

// judge deletes what may go of some letters.
func (p *pass) judge(ctx context.Context, received []failure.Received) {
	p.swept.Received += len(received)
	var handles []string
	for i, r := range received {
		if p.stop {
			p.swept.Left += len(received) - i
			break
		}
		switch verdict, err := p.verdict(ctx, r.Body); {
		case err != nil:
			p.swept.Left++
			p.fail(fmt.Errorf("reading the marker of a letter: %w", err))
		case verdict == over:
			handles = append(handles, r.Handle)
		case verdict == stands:
			p.swept.Kept++
		default:
			p.swept.Foreign++
		}
	}
	if len(handles) == 0 {
		return
	}
	for _, err := range p.Inbox.Delete(ctx, handles) {
		if err != nil {
			p.swept.Left++
			p.fail(fmt.Errorf("deleting letters: %w", err))
			continue
		}
		p.swept.Deleted++
	}
}

// verdict is what is to become of a letter.
type verdict uint8

const (
	foreign verdict = iota // left alone
	stands                 // its block stands
	over                   // nothing is left to tell
)

// address is the part of a letter that says which block it tells of.
type address struct {
	Schema      string `json:"schema"`
	LetterID    string `json:"letterId"`
	Group       string `json:"group"`
	Table       string `json:"table"`
	Sink        string `json:"sink"`
	SinkVersion int    `json:"sinkVersion"`
	Aggregate   string `json:"aggregate"` // absent from letters of unroutable records, as is the version
	Version     uint64 `json:"version,string"`
	BlockID     string `json:"blockId"`
}

func (s Sweeper) verdict(ctx context.Context, body []byte) (verdict, error) {
	var a address
	err := json.Unmarshal(body, &a)
	if err != nil || a.Schema != failure.LetterSchema {
		return foreign, nil //nolint:nilerr // that it is no letter is the answer
	}
	if a.Sink == failure.EverySink && s.Unroutables != nil && s.reads(a) {
		return s.ofUnroutable(ctx, a)
	}
	scope := failure.Scope{Group: a.Group, Table: a.Table, Sink: a.Sink, SinkVersion: a.SinkVersion}
	if !slices.Contains(s.Scopes, scope) {
		return foreign, nil
	}
	key := scope.Key(a.Aggregate)
	if a.LetterID != failure.LetterID(key, a.Version, a.BlockID) {
		// Its address was changed on the way: under another one there is no
		// marker, and the letter of a block that stands would go.
		return foreign, nil
	}
	marker, err := s.Markers.Get(ctx, key)
	switch {
	case err != nil:
		return foreign, err
	case failure.MayDelete(marker, a.BlockID):
		return over, nil
	}
	return stands, nil
}

// reads reports whether an address is of a group and a table of the scopes.
func (s Sweeper) reads(a address) bool {
	return slices.ContainsFunc(s.Scopes, func(scope failure.Scope) bool { return scope.Group == a.Group && scope.Table == a.Table })
}

// ofUnroutable judges the letter of a record that names no aggregate: it stands
// as long as the record's row.
func (s Sweeper) ofUnroutable(ctx context.Context, a address) (verdict, error) {
	key := failure.UnroutableKey(a.Group, a.Table, a.BlockID)
	if a.LetterID != failure.LetterID(key, 0, a.BlockID) {
		return foreign, nil
	}
	u, err := s.Unroutables.Unroutable(ctx, a.Group, a.Table, a.BlockID)
	switch {
	case err != nil:
		return foreign, err
	case u == nil:
		return over, nil
	}
	return stands, nil
}
