package checkpointtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/jitter"
)

// Memory is a table of leases and pins in memory. It is safe for concurrent
// use, and does not block: it may be used in a bubble of fake time.
type Memory struct {
	mu     sync.Mutex
	leases map[checkpoint.LeaseKey]checkpoint.Lease
	pins   map[pinKey]checkpoint.Pin
}

type pinKey struct{ group, table, label string }

// NewMemory returns an empty table.
func NewMemory() *Memory {
	return &Memory{leases: map[checkpoint.LeaseKey]checkpoint.Lease{}, pins: map[pinKey]checkpoint.Pin{}}
}

// Open returns a store on the table for one worker; boot must be another one
// at each call.
func (m *Memory) Open(boot string) *MemoryStore {
	return &MemoryStore{table: m, marks: checkpoint.Marks{Source: jitter.Source{}, Boot: boot}}
}

// MemoryStore is one worker's store on a Memory. It implements LeaseStore,
// Lister and PinStore, and is safe for concurrent use.
type MemoryStore struct {
	table *Memory
	marks checkpoint.Marks

	mu    sync.Mutex
	made  int
	fault func(write func()) // what becomes of the next write; nil: it is done
}

// errNoAnswer is what a caller gets whose answer was lost.
var errNoAnswer = errors.New("no answer came")

// Lose makes the next write take effect without an answer.
func (s *MemoryStore) Lose() { s.setFault(s.table.locked) }

// Late makes the next write stay without an answer, and without an effect
// until land is called.
func (s *MemoryStore) Late() (land func()) {
	var held func()
	s.setFault(func(write func()) { held = write })
	return func() { s.table.locked(held) }
}

func (s *MemoryStore) setFault(fault func(write func())) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (m *Memory) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// do makes one write to the table, or what a fault makes of it.
func (s *MemoryStore) do(ctx context.Context, write func()) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	fault := s.fault
	s.fault = nil
	s.mu.Unlock()
	if fault != nil {
		fault(write)
		return &event.Error{Class: event.Transient, Op: "writing to memory", Err: errNoAnswer}
	}
	s.table.locked(write)
	return nil
}

// swap replaces a row if it is as the condition asks, and returns the row that
// stands before (refused) or after (ok).
func (s *MemoryStore) swap(ctx context.Context, key checkpoint.LeaseKey, next func(row checkpoint.Lease, exists bool) (checkpoint.Lease, bool)) (row checkpoint.Lease, ok bool, err error) {
	err = s.do(ctx, func() {
		old, exists := s.table.leases[key]
		if row, ok = next(old, exists); !ok {
			row = old
		} else {
			s.table.leases[key] = row.Clone()
		}
		row = row.Clone()
	})
	if err != nil {
		return checkpoint.Lease{}, false, err
	}
	return row, ok, nil
}

// List returns all rows of a group on a table's streams.
func (s *MemoryStore) List(ctx context.Context, group, table string) ([]checkpoint.Lease, error) {
	listing, err := s.Listing(ctx, group, table)
	return listing.Leases, err
}

// Listing is List; memory holds no foreign rows.
func (s *MemoryStore) Listing(ctx context.Context, group, table string) (checkpoint.Listing, error) {
	if err := context.Cause(ctx); err != nil {
		return checkpoint.Listing{}, err
	}
	var leases []checkpoint.Lease
	s.table.locked(func() {
		for l := range maps.Values(s.table.leases) {
			if l.Key.Group == group && l.Key.Table == table {
				leases = append(leases, l.Clone())
			}
		}
	})
	slices.SortFunc(leases, func(a, b checkpoint.Lease) int {
		return cmp.Or(cmp.Compare(a.Key.Label, b.Key.Label), cmp.Compare(a.Key.Shard, b.Key.Shard))
	})
	return checkpoint.Listing{Leases: leases}, nil
}

// Create writes the rows that are absent.
func (s *MemoryStore) Create(ctx context.Context, absent []checkpoint.Lease) error {
	for _, l := range absent {
		s.mu.Lock()
		s.made++
		l.Token, l.Heartbeat = s.marks.First(l.Key, s.made)
		s.mu.Unlock()
		l.Owner, l.Asked, l.Barren = "", "", checkpoint.Barren{}
		_, _, err := s.swap(ctx, l.Key, func(_ checkpoint.Lease, exists bool) (checkpoint.Lease, bool) {
			return l, !exists
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Grant takes a lease that is as it was seen.
func (s *MemoryStore) Grant(ctx context.Context, seen checkpoint.Lease, owner string) (checkpoint.Lease, error) {
	row, ok, err := s.swap(ctx, seen.Key, func(row checkpoint.Lease, exists bool) (checkpoint.Lease, bool) {
		free := exists && row.Token == seen.Token && row.Heartbeat == seen.Heartbeat && row.State != checkpoint.Finished
		return s.marks.Grant(row, owner), free
	})
	if err != nil {
		return checkpoint.Lease{}, err
	}
	if planned := s.marks.Grant(seen, owner); !ok && !checkpoint.Granted(row, planned) {
		return checkpoint.Lease{}, fmt.Errorf("granting lease %v: %w", seen.Key, checkpoint.ErrFenced)
	}
	return row, nil
}

// Write renews a lease that is held.
func (s *MemoryStore) Write(ctx context.Context, held checkpoint.Lease) (checkpoint.Lease, error) {
	for tried := held; ; {
		row, ok, err := s.swap(ctx, held.Key, func(row checkpoint.Lease, _ bool) (checkpoint.Lease, bool) {
			next := s.marks.Renew(tried)
			next.Parents, next.Asked = row.Parents, row.Asked
			ours := row.Token == tried.Token && row.Heartbeat == tried.Heartbeat &&
				row.Owner != "" && (tried.Owner == "" || row.Owner == tried.Owner)
			back := next.Checkpoint.Before(row.Checkpoint) || row.State == checkpoint.Finished && next.State != checkpoint.Finished
			return next, ours && !back
		})
		if err != nil || ok {
			return row, err
		}
		again, done, err := s.marks.AfterRefusal(held, tried, row)
		if done {
			return row, nil
		}
		if err != nil {
			return checkpoint.Lease{}, fmt.Errorf("renewing lease %v: %w", held.Key, err)
		}
		tried = again
	}
}

// Ask requests a hand-over.
func (s *MemoryStore) Ask(ctx context.Context, seen checkpoint.Lease, by string) error {
	row, ok, err := s.swap(ctx, seen.Key, func(row checkpoint.Lease, _ bool) (checkpoint.Lease, bool) {
		same := row.Owner != "" && row.Token == seen.Token && row.Asked == seen.Asked
		row.Asked = by
		return row, same
	})
	if err != nil {
		return err
	}
	if !ok && (row.Owner == "" || row.Token != seen.Token || row.Asked != by) {
		return fmt.Errorf("asking for lease %v: %w", seen.Key, checkpoint.ErrFenced)
	}
	return nil
}

// Pin writes the pin if there is none.
func (s *MemoryStore) Pin(ctx context.Context, p checkpoint.Pin) (checkpoint.Pin, error) {
	if err := p.Check(); err != nil {
		return checkpoint.Pin{}, err
	}
	key := pinKey{p.Group, p.Table, p.Label}
	err := s.do(ctx, func() {
		if standing, ok := s.table.pins[key]; ok {
			p = standing
		}
		s.table.pins[key] = p
	})
	if err != nil {
		return checkpoint.Pin{}, err
	}
	return p, nil
}
