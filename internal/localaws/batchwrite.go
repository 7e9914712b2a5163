package localaws

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"millrace/event"
)

type batchWrite struct {
	RequestItems                map[string][]batchChange
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

type batchChange struct {
	PutRequest    *struct{ Item event.Item }
	DeleteRequest *struct{ Key event.Item }
}

func (b batchChange) item() event.Item {
	switch {
	case b.PutRequest != nil:
		return b.PutRequest.Item
	case b.DeleteRequest != nil:
		return b.DeleteRequest.Key
	}
	return nil
}

func (o *batchWrite) subject(e *Engine) (string, string) {
	var keys []string
	names := slices.Sorted(maps.Keys(o.RequestItems))
	for _, name := range names {
		for _, change := range o.RequestItems[name] {
			_, text := e.subjectOf(name, change.item())
			keys = append(keys, text)
		}
	}
	slices.Sort(keys)
	return strings.Join(names, ","), strings.Join(keys, ",")
}

// shuffle puts n things into an order that the call's chance decides.
func (c *callContext) shuffle(n int, swap func(i, j int)) {
	rand.New(rand.NewPCG(c.draw, 0)).Shuffle(n, swap) //nolint:gosec // a choice that a seed repeats
}

// run checks the whole batch first and then does its writes one by one, in any
// order: a batch is no transaction, and the service works on its items in
// parallel (API Reference, "BatchWriteItem").
func (o *batchWrite) run(e *Engine, c *callContext) (*reply, error) {
	if err := checkCapacityParameter(o.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(o.RequestItems))
	var writes []*write
	var changes []batchChange
	for _, name := range names {
		prepared, err := e.prepareBatch(name, o.RequestItems[name])
		if err != nil {
			return nil, err
		}
		writes = append(writes, prepared...)
		changes = append(changes, o.RequestItems[name]...)
	}
	if len(writes) == 0 {
		return nil, invalid("The batch write request list for a table cannot be null or empty: RequestItems")
	}
	if len(writes) > maxBatchWrite {
		return nil, invalid("Too many items requested for the BatchWriteItem call")
	}
	c.shuffle(len(writes), func(i, j int) {
		writes[i], writes[j] = writes[j], writes[i]
		changes[i], changes[j] = changes[j], changes[i]
	})
	done := len(writes)
	if c.fault == Partial {
		done--
	}
	for _, w := range writes[:done] {
		if _, err := e.writeOne(c, w, answering{}); err != nil {
			return nil, err
		}
	}
	r := newReply()
	r.object("UnprocessedItems", func() {
		for i, w := range writes[done:] {
			r.list(w.table.name, 1, func(int) { changes[done+i].write(r) })
		}
	})
	r.capacities(o.ReturnConsumedCapacity, c, func(u Capacity) float64 { return u.Write })
	return r, nil
}

func (b batchChange) write(r *reply) {
	if b.PutRequest != nil {
		r.object("PutRequest", func() { r.raw("Item", event.AppendItemJSON(nil, b.PutRequest.Item)) })
		return
	}
	r.object("DeleteRequest", func() { r.raw("Key", event.AppendItemJSON(nil, b.DeleteRequest.Key)) })
}

func (e *Engine) prepareBatch(name string, changes []batchChange) ([]*write, error) {
	t, err := e.table(name)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return nil, invalid("The batch write request list for a table cannot be null or empty: %s", name)
	}
	writes := make([]*write, 0, len(changes))
	seen := map[point]bool{}
	for _, change := range changes {
		w, err := prepareChange(t, change)
		if err != nil {
			return nil, err
		}
		if seen[w.key.point] {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[w.key.point] = true
		writes = append(writes, w)
	}
	return writes, nil
}

func prepareChange(t *table, change batchChange) (*write, error) {
	switch {
	case change.PutRequest != nil && change.DeleteRequest != nil, change.item() == nil:
		return nil, invalid("Supplied AttributeValue has more than one datatypes set, or none: a write request is one put or one delete")
	case change.PutRequest != nil:
		return newPut(t, change.PutRequest.Item, conditional{})
	default:
		return newKeyed(writeDelete, t, change.DeleteRequest.Key, conditional{})
	}
}
