package queue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// The service's waiting times (API Reference, DeleteQueue and PurgeQueue).
const (
	untilRecreated = 60 * time.Second
	betweenPurges  = 60 * time.Second
)

// maxName is the length of a queue's name, the suffix of FIFO queues included.
const maxName = 80

const fifoSuffix = ".fifo"

// Account is all queues of one account and Region. Not safe for concurrent
// use.
type Account struct {
	// KeepAccepted has queues remember every message that they accepted, at the
	// cost of the memory.
	KeepAccepted bool

	region, id string
	chance     *rand.Rand
	queues     map[string]*Queue
	deleted    map[string]time.Time // when queues of these names were deleted
}

// NewAccount is an account without queues. The seed decides message ids.
func NewAccount(region, id string, seed uint64) *Account {
	return &Account{
		region: region, id: id, chance: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // reproducible on purpose
		queues: map[string]*Queue{}, deleted: map[string]time.Time{},
	}
}

// Create makes a queue, or finds the one of this name whose attributes have
// the values that are given.
func (a *Account) Create(now time.Time, name string, attributes map[string]string) (*Queue, error) {
	attributes = maps.Clone(attributes)
	kind, told := attributes["FifoQueue"]
	delete(attributes, "FifoQueue")
	if told && kind != "true" && kind != "false" {
		return nil, refuse(InvalidAttribute, "Invalid value for the parameter FifoQueue.")
	}
	fifo := kind == "true"
	if err := checkName(name, fifo); err != nil {
		return nil, err
	}
	old := a.queues[name]
	base := newSettings(fifo)
	if old != nil {
		base = old.settings
	}
	wanted, err := base.with(attributes)
	if err != nil {
		return nil, err
	}
	if err := a.checkTarget(wanted); err != nil {
		return nil, err
	}
	if old != nil {
		if !maps.Equal(wanted.texts(), old.settings.texts()) {
			return nil, refuse(NameExists, "A queue already exists with the same name and a different value for attribute(s)")
		}
		return old, nil
	}
	if at, ok := a.deleted[name]; ok && now.Sub(at) < untilRecreated {
		return nil, refuse(DeletedRecently, "You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	delete(a.deleted, name)
	q := newQueue(a, name, wanted, now)
	a.queues[name] = q
	return q, nil
}

func checkName(name string, fifo bool) error {
	stem, suffixed := strings.CutSuffix(name, fifoSuffix)
	if fifo && !suffixed {
		return refuse(InvalidParameter, "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.")
	}
	if !fifo {
		stem = name
	}
	if len(name) > maxName || !plain(stem) {
		return refuse(InvalidParameter, "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	return nil
}

// plain tells whether a name has at least one letter, digit, hyphen or
// underscore, and nothing else.
func plain(name string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	return name != "" && !strings.ContainsFunc(name, other)
}

// checkTarget checks that the dead-letter queue exists and is of the same type.
func (a *Account) checkTarget(s settings) error {
	if s.dead == "" {
		return nil
	}
	target := a.byARN(s.dead)
	if target == nil {
		return refuse(InvalidParameter, "Value %s for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.", s.policy)
	}
	if target.settings.fifo != s.fifo {
		return refuse(InvalidParameter, "Value %s for parameter RedrivePolicy is invalid. Reason: Dead-letter queue must be same type of queue as the source.", s.policy)
	}
	return nil
}

// Find is the queue of a name.
func (a *Account) Find(name string) (*Queue, error) {
	if q := a.queues[name]; q != nil {
		return q, nil
	}
	return nil, refuse(DoesNotExist, "The specified queue does not exist.")
}

// Owned is Find for a queue whose owner is named; an empty owner is this
// account.
func (a *Account) Owned(name, owner string) (*Queue, error) {
	if owner != "" && owner != a.id {
		name = "" // no other account exists
	}
	return a.Find(name)
}

// Resolve is the queue of a URL. Whatever stands before account and name is
// not looked at: one server has many addresses.
func (a *Account) Resolve(url string) (*Queue, error) {
	if url == "" {
		return nil, refuse(MissingParameter, "The request must contain the parameter QueueUrl.")
	}
	rest, name, ok := cutLast(url)
	_, account, deep := cutLast(rest)
	if !ok || !deep || !strings.Contains(rest, "://") {
		return nil, refuse(InvalidAddress, "The address %s is not valid for this endpoint.", url)
	}
	return a.Owned(name, account)
}

func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, '/')
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// URL is a queue's address under an endpoint such as http://127.0.0.1:4566.
func (a *Account) URL(endpoint string, q *Queue) string {
	return strings.TrimSuffix(endpoint, "/") + "/" + a.id + "/" + q.name
}

func (a *Account) arn(name string) string {
	return fmt.Sprintf("arn:aws:sqs:%s:%s:%s", a.region, a.id, name)
}

func (a *Account) byARN(arn string) *Queue {
	name, ok := strings.CutPrefix(arn, a.arn(""))
	if !ok {
		return nil
	}
	return a.queues[name]
}

// Delete deletes a queue with its messages.
func (a *Account) Delete(now time.Time, q *Queue) {
	delete(a.queues, q.name)
	a.deleted[q.name] = now
	q.wake()
}

// Names lists the names with a prefix after a name, in order, most at most.
func (a *Account) Names(prefix, after string, most int) (names []string, more bool) {
	all := slices.Sorted(maps.Keys(a.queues))
	all = slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, prefix) || name <= after })
	if len(all) > most {
		return all[:most], true
	}
	return all, false
}

// newID is a message id in the form of the service's.
func (a *Account) newID() string {
	high, low := a.chance.Uint64(), a.chance.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", high>>32, high>>16&0xffff, high&0xfff, low>>48&0x3fff|0x8000, low&0xffffffffffff)
}
