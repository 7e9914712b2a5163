package readmodel

import (
	"container/list"
	"sync"

	"millrace/event"
)

// held is what the target is known to hold of one aggregate. It is immutable.
type held struct {
	position uint64
	own      event.Item // the fold's attributes; nil when nothing was folded
}

// cache remembers the most recently used aggregates. It is safe for concurrent
// use. What it says is only ever a guess: the condition of the write decides.
type cache struct {
	limit int

	mu      sync.Mutex
	entries map[string]*list.Element
	recent  *list.List // of *entry, the most recent first
}

type entry struct {
	aggregate string
	held      held
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: map[string]*list.Element{}, recent: list.New()}
}

// get returns what stands at a position; false when it remembers nothing or
// another position.
func (c *cache) get(aggregate string, position uint64) (held, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entries[aggregate]
	if element == nil {
		return held{}, false
	}
	found := element.Value.(*entry).held
	if found.position != position {
		return held{}, false
	}
	c.recent.MoveToFront(element)
	return found, true
}

func (c *cache) put(aggregate string, h held) {
	if c.limit <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.entries[aggregate]; element != nil {
		element.Value.(*entry).held = h
		c.recent.MoveToFront(element)
		return
	}
	c.entries[aggregate] = c.recent.PushFront(&entry{aggregate: aggregate, held: h})
	if c.recent.Len() > c.limit {
		oldest := c.recent.Remove(c.recent.Back()).(*entry)
		delete(c.entries, oldest.aggregate)
	}
}

func (c *cache) forget(aggregate string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.entries[aggregate]; element != nil {
		c.recent.Remove(element)
		delete(c.entries, aggregate)
	}
}
