package localaws

import (
	"time"

	"millrace/event"
	"millrace/internal/localaws/expr"
)

// write is one change of one item, alone or in a batch or transaction: made
// from the request outside the lock, decided and committed under it.
type write struct {
	table *table
	key   keyed
	kind  writeKind

	put       *row            // writePut: the whole new row, encoded outside the lock
	update    *expr.Update    // writeUpdate: nil changes nothing but creates the item
	condition *expr.Condition // nil holds always
	onFailure string          // ReturnValuesOnConditionCheckFailure
	identity  string          // userIdentity of the record in JSON, empty for callers
}

type writeKind int

const (
	writePut writeKind = iota
	writeUpdate
	writeDelete
	writeCheck // changes nothing: a transaction's ConditionCheck
)

// effect is what a write does to its item.
type effect struct {
	write    *write
	old, new *row        // nil where there is no item
	result   expr.Result // of an update
	whole    time.Time   // when reads of several items begin to see it; zero for at once
}

// conditional are the parameters of a request that its expressions need.
type conditional struct {
	ConditionExpression                 *string
	UpdateExpression                    *string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           event.Item
	ReturnValuesOnConditionCheckFailure string
}

// newPut prepares a Put of a whole item.
func newPut(t *table, item event.Item, p conditional) (*write, error) {
	if item == nil {
		return nil, invalid("1 validation error detected: Value null at 'item' failed to satisfy constraint: Member must not be null")
	}
	normal := make(event.Item, len(item))
	for name, v := range item {
		n, err := expr.Normalize(v)
		if err != nil {
			return nil, err
		}
		normal[name] = n
	}
	key, err := t.schema.ofItem(normal)
	if err != nil {
		return nil, err
	}
	w := &write{table: t, key: key, kind: writePut, put: newRow(key.sort, normal)}
	if w.put.size > maxItem {
		return nil, invalid("Item size has exceeded the maximum allowed size")
	}
	return w, w.parse(p)
}

// newKeyed prepares a write that names its item by key.
func newKeyed(kind writeKind, t *table, key event.Item, p conditional) (*write, error) {
	k, err := t.schema.ofKey(key)
	if err != nil {
		return nil, err
	}
	w := &write{table: t, key: k, kind: kind}
	return w, w.parse(p)
}

func (w *write) parse(p conditional) error {
	placeholders := expr.NewPlaceholders(p.ExpressionAttributeNames, p.ExpressionAttributeValues)
	var err error
	if p.UpdateExpression != nil && w.kind != writeUpdate {
		return invalid("The local engine takes an UpdateExpression for updates only")
	}
	if p.UpdateExpression != nil {
		if w.update, err = expr.ParseUpdate(*p.UpdateExpression, placeholders, w.table.schema.names()); err != nil {
			return err
		}
	}
	if p.ConditionExpression != nil {
		if w.condition, err = expr.ParseCondition(expr.ConditionExpression, *p.ConditionExpression, placeholders); err != nil {
			return err
		}
	}
	switch p.ReturnValuesOnConditionCheckFailure {
	case "", "NONE", "ALL_OLD":
		w.onFailure = p.ReturnValuesOnConditionCheckFailure
	default:
		return invalid("Member must satisfy enum value set: [ALL_OLD, NONE]; ReturnValuesOnConditionCheckFailure: %s", p.ReturnValuesOnConditionCheckFailure)
	}
	return placeholders.Unused()
}

// decide evaluates the write without doing it. The caller holds Engine.mu.
func (w *write) decide() (effect, error) {
	f := effect{write: w, old: w.table.rows.get(w.key.point)}
	var item event.Item
	if f.old != nil {
		item = f.old.item
	}
	if w.condition != nil && !w.condition.Eval(item) {
		if w.onFailure == "ALL_OLD" {
			return f, conditionFailed(f.old)
		}
		return f, conditionFailed(nil)
	}
	switch w.kind {
	case writePut:
		f.new = w.put
	case writeCheck:
		f.new = f.old
	case writeDelete:
	case writeUpdate:
		return f, w.decideUpdate(&f, item)
	}
	return f, nil
}

func (w *write) decideUpdate(f *effect, item event.Item) error {
	if item == nil {
		item = w.key.item
	}
	f.result = expr.Result{Item: item}
	if w.update != nil {
		var err error
		if f.result, err = w.update.Apply(item); err != nil {
			return err
		}
	}
	f.new = newRow(w.key.sort, f.result.Item)
	if f.new.size > maxItem {
		return invalid("Item size to update has exceeded the maximum allowed size")
	}
	return nil
}

// size is the larger of the item before and after, which is what a write
// costs.
func (f effect) size() int {
	size := 0
	for _, r := range []*row{f.old, f.new} {
		if r != nil {
			size = max(size, r.size)
		}
	}
	return size
}

// writeUnits are the capacity units of writing so many bytes.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

// readUnits are the capacity units of reading so many bytes.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if consistent {
		return units
	}
	return units / 2
}

// commit stores what was decided: the item, the change in the history, the
// record in the stream. The caller holds e.mu.
func (e *Engine) commit(c *callContext, f effect) {
	t, p := f.write.table, f.write.key.point
	if f.write.kind == writeCheck || f.old == nil && f.new == nil {
		return
	}
	changed := f.old == nil || f.new == nil || !f.old.item.Equal(f.new.item)
	if !changed {
		return
	}
	if f.new == nil {
		t.rows.remove(p)
	} else {
		if lag := e.options.StaleReads; lag > 0 || !f.whole.IsZero() {
			f.new = f.new.held(f.old, c.now.Add(lag), f.whole)
		}
		t.rows.put(p, f.new)
	}
	e.commits++
	var change *Change
	if e.options.KeepHistory {
		change = e.remember(c, f)
	}
	if s := t.streaming(); s != nil {
		s.write(e, c, f, change)
	}
}
