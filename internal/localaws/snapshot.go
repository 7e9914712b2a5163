package localaws

import (
	"fmt"
)

// Snapshot is a table's items at one moment.
type Snapshot struct {
	table string
	rows  keyspace
}

// Snapshot takes a table's items for Restore.
func (e *Engine) Snapshot(tableName string) (Snapshot, error) {
	t, err := e.table(tableName)
	if err != nil {
		return Snapshot{}, fmt.Errorf("looking up table %q: %w", tableName, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return Snapshot{table: tableName, rows: t.rows.clone()}, nil
}

// Restore sets a table back to a snapshot, without records: as if it had been
// restored to an earlier time and put in the place of the old one.
func (e *Engine) Restore(s Snapshot) error {
	t, err := e.table(s.table)
	if err != nil {
		return fmt.Errorf("looking up table %q: %w", s.table, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t.rows = s.rows.clone()
	return nil
}
