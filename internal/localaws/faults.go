package localaws

import (
	"sync"
	"time"
)

// Action is what a fault does to a call.
type Action int

// The actions. "The caller" is the application whose call was matched.
const (
	// Throttle refuses the call without effect, with the error the service
	// has for it: ProvisionedThroughputExceededException for items,
	// TransactionCanceledException with ThrottlingError reasons for
	// transactions, LimitExceededException for GetRecords, ThrottlingException
	// RequestThrottled for SQS, ThrottlingException for the rest.
	Throttle Action = iota + 1
	// FailBefore answers InternalServerError (500) without effect.
	FailBefore
	// FailAfter answers InternalServerError (500) after the effect.
	FailAfter
	// LoseAnswer lets the call take effect and breaks the caller's connection.
	LoseAnswer
	// TimeOut has no effect and no answer: the caller waits until its context
	// ends, or the engine is closed.
	TimeOut
	// LandLate breaks the caller's connection at once, or with Hold when its
	// context ends; the call takes effect after Delay, whatever the caller
	// does meanwhile.
	LandLate
	// Slow delays the effect by Delay; the answer is the ordinary one.
	Slow
	// Conflict refuses a write because of another transaction on its item:
	// TransactionConflictException, or a cancelled transaction with the
	// reasons TransactionConflict.
	Conflict
	// Partial lets a batch leave a part of its items unprocessed, and a
	// ReceiveMessage find none, as it does when the servers it asks have none;
	// other calls are not touched.
	Partial
	// LoseDelete answers a DeleteMessage or DeleteMessageBatch with success
	// and lets the messages stay, as a server does that missed the delete;
	// other calls are not touched.
	LoseDelete
	// Deny refuses the call without effect, for want of a permission:
	// AccessDeniedException.
	Deny
)

// Fault is a rule about calls that go wrong. Of several rules that apply to a
// call the oldest acts.
type Fault struct {
	// Match selects calls; nil matches all. It is called outside every lock
	// and must be safe for concurrent use.
	Match func(Call) bool
	Do    Action
	// After is how many matching calls are let through first.
	After int
	// Times is how many calls the fault acts on; 0 for no limit.
	Times int
	// Share is the part of the matching calls it acts on, between 0 and 1,
	// chosen by the seed and the call; 0 for all.
	Share float64
	// Delay is the time of LandLate and Slow.
	Delay time.Duration
	// Hold lets the caller of a LandLate call wait until its context ends or
	// the call lands.
	Hold bool
}

// faults are the rules in force.
type faults struct {
	mu    sync.Mutex
	rules []*rule
	made  uint64
}

type rule struct {
	Fault
	id      uint64
	matched int
	acted   int
}

// Inject puts a fault in force until remove is called.
func (e *Engine) Inject(f Fault) (remove func()) {
	e.faults.mu.Lock()
	defer e.faults.mu.Unlock()
	e.faults.made++
	r := &rule{Fault: f, id: e.faults.made}
	e.faults.rules = append(e.faults.rules, r)
	return func() { e.faults.remove(r) }
}

func (f *faults) remove(gone *rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := make([]*rule, 0, len(f.rules))
	for _, r := range f.rules {
		if r != gone {
			kept = append(kept, r)
		}
	}
	f.rules = kept
}

func (f *faults) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rules) > 0
}

// choose returns the fault that acts on a call, or a zero one.
func (f *faults) choose(seed uint64, c Call) Fault {
	f.mu.Lock()
	rules := f.rules // replaced as a whole, never changed
	rules = rules[:len(rules):len(rules)]
	f.mu.Unlock()
	for _, r := range rules {
		if r.Match != nil && !r.Match(c) {
			continue
		}
		if f.acts(r, seed, c) {
			return r.Fault
		}
	}
	return Fault{}
}

func (f *faults) acts(r *rule, seed uint64, c Call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.matched++
	if r.matched <= r.After || r.Times > 0 && r.acted >= r.Times {
		return false
	}
	if r.Share > 0 && lot(seed^mix(r.id), c) >= r.Share {
		return false
	}
	r.acted++
	return true
}

// lot is a number in [0,1) that belongs to a call: the same call in another
// run of the same seed draws the same, whatever else happens at the same time.
func lot(seed uint64, c Call) float64 {
	h := mix(draw(seed, c.App, c.Operation, c.N) ^ mix(pointOf(c.Table, "").hash) ^ pointOf(c.Key, "").hash)
	return float64(h>>11) / (1 << 53)
}

// draw is a number that belongs to the n-th call of an application and
// operation.
func draw(seed uint64, app, operation string, n int) uint64 {
	return mix(mix(mix(seed^mix(uint64(n)))^pointOf(app, "").hash) ^ pointOf(operation, "").hash) //nolint:gosec // a count
}
