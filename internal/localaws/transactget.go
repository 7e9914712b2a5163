package localaws

import (
	"strings"

	"millrace/event"
	"millrace/internal/localaws/expr"
)

type transactGet struct {
	TransactItems []struct {
		Get *struct {
			TableName                string
			Key                      event.Item
			ProjectionExpression     *string
			ExpressionAttributeNames map[string]string
		}
	}
	ReturnConsumedCapacity string
}

func (o *transactGet) size() int { return len(o.TransactItems) }

func (o *transactGet) subject(e *Engine) (string, string) {
	var tables, keys []string
	for _, item := range o.TransactItems {
		if item.Get == nil {
			continue
		}
		table, key := e.subjectOf(item.Get.TableName, item.Get.Key)
		if len(tables) == 0 || tables[len(tables)-1] != table {
			tables = append(tables, table)
		}
		keys = append(keys, key)
	}
	return strings.Join(tables, ","), strings.Join(keys, ",")
}

// run reads all items at one moment.
func (o *transactGet) run(e *Engine, c *callContext) (*reply, error) {
	if err := checkCapacityParameter(o.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	n := len(o.TransactItems)
	if n < 1 || n > maxTransaction {
		return nil, invalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to %d and greater than or equal to 1", maxTransaction)
	}
	tables := make([]*table, n)
	keys := make([]keyed, n)
	projections := make([]*expr.Projection, n)
	for i, item := range o.TransactItems {
		if item.Get == nil {
			return nil, invalid("1 validation error detected: Value null at 'transactItems.%d.member.get' failed to satisfy constraint: Member must not be null", i+1)
		}
		var err error
		if tables[i], err = e.table(item.Get.TableName); err != nil {
			return nil, err
		}
		if keys[i], err = tables[i].schema.ofKey(item.Get.Key); err != nil {
			return nil, err
		}
		if projections[i], err = parseProjection(item.Get.ProjectionExpression, item.Get.ExpressionAttributeNames); err != nil {
			return nil, err
		}
	}
	if err := e.lock(tables...); err != nil {
		return nil, err
	}
	rows := make([]*row, n)
	for i, key := range keys {
		rows[i] = tables[i].rows.get(key.point)
	}
	e.mu.Unlock()
	for i, found := range rows {
		c.usage.add(tables[i].name, 2*readUnits(found.bytes(), true), 0)
	}
	r := newReply()
	r.list("Responses", n, func(i int) {
		if rows[i] != nil {
			r.raw("Item", rows[i].projected(projections[i]))
		}
	})
	r.capacities(o.ReturnConsumedCapacity, c, func(u Capacity) float64 { return u.Read + u.Write })
	return r, nil
}
