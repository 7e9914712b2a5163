package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/failure"
	"millrace/sinks"
	"millrace/source"
)

// Stream is the change stream that a worker reads.
type Stream interface {
	source.Discoverer
	source.Reader
}

// EventStore gives back what the stream is late with. Reads are strongly
// consistent.
type EventStore interface {
	// Range hands on what stands of the versions from..to, in order, by pages.
	Range(ctx context.Context, aggregate string, from, to uint64, page func([]event.Event) error) error
	// Confirm reads up to 100 versions in one transaction and returns those
	// that stand.
	Confirm(ctx context.Context, aggregate string, versions []uint64) ([]event.Event, error)
}

// Control keeps what the group remembers.
type Control interface {
	checkpoint.LeaseStore
	checkpoint.Lister
	checkpoint.PinStore
}

// Sink is one sink of a pipeline.
type Sink struct {
	Name    string
	Version int // at least 1; a rebuild raises it
	Sink    sinks.Sink
	// Parallel is how many runs are applied at a time. Default 64.
	Parallel int
	// RunEvents is the most events of a run. Default 10,000.
	RunEvents int
	// Call bounds one call of the sink. One that takes longer is given up and
	// repeated: a connection that hangs must not hold its aggregate for ever.
	// Default 10 s.
	Call time.Duration
	// FromStart has an aggregate whose position the sink does not know begin with
	// its lowest version that is younger than the group, by its event time and
	// with five minutes to spare, and not with version 1. The sink must be a
	// sinks.Beginner, and the layout must have an event time.
	FromStart bool
}

// limits are the budget of one event.
func (o Options) limits() failure.Limits {
	return failure.Limits{Attempts: o.Attempts, RetryFor: o.RetryFor, MaxAge: o.MaxAge}
}

func (s Sink) id() string { return fmt.Sprintf("%s@%d", s.Name, s.Version) }

// Options of a Worker. Zero fields mean their defaults.
type Options struct {
	Group   string // consumer group; required
	Worker  string // unique among the group's workers, earlier runs included; required
	Stream  Stream // required
	Control Control
	Store   EventStore
	Layout  *event.Layout
	Sinks   []Sink // at least one

	// Markers keeps blocked aggregates. Without it an aggregate whose event
	// cannot be applied is held here, and holds its shard's checkpoint, until
	// the cause is gone; and one that kills its worker kills every next one.
	Markers Markers
	// Table is the event table's name, part of a marker's key. Required with
	// Markers.
	Table string
	// Attempts, RetryFor and MaxAge are the budget of an event whose failure may
	// pass. Only attempts count between which the sink took somebody else's run,
	// and the time between those, so that an outage uses nothing up. An aggregate
	// is blocked when its event has failed Attempts times for an unknown reason;
	// or, for a reason that may pass, Attempts times and for RetryFor, or for
	// MaxAge. Defaults 5, 30 s and 15 min.
	Attempts int
	RetryFor time.Duration
	MaxAge   time.Duration

	// Sweep is how often markers are looked through for blocks that end by
	// themselves: those that the position has passed, and those of versions that
	// were missing and are there now. Default 5 minutes.
	Sweep time.Duration

	// UnroutableLimit records that name no aggregate or version within
	// UnroutableWindow pause the worker: it is the layout that is wrong then.
	// Fewer are put on record one by one, in the table of markers; without one
	// each holds its shard's checkpoint. Defaults 20 and 60 s.
	UnroutableLimit  int
	UnroutableWindow time.Duration

	// Start is where a group begins that has never read this stream: at the
	// trim horizon or at latest. Default trim horizon.
	Start source.StartKind

	// BufferBytes bounds the payloads that one sink holds. Default 64 MiB, at
	// least twice PageRoom.
	BufferBytes int
	// BufferEntries bounds the unsettled records of one sink. Default
	// 2,000,000, at least twice a page's 1000.
	BufferEntries int
	// Span bounds the records between a shard's checkpoint and its newest
	// record read. Default 1,000,000.
	Span int

	// Lease is how long a lease stands without a renewal. Default 10 s.
	Lease time.Duration
	// Renew is how often a lease is renewed and its checkpoint written. Default
	// three tenths of Lease.
	Renew time.Duration
	// Call bounds one call to the stream or the control table; a lease is
	// trusted for 0.7 of its duration less this. Default 0.15 of Lease.
	Call time.Duration
	// Scan is how often lease rows are read; half of it while a lease is free.
	// Default 2 s.
	Scan time.Duration
	// Discover is how often the stream's shards are listed. Default 60 s.
	Discover time.Duration

	// ReadsPerSecond bounds the reads of one shard. Default 5, which caps a
	// shard at 5,000 records a second; negative means no limit.
	ReadsPerSecond float64
	// PollData and PollIdle are the pauses after a page with records that was
	// not full, and the longest after empty ones. Defaults 250 ms and 1 s.
	PollData, PollIdle time.Duration

	// GapWait is how long missing versions may still arrive by themselves.
	// Default 500 ms.
	GapWait time.Duration
	// GapConfirm is how long after a version was found missing in the event
	// store it is asked for again, in a transaction. Default 5 s.
	GapConfirm time.Duration

	// Succeeded reports whether the table has another stream by now. It is asked
	// while this one is disabled and read to its end; Run then returns
	// ErrStreamEnded. Default: never.
	Succeeded func(ctx context.Context) (bool, error)

	// Drain is the time from the stop until the worker returns. Default 25 s.
	Drain time.Duration

	// Jitter draws every wait, with the worker's name in each. The zero value will
	// do.
	Jitter event.Jitter
	Log    zerolog.Logger // the zero value logs nothing
}

