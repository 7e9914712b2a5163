package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"millrace/event"
	"millrace/source"
)

var (
	// ErrFenced says that the row was read again after a refused condition, and
	// that somebody else holds the lease, or that it is not as it was seen.
	ErrFenced error = &event.Error{Class: event.Fenced, Op: "fenced", Err: errors.New("the lease row is not as it was seen")}
	// ErrBackwards says that the lease is held, and the write would move its
	// checkpoint back or reopen a finished shard. It is a mistake of the caller.
	ErrBackwards error = &event.Error{Class: event.Permanent, Op: "refused", Err: errors.New("the lease row would go back")}
)

// LeaseKey names a lease: one shard of one stream, read by one group.
type LeaseKey struct {
	Group string // consumer group
	Table string
	Label string // of the stream
	Shard source.ShardID
}

// String shows a key in messages.
func (k LeaseKey) String() string {
	return fmt.Sprintf("%s/%s/%s/%s", k.Group, k.Table, k.Label, k.Shard)
}

// State is what a lease row says of its shard.
type State uint8

// The states of a shard in its lease row.
const (
	WaitingForParent State = iota + 1 // a parent is not finished yet
	Active                            // it can be read
	Draining                          // its owner stops reading it
	Finished                          // read to its end and settled
)

var states = [...]string{WaitingForParent: "waiting-for-parent", Active: "active", Draining: "draining", Finished: "finished"}

// String returns the state's name as it stands in rows and tables.
func (s State) String() string {
	if int(s) < len(states) && states[s] != "" {
		return states[s]
	}
	return "unknown"
}

// ParseState reads what String wrote.
func ParseState(text string) (State, bool) {
	for s, name := range states {
		if name != "" && name == text {
			return State(s), true
		}
	}
	return 0, false
}

// Lease is one row: who reads a shard, and how far the group has come.
type Lease struct {
	Key     LeaseKey
	Parents []source.ShardID
	State   State

	Owner string // worker id; empty when nobody holds it
	// Token is drawn anew at each grant and random, so that a row that was
	// deleted and made again, or a restored table, cannot repeat one.
	Token string
	// Heartbeat is drawn anew at each renewal. Others judge expiry by watching
	// it stand still on their own clock; no two clocks are ever compared.
	Heartbeat string

	// Checkpoint is where reading goes on: every record before it is settled
	// for every sink in Sinks. At first it is the pinned start.
	Checkpoint source.Start
	// Sinks lists those for which Checkpoint speaks, as name@version, sorted. A
	// sink that joins later is Unverified: what was settled before it came
	// never reached it.
	Sinks      []string
	Unverified []string

	Children []source.ShardID // written before the row is Finished
	Asked    string           // the worker that asks for a hand-over

	// Barren tells of holders that vanished. Grant counts; who holds the lease
	// writes its attempts, and the zero value when there is progress or it ends.
	Barren Barren
}

// Free reports whether a worker may take the lease at once.
func (l Lease) Free() bool { return l.Owner == "" && l.State == Active }

// Same reports whether two rows say the same of the holder and of how far the
// group has come. Parents and a hand-over request are not the holder's to write
// and do not count.
func (l Lease) Same(other Lease) bool {
	a, b := l.Checkpoint, other.Checkpoint
	return l.Key == other.Key && l.State == other.State &&
		l.Owner == other.Owner && l.Token == other.Token && l.Heartbeat == other.Heartbeat &&
		a.Kind == b.Kind && a.Sequence == b.Sequence && a.Time.UnixMilli() == b.Time.UnixMilli() &&
		slices.Equal(l.Sinks, other.Sinks) && slices.Equal(l.Unverified, other.Unverified) &&
		slices.Equal(l.Children, other.Children) && l.Barren == other.Barren
}

// Clone returns a lease that shares no list with l.
func (l Lease) Clone() Lease {
	l.Parents, l.Children = slices.Clone(l.Parents), slices.Clone(l.Children)
	l.Sinks, l.Unverified = slices.Clone(l.Sinks), slices.Clone(l.Unverified)
	return l
}

// LeaseStore keeps lease rows. Each method is one conditional write or one
// read. A refused condition is read again first: when the row shows our own
// earlier write, whose answer was lost, that is success; otherwise the error
// is ErrFenced. Implementations are safe for concurrent use.
type LeaseStore interface {
	// List returns all rows of a group on a stream, of every label, by a
	// consistent read.
	List(ctx context.Context, group, table string) ([]Lease, error)
	// Create writes the rows that are absent, without an owner, and leaves the
	// others alone. It may stop half-way; calling it again finishes it.
	Create(ctx context.Context, absent []Lease) error
	// Grant takes a lease if its token and heartbeat are still as seen, under
	// a new token and heartbeat. The shard is active from then on and a request
	// for it is fulfilled. A finished shard is never granted. A grant of a lease
	// that has an owner is one more barren one, by the same conditional write.
	Grant(ctx context.Context, seen Lease, owner string) (Lease, error)
	// Write renews a lease that is held: new heartbeat, and the checkpoint,
	// state, children, sinks and Barren as given; an empty owner releases it. The
	// condition is owner, token and heartbeat as in held; named attributes are
	// set, never the row; the checkpoint never goes back and a finished shard
	// stays finished, else the error is ErrBackwards. After a lost answer, call
	// it again with the lease as last returned and whatever is to be said now.
	Write(ctx context.Context, held Lease) (Lease, error)
	// Ask requests a hand-over if the lease has an owner and its token and any
	// request are as seen; an empty by withdraws the request.
	Ask(ctx context.Context, seen Lease, by string) error
}

// Foreign is a row among the leases that this build cannot read: of another
// layout, or damaged. It is left alone and shown.
type Foreign struct {
	Row    string // its key, as text
	Reason string
}

// Listing is all that stands where a group's leases on a table are kept.
type Listing struct {
	Leases  []Lease // by label and shard
	Foreign []Foreign
}

// Lister is what a LeaseStore offers to those who show foreign rows too; List
// leaves them out.
type Lister interface {
	Listing(ctx context.Context, group, table string) (Listing, error)
}

// Pin is where a group started on one stream label. It is written once,
// before any lease row, so that a crash between rows cannot pin anew.
type Pin struct {
	Group string
	Table string
	Label string
	// Start is TrimHorizon, or AtTime for a group that started at latest or at
	// a time: the service's own clock less a margin.
	Start source.Start
	At    time.Time // when it was written, for showing
}

// Check refuses a start that is another place at each reading, or in each
// shard.
func (p Pin) Check() error {
	if p.Start.Kind != source.TrimHorizon && p.Start.Kind != source.AtTime {
		return fmt.Errorf("a pin is %v or %v, not %v", source.TrimHorizon, source.AtTime, p.Start.Kind)
	}
	return nil
}

// PinStore keeps pins.
type PinStore interface {
	// Pin writes the pin if there is none and returns the one that stands. It
	// refuses what Check refuses.
	Pin(ctx context.Context, p Pin) (Pin, error)
}
