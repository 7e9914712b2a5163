package localaws

import (
	"time"

	"millrace/event"
)

// Change is one committed change of an item.
type Change struct {
	Table    string
	Key      event.Item
	Old, New event.Item // nil where there was or is no item
	At       time.Time
	Number   int    // the order of commitment over all tables, from 1
	App      string // who asked for it
	// Shard and Sequence are those of the stream record, empty while there is
	// none: no stream, or a record that waits for its number.
	Shard, Sequence string
}

// remember keeps a change for History. The caller holds e.mu.
func (e *Engine) remember(c *callContext, f effect) *Change {
	change := &Change{
		Table: f.write.table.name, Key: f.write.key.item, At: c.now,
		Number: int(e.commits), App: c.app, //nolint:gosec // a count
	}
	if f.old != nil {
		change.Old = f.old.item
	}
	if f.new != nil {
		change.New = f.new.item
	}
	e.history = append(e.history, change)
	return change
}

// History returns every committed change of the table in the order of
// commitment, and nil unless Options.KeepHistory is set. An empty name stands
// for all tables. The items are shared: do not change them.
func (e *Engine) History(table string) []Change {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Change
	for _, c := range e.history {
		if table == "" || c.Table == table {
			out = append(out, *c)
		}
	}
	return out
}

// Read is one page of records that an application was given. Pages without
// records are left out unless they end their shard.
type Read struct {
	Table, Stream string // the stream's ARN
	Shard, Parent string
	App           string
	At            time.Time
	First, Last   string // sequence numbers, empty where there was no record
	Records       int
	End           bool // the shard was closed and is read to its end
}

// rememberRead keeps a page for Reads. The caller holds e.mu.
func (e *Engine) rememberRead(c *callContext, s *stream, h *shard, records []record, end bool) {
	read := Read{
		Table: s.table.name, Stream: s.arn, Shard: h.id, Parent: h.parent,
		App: c.app, At: c.now, Records: len(records), End: end,
	}
	if len(records) > 0 {
		read.First, read.Last = records[0].sequence.String(), records[len(records)-1].sequence.String()
	}
	e.reads = append(e.reads, read)
}

// Reads returns the pages that were given out of all streams of a table, in
// their order, and nil unless Options.KeepHistory is set. What was given need
// not have arrived: a caller may have lost the answer.
func (e *Engine) Reads(table string) []Read {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Read
	for _, r := range e.reads {
		if r.Table == table {
			out = append(out, r)
		}
	}
	return out
}

// Item is the item with the key as it is now, nil when there is none. The key
// may be a whole item. It is shared: do not change it.
func (e *Engine) Item(table string, key event.Item) event.Item {
	t, err := e.table(table)
	if err != nil {
		return nil
	}
	k, err := t.schema.ofItem(key)
	if err != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if found := t.rows.get(k.point); found != nil {
		return found.item
	}
	return nil
}

// Items are all items of a table in the order of a Scan, each collection in
// the order of its sort keys. The items are shared: do not change them.
func (e *Engine) Items(table string) []event.Item {
	t, err := e.table(table)
	if err != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]event.Item, 0, t.rows.rows)
	t.rows.walk(point{}, ^uint64(0), func(r *row) bool {
		out = append(out, r.item)
		return true
	})
	return out
}