// PageRoom is the room for one page that is taken before it is fetched: 1 MB
// on the wire is about this much decoded.
const PageRoom = 4 << 20

// withDefaults checks the options and fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	require := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	require(o.Group != "", "a consumer group is required")
	require(o.Worker != "", "a worker id is required")
	require(o.Stream != nil && o.Control != nil && o.Store != nil && o.Layout != nil, "stream, control, store and layout are required")
	require(len(o.Sinks) > 0, "at least one sink is required")
	require(o.Markers == nil || o.Table != "", "markers need the event table's name")
	o.Attempts = orDefault(o.Attempts, 5)
	o.RetryFor = orDefault(o.RetryFor, 30*time.Second)
	o.MaxAge = orDefault(o.MaxAge, 15*time.Minute)
	require(o.Attempts > 0 && o.RetryFor > 0 && o.MaxAge >= o.RetryFor,
		fmt.Sprintf("a budget of %d attempts, %v and at most %v is none", o.Attempts, o.RetryFor, o.MaxAge))
	o.UnroutableLimit = orDefault(o.UnroutableLimit, 20)
	o.UnroutableWindow = orDefault(o.UnroutableWindow, time.Minute)
	require(o.UnroutableLimit > 0 && o.UnroutableWindow > 0,
		fmt.Sprintf("a pause at %d unroutable records in %v is none", o.UnroutableLimit, o.UnroutableWindow))
	names := map[string]bool{}
	sinkList := make([]Sink, len(o.Sinks))
	for i, s := range o.Sinks {
		require(s.Name != "" && s.Sink != nil && s.Version >= 1, fmt.Sprintf("sink %d needs a name, a version of at least 1 and a target", i+1))
		require(s.Name != failure.EverySink, fmt.Sprintf("%q stands for every sink; no sink can be called so", s.Name))
		require(!names[s.Name], fmt.Sprintf("two sinks are named %q", s.Name))
		names[s.Name] = true
		if _, able := s.Sink.(sinks.Beginner); s.FromStart {
			require(able, fmt.Sprintf("sink %q cannot begin in the middle of an aggregate", s.Name))
			require(o.Layout == nil || o.Layout.Time != "", fmt.Sprintf("sink %q begins where the group does, and the layout has no event time to tell", s.Name))
		}
		s.Parallel = orDefault(s.Parallel, 64)
		s.RunEvents = orDefault(s.RunEvents, 10_000)
		s.Call = orDefault(s.Call, 10*time.Second)
		sinkList[i] = s
	}
	o.Sinks = sinkList
	switch o.Start {
	case 0:
		o.Start = source.TrimHorizon
	case source.TrimHorizon, source.Latest:
	default:
		require(false, fmt.Sprintf("a group starts at trim-horizon or latest, not at %v", o.Start))
	}
	o.BufferBytes = max(orDefault(o.BufferBytes, 64<<20), 2*PageRoom)
	o.BufferEntries = max(orDefault(o.BufferEntries, 2_000_000), 2*source.MaxPageRecords)
	o.Span = max(orDefault(o.Span, 1_000_000), source.MaxPageRecords)
	o.Lease = orDefault(o.Lease, 10*time.Second)
	o.Renew = orDefault(o.Renew, o.Lease*3/10)
	o.Call = orDefault(o.Call, o.Lease*15/100)
	require(checkpoint.TrustWindow(o.Lease, o.Call) >= o.Call+o.Renew,
		fmt.Sprintf("a lease of %v cannot be renewed every %v with calls of up to %v: its trust would end in between", o.Lease, o.Renew, o.Call))
	o.Scan = orDefault(o.Scan, 2*time.Second)
	o.Discover = orDefault(o.Discover, time.Minute)
	o.ReadsPerSecond = orDefault(o.ReadsPerSecond, 5)
	o.PollData = orDefault(o.PollData, 250*time.Millisecond)
	o.PollIdle = max(orDefault(o.PollIdle, time.Second), o.PollData)
	o.Sweep = orDefault(o.Sweep, 5*time.Minute)
	o.GapWait = orDefault(o.GapWait, 500*time.Millisecond)
	o.GapConfirm = orDefault(o.GapConfirm, 5*time.Second)
	o.Drain = orDefault(o.Drain, 25*time.Second)
	return o, errors.Join(errs...)
}

func orDefault[T comparable](v, standard T) T {
	var zero T
	if v == zero {
		return standard
	}
	return v
}
