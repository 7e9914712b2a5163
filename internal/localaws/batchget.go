package localaws

import (
	"maps"
	"slices"
	"strings"

	"millrace/event"
	"millrace/internal/localaws/expr"
)

// Limits of batches (API Reference, "BatchGetItem" and "BatchWriteItem").
const (
	maxBatchGet   = 100
	maxBatchWrite = 25
	maxBatchBytes = 16 << 20
)

type batchGet struct {
	RequestItems           map[string]batchKeys
	ReturnConsumedCapacity string
}

type batchKeys struct {
	Keys                     []event.Item
	ConsistentRead           bool
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
}

func (o *batchGet) subject(e *Engine) (string, string) {
	var keys []string
	names := slices.Sorted(maps.Keys(o.RequestItems))
	for _, name := range names {
		for _, key := range o.RequestItems[name].Keys {
			_, text := e.subjectOf(name, key)
			keys = append(keys, text)
		}
	}
	slices.Sort(keys)
	return strings.Join(names, ","), strings.Join(keys, ",")
}

func (o *batchGet) run(e *Engine, c *callContext) (*reply, error) {
	if err := checkCapacityParameter(o.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if len(o.RequestItems) == 0 {
		return nil, invalid("The batch get request list for a table cannot be null or empty: RequestItems")
	}
	total := 0
	for _, wanted := range o.RequestItems {
		total += len(wanted.Keys)
	}
	if total > maxBatchGet {
		return nil, invalid("Too many items requested for the BatchGetItem call")
	}
	names := slices.Sorted(maps.Keys(o.RequestItems))
	pages := make([]*batchPage, 0, len(names))
	for _, name := range names {
		p, err := e.batchPage(name, o.RequestItems[name])
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	left := maxBatchBytes
	for i, p := range pages {
		if err := p.collect(e, c, &left, c.fault == Partial && i == len(pages)-1); err != nil {
			return nil, err
		}
	}
	for _, p := range pages { // the answer has no order
		c.shuffle(len(p.found), func(i, j int) { p.found[i], p.found[j] = p.found[j], p.found[i] })
	}
	r := newReply()
	r.object("Responses", func() {
		for i, p := range pages {
			r.values(names[i], len(p.found), func(j int) []byte { return p.found[j].projected(p.projection) })
		}
	})
	r.object("UnprocessedKeys", func() {
		for i, p := range pages {
			if len(p.left) > 0 {
				p.unprocessed(r, names[i])
			}
		}
	})
	r.capacities(o.ReturnConsumedCapacity, c, func(u Capacity) float64 { return u.Read })
	return r, nil
}

// batchPage is what a BatchGetItem wants of one table and what it gets.
type batchPage struct {
	table      *table
	wanted     batchKeys
	keys       []keyed
	projection *expr.Projection
	found      []*row
	left       []keyed
}

func (e *Engine) batchPage(name string, wanted batchKeys) (*batchPage, error) {
	t, err := e.table(name)
	if err != nil {
		return nil, err
	}
	if len(wanted.Keys) == 0 {
		return nil, invalid("1 validation error detected: Value at 'requestItems.%s.member.keys' failed to satisfy constraint: Member must have length greater than or equal to 1", name)
	}
	p := &batchPage{table: t, wanted: wanted}
	if p.projection, err = parseProjection(wanted.ProjectionExpression, wanted.ExpressionAttributeNames); err != nil {
		return nil, err
	}
	seen := map[point]bool{}
	for _, key := range wanted.Keys {
		k, err := t.schema.ofKey(key)
		if err != nil {
			return nil, err
		}
		if seen[k.point] {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[k.point] = true
		p.keys = append(p.keys, k)
	}
	return p, nil
}

// collect reads the rows until the answer is full; partial leaves the last
// key unread in any case.
func (p *batchPage) collect(e *Engine, c *callContext, left *int, partial bool) error {
	keys := p.keys
	if partial {
		p.left, keys = keys[len(keys)-1:], keys[:len(keys)-1]
	}
	if err := e.lock(p.table); err != nil {
		return err
	}
	defer e.mu.Unlock()
	units := 0.0
	view := read{now: c.now, consistent: p.wanted.ConsistentRead, several: true}
	for i, key := range keys {
		found := view.of(p.table.rows.get(key.point))
		if *left < found.bytes() {
			p.left = append(slices.Clone(keys[i:]), p.left...)
			break
		}
		*left -= found.bytes()
		units += readUnits(found.bytes(), p.wanted.ConsistentRead)
		if found != nil {
			p.found = append(p.found, found)
		}
	}
	c.usage.add(p.table.name, units, 0)
	return nil
}

// unprocessed writes the keys that are left in the form of a request.
func (p *batchPage) unprocessed(r *reply, name string) {
	r.object(name, func() {
		r.values("Keys", len(p.left), func(i int) []byte { return event.AppendItemJSON(nil, p.left[i].item) })
		if p.wanted.ConsistentRead {
			r.bool("ConsistentRead", true)
		}
		if p.wanted.ProjectionExpression != nil {
			r.text("ProjectionExpression", *p.wanted.ProjectionExpression)
		}
		if len(p.wanted.ExpressionAttributeNames) > 0 {
			r.object("ExpressionAttributeNames", func() {
				for key, name := range p.wanted.ExpressionAttributeNames {
					r.text(key, name)
				}
			})
		}
	})
}

// capacities writes what the call used of each of its tables.
func (r *reply) capacities(want string, c *callContext, units func(Capacity) float64) {
	if want != "TOTAL" && want != "INDEXES" {
		return
	}
	tables := slices.Sorted(maps.Keys(c.usage))
	r.list("ConsumedCapacity", len(tables), func(i int) { r.capacityOf(want, tables[i], units(c.usage[tables[i]])) })
}
