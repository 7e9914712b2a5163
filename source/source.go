package source

import (
	"context"
	"errors"
	"time"

	"millrace/event"
)

// The errors an adapter returns; each wraps the cause. Everything else is an
// error of the call (event.ClassOf tells whether it may be tried again).
var (
	// ErrIteratorExpired: the iterator is too old (15 minutes on DynamoDB
	// Streams); ask for a new one after the last record read.
	ErrIteratorExpired = errors.New("iterator expired")
	// ErrTrimmed: the position lies before the oldest record kept; records
	// were lost unless they had been read.
	ErrTrimmed = errors.New("position trimmed")
	// ErrShardGone: the stream exists and does not have that shard.
	ErrShardGone = errors.New("shard gone")
	// ErrStreamGone: the stream itself does not exist.
	ErrStreamGone = errors.New("stream gone")
	// ErrThrottled: too many calls; slow down and try again.
	ErrThrottled = errors.New("throttled")
)

// ShardID names a shard within its stream.
type ShardID string

// Shard is one shard as a listing shows it.
type Shard struct {
	ID      ShardID
	Parents []ShardID // none, one, or two (a Kinesis merge)
	Closed  bool      // it takes no more records
}

// StreamStatus is a stream's state.
type StreamStatus uint8

// The states of a stream.
const (
	Enabling StreamStatus = iota + 1
	Enabled
	Disabling
	Disabled
)

// StreamInfo describes the stream a Discoverer is bound to.
type StreamInfo struct {
	ARN    string
	Label  string // a stream that was disabled and enabled again has a new one
	Table  string
	Status StreamStatus
	// View says what records show, in DynamoDB's words: NEW_IMAGE,
	// NEW_AND_OLD_IMAGES, OLD_IMAGE or KEYS_ONLY. Empty when the answer did not
	// say.
	View string
	// Now is the service's own clock at its answer, for pins in time: zero when
	// the answer carried none.
	Now time.Time
}

// Discoverer lists the shards of one stream. It is safe for concurrent use.
type Discoverer interface {
	Describe(ctx context.Context) (StreamInfo, error)
	// Shards returns the page after a shard; the empty id asks for the first
	// page, and an empty next means that the page was the last.
	Shards(ctx context.Context, after ShardID) (page []Shard, next ShardID, err error)
	// Children lists a closed shard's children; it may be empty for a while
	// after the shard was closed.
	Children(ctx context.Context, parent ShardID) ([]Shard, error)
}

// StartKind says where in a shard to start.
type StartKind uint8

// The kinds of start.
const (
	TrimHorizon   StartKind = iota + 1 // the oldest record kept
	Latest                             // after the newest record
	AtTime                             // the first record created at or after Time
	AtSequence                         // the record of Sequence, included
	AfterSequence                      // the record after Sequence
	ShardEnd                           // nothing is left to read
)

var startKinds = [...]string{TrimHorizon: "trim-horizon", Latest: "latest", AtTime: "at-time", AtSequence: "at-sequence", AfterSequence: "after-sequence", ShardEnd: "shard-end"}

// String returns the kind's name as it stands in lease rows and messages.
func (k StartKind) String() string {
	if int(k) < len(startKinds) && startKinds[k] != "" {
		return startKinds[k]
	}
	return "unknown"
}

// ParseStartKind reads what String wrote.
func ParseStartKind(s string) (StartKind, bool) {
	for kind, name := range startKinds {
		if name != "" && name == s {
			return StartKind(kind), true
		}
	}
	return 0, false
}

// Start is a place in a shard. It is what a checkpoint is.
type Start struct {
	Kind     StartKind
	Sequence event.SequenceNumber // AtSequence and AfterSequence
	Time     time.Time            // AtTime, to the millisecond
}

// Before reports whether s certainly lies before other in one shard, so that
// a checkpoint that moved from other to s would go back. Only positions by
// sequence and the shard's end compare; starts by time or horizon lie before
// those and do not compare with each other.
func (s Start) Before(other Start) bool {
	rank := func(k StartKind) int {
		switch k {
		case AtSequence, AfterSequence:
			return 1
		case ShardEnd:
			return 2
		default:
			return 0
		}
	}
	a, b := rank(s.Kind), rank(other.Kind)
	if a != b {
		return a < b
	}
	if a != 1 {
		return false
	}
	if c := s.Sequence.Compare(other.Sequence); c != 0 {
		return c < 0
	}
	return s.Kind == AtSequence && other.Kind == AfterSequence
}

// Iterator is a place in a shard that can be read from; it expires. The empty
// iterator means that the shard is read to its end.
type Iterator string

// Page is one answer of a read.
type Page struct {
	Records []event.Record // handed on before Next is looked at
	Next    Iterator       // empty: the shard is read to its end
	Bytes   int            // what the page keeps alive in memory, about
}

// MaxPageRecords and MaxPageBytes bound a page (DynamoDB Streams API
// Reference, GetRecords): 1000 records or 1 MB, whichever comes first. The
// bytes are the service's; decoded pages take more.
const (
	MaxPageRecords = 1000
	MaxPageBytes   = 1 << 20
)

// Reader reads shards. It is safe for concurrent use.
type Reader interface {
	Iterator(ctx context.Context, shard ShardID, from Start) (Iterator, error)
	Read(ctx context.Context, it Iterator, limit int) (Page, error)
}
