package localaws

import (
	"maps"
	"sync"
	"time"
)

// outcomeOK is the outcome of a call that did what it was asked to do. Other
// outcomes are the error's code, or one of the faults' outcomes below.
const (
	outcomeOK   = "ok"
	outcomeLost = "lost" // the caller got no answer and the call had no effect
)

// CallCount names one counter of calls.
type CallCount struct {
	Service, Operation string
	// Outcome is "ok", the error's code, or "lost" for a call without effect
	// and without answer. A call whose answer was taken away by a fault counts
	// by its effect.
	Outcome string
	App     string
}

// Capacity is what calls on one table used, in capacity units.
type Capacity struct{ Read, Write float64 }

// ShardCounters is what happened to one shard.
type ShardCounters struct {
	Calls     int // GetRecords answered with a page
	Empty     int // of these, pages without a record
	Records   int // records answered, repeats included
	Throttled int // GetRecords refused because of too many readers
	// ReadersAtOnce is the most applications that had a GetRecords under way
	// at one moment, and ReadersInASecond the most within a rolling second.
	ReadersAtOnce, ReadersInASecond int
}

// Counters is what an engine did since it was made.
type Counters struct {
	Calls map[CallCount]int
	// BilledGetRecords counts the GetRecords calls that were answered with a
	// page: the only Streams call the service bills.
	BilledGetRecords int
	Capacity         map[string]Capacity // by table
	Shards           map[string]ShardCounters
}

// Total is the number of calls that match; empty fields match all.
func (c Counters) Total(match CallCount) int {
	total := 0
	for k, n := range c.Calls {
		if (match.Service == "" || match.Service == k.Service) && (match.Operation == "" || match.Operation == k.Operation) &&
			(match.Outcome == "" || match.Outcome == k.Outcome) && (match.App == "" || match.App == k.App) {
			total += n
		}
	}
	return total
}

// Counters returns the counts so far.
func (e *Engine) Counters() Counters { return e.tally.counters() }

// usage is what one call used of one or more tables.
type usage map[string]Capacity

func (u *usage) add(table string, read, write float64) {
	if *u == nil {
		*u = usage{}
	}
	c := (*u)[table]
	c.Read += read
	c.Write += write
	(*u)[table] = c
}

// tally counts calls. Its lock is taken while no other is held.
type tally struct {
	mu       sync.Mutex
	requests uint64
	begun    map[CallCount]int // by operation and application
	calls    map[CallCount]int
	capacity map[string]Capacity
	billed   int
	shards   map[string]*shardTally
}

type shardTally struct {
	ShardCounters
	reading map[string]int       // calls under way by application
	last    map[string]time.Time // last page by application, of the last second
}

// begin returns which call of its application and operation this is.
func (t *tally) begin(c Call) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun == nil {
		t.begun, t.calls = map[CallCount]int{}, map[CallCount]int{}
		t.capacity, t.shards = map[string]Capacity{}, map[string]*shardTally{}
	}
	key := CallCount{Service: c.Service, Operation: c.Operation, App: c.App}
	t.begun[key]++
	return t.begun[key]
}

// end counts a call by what became of it.
func (t *tally) end(c Call, outcome string, used usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[CallCount{Service: c.Service, Operation: c.Operation, Outcome: outcome, App: c.App}]++
	for table, u := range used {
		sum := t.capacity[table]
		t.capacity[table] = Capacity{Read: sum.Read + u.Read, Write: sum.Write + u.Write}
	}
}

// request is a number for the next answer's request id.
func (t *tally) request(seed uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	return mix(seed + t.requests)
}

// shard finds or makes the counters of a shard. The caller holds t.mu.
func (t *tally) shard(id string) *shardTally {
	s := t.shards[id]
	if s == nil {
		s = &shardTally{reading: map[string]int{}, last: map[string]time.Time{}}
		t.shards[id] = s
	}
	return s
}

// read counts a reader of a shard in. It returns false when the shard has as
// many others within the last second as the limit allows; a negative limit
// allows any number.
func (t *tally) read(shard, app string, now time.Time, limit int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.shard(shard)
	maps.DeleteFunc(s.last, func(_ string, at time.Time) bool { return now.Sub(at) >= time.Second })
	if _, known := s.last[app]; !known && limit > 0 && len(s.last) >= limit {
		s.Throttled++
		return false
	}
	s.last[app] = now
	s.ReadersInASecond = max(s.ReadersInASecond, len(s.last))
	return true
}

// reading counts a GetRecords under way in, and out again by the function it
// returns.
func (t *tally) reading(shard, app string) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.shard(shard)
	s.reading[app]++
	s.ReadersAtOnce = max(s.ReadersAtOnce, len(s.reading))
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if s.reading[app]--; s.reading[app] == 0 {
			delete(s.reading, app)
		}
	}
}

// page counts an answered GetRecords.
func (t *tally) page(shard string, records int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.billed++
	s := t.shards[shard]
	s.Calls++
	s.Records += records
	if records == 0 {
		s.Empty++
	}
}

func (t *tally) counters() Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := Counters{
		Calls: maps.Clone(t.calls), BilledGetRecords: t.billed, Capacity: maps.Clone(t.capacity),
		Shards: make(map[string]ShardCounters, len(t.shards)),
	}
	for id, s := range t.shards {
		out.Shards[id] = s.ShardCounters
	}
	return out
}
