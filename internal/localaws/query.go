package localaws

import (
	"slices"

	"millrace/event"
	"millrace/internal/localaws/expr"
)

type query struct {
	paged
	KeyConditionExpression *string
	ScanIndexForward       *bool
}

// subject is the partition that the key condition names.
func (o *query) subject(e *Engine) (string, string) {
	t, err := e.table(o.TableName)
	if err != nil {
		return plainName(o.TableName), ""
	}
	key, err := o.parseKey(t, expr.NewPlaceholders(o.ExpressionAttributeNames, o.ExpressionAttributeValues))
	if err != nil {
		return t.name, ""
	}
	return t.name, describeKey(key.PartitionValue)
}

func (o *query) parseKey(t *table, placeholders *expr.Placeholders) (*expr.KeyCondition, error) {
	if o.KeyConditionExpression == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	return expr.ParseKeyCondition(*o.KeyConditionExpression, placeholders, t.schema.partition.Name, t.schema.sort.Name)
}

func (o *query) run(e *Engine, c *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, err
	}
	placeholders := expr.NewPlaceholders(o.ExpressionAttributeNames, o.ExpressionAttributeValues)
	key, err := o.parseKey(t, placeholders)
	if err != nil {
		return nil, err
	}
	s, err := o.parse(placeholders)
	if err != nil {
		return nil, err
	}
	if s.filter != nil {
		for _, name := range t.schema.names() {
			if slices.Contains(s.filter.Names(), name) {
				return nil, invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
			}
		}
	}
	span, err := spanOf(t.schema, key)
	if err != nil {
		return nil, err
	}
	forward := o.ScanIndexForward == nil || *o.ScanIndexForward
	if o.ExclusiveStartKey != nil {
		start, err := o.startKey(t)
		if err != nil {
			return nil, err
		}
		if start.partition != span.partition {
			return nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
		}
		span.resume(start.sort, forward)
	}
	if err := e.lock(t); err != nil {
		return nil, err
	}
	g := &reading{read: read{now: c.now, consistent: o.ConsistentRead, several: true}, limit: s.limit}
	span.walk(t.rows.collection(span.point), forward, g.take)
	e.mu.Unlock()
	return o.answer(c, t, s, g), nil
}

// span is a range of one collection: sort keys from low on and below high.
type span struct {
	point
	low, high string
	endless   bool // high does not count
}

// spanOf turns a key condition into a range of encoded sort keys. The next
// key after an encoded one is the same with a zero byte behind it.
func spanOf(s schema, c *expr.KeyCondition) (span, error) {
	if c.PartitionValue.Tag() != s.partition.Kind {
		return span{}, invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
	}
	partition, err := encodeKey(s.partition, c.PartitionValue, "hashkey", maxPartitionKey)
	if err != nil {
		return span{}, err
	}
	out := span{point: pointOf(partition, ""), endless: true}
	var bounds []string
	for _, v := range c.SortValues {
		if v.Tag() != s.sort.Kind {
			return span{}, invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
		}
		bound, err := sortable(v)
		if err != nil {
			return span{}, err
		}
		bounds = append(bounds, bound)
	}
	switch c.SortOp {
	case expr.SortAny:
	case expr.SortEqual:
		out.low, out.high, out.endless = bounds[0], bounds[0]+"\x00", false
	case expr.SortLess:
		out.high, out.endless = bounds[0], false
	case expr.SortLessOrEqual:
		out.high, out.endless = bounds[0]+"\x00", false
	case expr.SortGreater:
		out.low = bounds[0] + "\x00"
	case expr.SortGreaterOrEqual:
		out.low = bounds[0]
	case expr.SortBetween:
		if bounds[0] > bounds[1] {
			return span{}, invalid("Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s",
				showBound(c.SortValues[0]), showBound(c.SortValues[1]))
		}
		out.low, out.high, out.endless = bounds[0], bounds[1]+"\x00", false
	case expr.SortBeginsWith:
		if s.sort.Kind == "N" {
			return span{}, invalid("Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N")
		}
		out.low = bounds[0]
		out.high, out.endless = afterPrefix(bounds[0])
	}
	return out, nil
}

func showBound(v event.Value) string { return "{" + v.Tag() + ":" + describeKey(v) + "}" }

// afterPrefix is the first text behind all that begin with prefix; endless
// where there is none.
func afterPrefix(prefix string) (after string, endless bool) {
	for last := len(prefix) - 1; last >= 0; last-- {
		if prefix[last] < 0xff {
			return prefix[:last] + string([]byte{prefix[last] + 1}), false
		}
	}
	return "", true
}

// resume narrows the span to what comes after a key that was read already.
func (s *span) resume(after string, forward bool) {
	if forward {
		s.low = max(s.low, after+"\x00")
		return
	}
	if s.endless || after < s.high {
		s.high, s.endless = after, false
	}
}

func (s *span) walk(c *partition, forward bool, visit func(*row) bool) {
	if c == nil {
		return
	}
	from, _ := c.lookFrom(s.low)
	to := len(c.rows)
	if !s.endless {
		to, _ = c.lookFrom(s.high)
	}
	for i := from; i < to; i++ {
		r := c.rows[i]
		if !forward {
			r = c.rows[to-1-(i-from)]
		}
		if !visit(r) {
			return
		}
	}
}
