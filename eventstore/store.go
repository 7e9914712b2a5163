package eventstore

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/jitter"
)

// Newest is the upper end of a range that has none.
const Newest = math.MaxUint64

// Options says which table to use and how.
type Options struct {
	// Client talks to DynamoDB. Its own retries should be off: the store
	// retries itself. Required.
	Client *dynamodb.Client
	// Table is the event table's name. Required.
	Table string
	// Layout says how events lie in the table. Required.
	Layout *event.Layout
	// KeyType is the partition key's type: S, N or B. Default S.
	KeyType string
	// Command is the attribute that carries the id of the command an event
	// came from. Default commandId.
	Command string
	// Jitter draws waits and command ids; stores that write one table must not
	// share a seed, or two writers could take one event for their own. The
	// zero value means a seed of its own.
	Jitter event.Jitter
	// Budget bounds the repetitions of a call.
	Budget Budget
}

// Store is an event table. It is safe for concurrent use.
type Store struct {
	client  *dynamodb.Client
	table   string
	layout  *event.Layout
	keyType string
	command string
	jitter  event.Jitter
	budget  Budget
	appends atomic.Int64 // numbers the appends, so that each draws an id of its own
}

// New checks the options and fills in their defaults. It makes no call.
func New(o Options) (*Store, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("an event store needs a client")
	case o.Table == "":
		return nil, errors.New("an event store needs a table")
	case o.Layout == nil:
		return nil, errors.New("an event store needs a layout")
	}
	if o.KeyType == "" {
		o.KeyType = "S"
	}
	if o.KeyType != "S" && o.KeyType != "N" && o.KeyType != "B" {
		return nil, fmt.Errorf("a partition key has type S, N or B, not %q", o.KeyType)
	}
	if o.Command == "" {
		o.Command = "commandId"
	}
	if o.Jitter == (event.Jitter{}) {
		o.Jitter = jitter.New()
	}
	budget, err := o.Budget.filled()
	if err != nil {
		return nil, err
	}
	return &Store{
		client: o.Client, table: o.Table, layout: o.Layout, keyType: o.KeyType,
		command: o.Command, jitter: o.Jitter, budget: budget,
	}, nil
}

// Layout is how events lie in the table.
func (s *Store) Layout() *event.Layout { return s.layout }

// Table is the event table's name.
func (s *Store) Table() string { return s.table }

// key is the primary key of one version.
func (s *Store) key(partition event.Value, version uint64) event.Item {
	return event.Item{s.layout.Aggregate: partition, s.layout.Version: s.layout.VersionKey(version)}
}

// partition is an aggregate's partition key.
func (s *Store) partition(aggregate string) (event.Value, error) {
	if aggregate == "" {
		return nil, invalid("naming the aggregate", errors.New("its id is empty"))
	}
	key, err := event.PartitionKey(aggregate, s.keyType)
	if err != nil {
		return nil, invalid("naming the aggregate", err)
	}
	return key, nil
}

// invalid is an error of the caller's making, which no repetition cures.
func invalid(op string, err error) error {
	return &event.Error{Class: event.Permanent, Op: op, Err: err}
}

func (s *Store) classify(op string, err error) error {
	return awsclient.ClassifyAt(op, "event table", s.table, err)
}
