package watermill

import "sync"

// progress is how far this worker has brought one aggregate.
type progress struct {
	row  uint64 // the position in the control table, as written or read last
	sent uint64 // the last version that the publisher accepted; at least row
}

// recorded reports whether the row is this worker's own last write.
func (p progress) recorded() bool { return p.row == p.sent }

// memory holds the progress of the aggregates used last, in two generations:
// when the young one is full it becomes the old one, whose rest is forgotten.
// Forgetting costs a read, or a repeat. It is safe for concurrent use.
type memory struct {
	half int

	mu         sync.Mutex
	young, old map[string]progress
}

func newMemory(limit int) *memory {
	return &memory{half: (limit + 1) / 2, young: map[string]progress{}}
}

func (m *memory) get(aggregate string) (progress, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(aggregate)
}

func (m *memory) find(aggregate string) (progress, bool) {
	if p, ok := m.young[aggregate]; ok {
		return p, true
	}
	p, ok := m.old[aggregate]
	return p, ok
}

func (m *memory) put(aggregate string, p progress) {
	if m.half <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.young[aggregate]; !ok && len(m.young) >= m.half {
		m.old, m.young = m.young, make(map[string]progress, m.half)
	}
	m.young[aggregate] = p
}

// forget drops what is remembered.
func (m *memory) forget(aggregate string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.young, aggregate)
	delete(m.old, aggregate)
}

// doubt drops what only saves a read, and keeps what saves a repeat.
func (m *memory) doubt(aggregate string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.find(aggregate); ok && p.recorded() {
		delete(m.young, aggregate)
		delete(m.old, aggregate)
	}
}
