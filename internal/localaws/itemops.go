package localaws

import (
	"millrace/event"
	"millrace/internal/localaws/expr"
)

// answering are the parameters that say what comes back.
type answering struct {
	ReturnValues                string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string // tables without local indexes have none
}

func (a answering) check(allowed ...string) error {
	ok := a.ReturnValues == "" || a.ReturnValues == "NONE"
	for _, v := range allowed {
		ok = ok || a.ReturnValues == v
	}
	if !ok {
		return invalid("Return values set to invalid value: %s", a.ReturnValues)
	}
	return checkCapacityParameter(a.ReturnConsumedCapacity)
}

func checkCapacityParameter(want string) error {
	switch want {
	case "", "NONE", "TOTAL", "INDEXES":
		return nil
	}
	return invalid("1 validation error detected: Value '%s' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]", want)
}

type putItem struct {
	TableName string
	Item      event.Item
	conditional
	answering
}

func (o *putItem) subject(e *Engine) (string, string) { return e.subjectOf(o.TableName, o.Item) }

func (o *putItem) run(e *Engine, c *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, err
	}
	if err := o.check("ALL_OLD"); err != nil {
		return nil, err
	}
	w, err := newPut(t, o.Item, o.conditional)
	if err != nil {
		return nil, err
	}
	return e.writeOne(c, w, o.answering)
}

type updateItem struct {
	TableName string
	Key       event.Item
	conditional
	answering
}

func (o *updateItem) subject(e *Engine) (string, string) { return e.subjectOf(o.TableName, o.Key) }

func (o *updateItem) run(e *Engine, c *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, err
	}
	if err := o.check("ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"); err != nil {
		return nil, err
	}
	w, err := newKeyed(writeUpdate, t, o.Key, o.conditional)
	if err != nil {
		return nil, err
	}
	return e.writeOne(c, w, o.answering)
}

type deleteItem struct {
	TableName string
	Key       event.Item
	conditional
	answering
}

func (o *deleteItem) subject(e *Engine) (string, string) { return e.subjectOf(o.TableName, o.Key) }

func (o *deleteItem) run(e *Engine, c *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, err
	}
	if err := o.check("ALL_OLD"); err != nil {
		return nil, err
	}
	w, err := newKeyed(writeDelete, t, o.Key, o.conditional)
	if err != nil {
		return nil, err
	}
	return e.writeOne(c, w, o.answering)
}

// subjectOf names an item by its key, as far as the key can be read.
func (e *Engine) subjectOf(tableName string, item event.Item) (string, string) {
	t, err := e.table(tableName)
	if err != nil {
		return plainName(tableName), ""
	}
	return t.name, t.schema.text(item)
}

// text is a key as Call.Key shows it.
func (s schema) text(item event.Item) string {
	values := make([]event.Value, 0, 2)
	for _, name := range s.names() {
		values = append(values, item[name])
	}
	return describeKey(values...)
}

// writeOne decides and commits one write and builds its answer.
func (e *Engine) writeOne(c *callContext, w *write, a answering) (*reply, error) {
	if err := e.lock(w.table); err != nil {
		return nil, err
	}
	f, err := w.decide()
	if err == nil {
		e.commit(c, f)
	}
	e.mu.Unlock()
	units := writeUnits(f.size())
	c.usage.add(w.table.name, 0, units) // a failed condition costs as well
	if err != nil {
		return nil, err
	}
	r := newReply()
	if returned := f.returned(a.ReturnValues); returned != nil {
		r.raw("Attributes", returned)
	}
	r.capacity(a.ReturnConsumedCapacity, w.table.name, units)
	return r, nil
}

// returned are the encoded attributes that ReturnValues asks for, nil for
// none.
func (f effect) returned(values string) []byte {
	switch {
	case values == "ALL_OLD" && f.old != nil:
		return f.old.json
	case values == "ALL_NEW" && f.new != nil:
		return f.new.json
	case values == "UPDATED_OLD" && len(f.result.UpdatedOld) > 0:
		return event.AppendItemJSON(nil, f.result.UpdatedOld)
	case values == "UPDATED_NEW" && len(f.result.UpdatedNew) > 0:
		return event.AppendItemJSON(nil, f.result.UpdatedNew)
	}
	return nil
}

func (r *reply) capacity(want, table string, units float64) {
	if want == "TOTAL" || want == "INDEXES" {
		r.object("ConsumedCapacity", func() { r.capacityOf(want, table, units) })
	}
}

func (r *reply) capacityOf(want, table string, units float64) {
	r.text("TableName", table)
	r.number("CapacityUnits", units)
	if want == "INDEXES" {
		r.object("Table", func() { r.number("CapacityUnits", units) })
	}
}

type getItem struct {
	TableName                string
	Key                      event.Item
	ConsistentRead           bool
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
	ReturnConsumedCapacity   string
}

func (o *getItem) subject(e *Engine) (string, string) { return e.subjectOf(o.TableName, o.Key) }

func (o *getItem) run(e *Engine, c *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, err
	}
	if err := checkCapacityParameter(o.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	key, err := t.schema.ofKey(o.Key)
	if err != nil {
		return nil, err
	}
	projection, err := parseProjection(o.ProjectionExpression, o.ExpressionAttributeNames)
	if err != nil {
		return nil, err
	}
	if err := e.lock(t); err != nil {
		return nil, err
	}
	found := read{now: c.now, consistent: o.ConsistentRead}.of(t.rows.get(key.point))
	e.mu.Unlock()
	r := newReply()
	units := readUnits(found.bytes(), o.ConsistentRead)
	if found != nil {
		r.raw("Item", found.projected(projection))
	}
	c.usage.add(t.name, units, 0)
	r.capacity(o.ReturnConsumedCapacity, t.name, units)
	return r, nil
}

// bytes is the size of a row that may be missing.
func (r *row) bytes() int {
	if r == nil {
		return 0
	}
	return r.size
}

// projected is the row as an answer shows it; a nil projection shows all.
func (r *row) projected(p *expr.Projection) []byte {
	if p == nil {
		return r.json
	}
	return event.AppendItemJSON(nil, p.Apply(r.item))
}

// parseProjection reads the projection of a request that has no other
// expression.
func parseProjection(text *string, names map[string]string) (*expr.Projection, error) {
	placeholders := expr.NewPlaceholders(names, nil)
	var p *expr.Projection
	if text != nil {
		var err error
		if p, err = expr.ParseProjection(*text, placeholders); err != nil {
			return nil, err
		}
	}
	return p, placeholders.Unused()
}
