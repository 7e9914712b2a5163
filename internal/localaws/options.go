package localaws

import "time"

// Options are the settings of an engine. The zero value is ready for use.
type Options struct {
	// Seed decides every choice the engine makes by itself. The same seed and
	// the same calls in the same order give the same choices.
	Seed uint64
	// Now is the engine's clock; default time.Now, which inside a
	// testing/synctest bubble is the bubble's.
	Now func() time.Time
	// Region names the Region in ARNs and records; default eu-central-1.
	Region string
	// AccountID is the account in ARNs; default 000000000000.
	AccountID string

	// Shards is how many shards a new stream has, at least 1; default 4.
	Shards int
	// Readers is how many applications may read one shard within a rolling
	// second before others are throttled; default 2, negative for no limit.
	Readers int
	// Permute is how many places a record may be away from the order in which
	// its shard's items were written. One item's records stay in order.
	// Default 0: none. Records that wait for a number get it as soon as
	// somebody reads the shard, so no record is ever held back for good.
	Permute int
	// EmptyPages is how many empty pages at most come before data after a quiet
	// stretch of a shard; the seed decides. Default 2, negative for none.
	EmptyPages int
	// RollAfter is how long a shard stays open before it rolls over by itself;
	// default 4 h, what is seen of the service; negative for never.
	RollAfter time.Duration
	// RollRecords rolls a shard over after so many records; default 0: never.
	RollRecords int
	// ChildSequences says how a child's sequence numbers start; default
	// SequencesHigher.
	ChildSequences Sequences
	// ListingLag is for how long a listing goes on showing a closed shard as
	// open, though its children are listed already; default 0.
	ListingLag time.Duration
	// ChildFilterLag is for how long the CHILD_SHARDS filter answers empty
	// after a shard was closed; default 0.
	ChildFilterLag time.Duration

	// StaleReads is how far behind reads that are not consistent are; default
	// 0. A deleted item is gone at once for all reads.
	StaleReads time.Duration
	// TornTransactions is the time between the moments at which Query, Scan and
	// BatchGetItem begin to see the items of one transaction, last item
	// first; default 0: all at once. GetItem and TransactGetItems always see a
	// transaction whole, as the isolation levels of the service promise.
	TornTransactions time.Duration

	// Latency is how long a call takes before its effect; nil for no time. It
	// is called and slept outside every lock.
	Latency func(Call) time.Duration
	// KeepHistory makes History, Reads and Accepted available, at the cost of the
	// memory for every change, page and message.
	KeepHistory bool
}

// Sequences is how the sequence numbers of a child shard stand to those of its
// parent. AWS documents an order within a shard only.
type Sequences int

// The ways a child's numbers can start.
const (
	SequencesHigher Sequences = iota // above the parent's last number, with as many digits
	SequencesLower                   // below the parent's first number
	SequencesLonger                  // above the parent's last number, with one digit more
)

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Region == "" {
		o.Region = "eu-central-1"
	}
	if o.AccountID == "" {
		o.AccountID = "000000000000"
	}
	if o.Shards < 1 {
		o.Shards = 4
	}
	if o.Readers == 0 {
		o.Readers = 2
	}
	if o.EmptyPages == 0 {
		o.EmptyPages = 2
	}
	if o.RollAfter == 0 {
		o.RollAfter = 4 * time.Hour
	}
	return o
}
