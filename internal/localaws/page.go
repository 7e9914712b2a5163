package localaws

import (
	"millrace/event"
	"millrace/internal/localaws/expr"
)

// maxPage is how many bytes of items a Query or Scan reads before it stops
// (API Reference, "Query").
const maxPage = 1 << 20

// paged are the parameters that Query and Scan share.
type paged struct {
	TableName                 string
	ConsistentRead            bool
	ExclusiveStartKey         event.Item
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues event.Item
	FilterExpression          *string
	Limit                     *int
	ProjectionExpression      *string
	ReturnConsumedCapacity    string
	Select                    string
}

// selector is what a page does with the rows it read.
type selector struct {
	filter     *expr.Condition
	projection *expr.Projection
	limit      int // of rows read, 0 for none
	count      bool
}

// parse reads the shared expressions. The caller has parsed its own with the
// same placeholders.
func (p *paged) parse(placeholders *expr.Placeholders) (selector, error) {
	var s selector
	if err := checkCapacityParameter(p.ReturnConsumedCapacity); err != nil {
		return s, err
	}
	if p.Limit != nil {
		if s.limit = *p.Limit; s.limit < 1 {
			return s, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", s.limit)
		}
	}
	var err error
	if p.FilterExpression != nil {
		if s.filter, err = expr.ParseCondition(expr.FilterExpression, *p.FilterExpression, placeholders); err != nil {
			return s, err
		}
	}
	if p.ProjectionExpression != nil {
		if s.projection, err = expr.ParseProjection(*p.ProjectionExpression, placeholders); err != nil {
			return s, err
		}
	}
	if err := placeholders.Unused(); err != nil {
		return s, err
	}
	switch p.Select {
	case "":
	case "ALL_ATTRIBUTES":
		if s.projection != nil {
			return s, invalid("Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES")
		}
	case "SPECIFIC_ATTRIBUTES":
		if s.projection == nil {
			return s, invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	case "COUNT":
		if s.projection != nil {
			return s, invalid("Cannot specify the ProjectionExpression when choosing to get only the Count")
		}
		s.count = true
	case "ALL_PROJECTED_ATTRIBUTES":
		return s, invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	default:
		return s, invalid("1 validation error detected: Value '%s' at 'select' failed to satisfy constraint: Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]", p.Select)
	}
	return s, nil
}

// reading collects the rows of one page under the lock.
type reading struct {
	read
	limit int
	rows  []*row
	bytes int
	more  bool // the page ended before the range did
}

// take adds a row and reports whether the page goes on. A page that ends
// exactly at its limit says that there may be more, though there may be none:
// that is what the service does.
func (g *reading) take(r *row) bool {
	if r = g.of(r); r == nil {
		return true
	}
	if len(g.rows) > 0 && g.bytes+r.size > maxPage {
		g.more = true
		return false
	}
	g.rows = append(g.rows, r)
	g.bytes += r.size
	if len(g.rows) == g.limit {
		g.more = true
		return false
	}
	return true
}

// answer filters and encodes what was read. Rows are immutable, so it runs
// outside the lock.
func (p *paged) answer(c *callContext, t *table, s selector, g *reading) *reply {
	matched := g.rows
	if s.filter != nil {
		matched = make([]*row, 0, len(g.rows))
		for _, r := range g.rows {
			if s.filter.Eval(r.item) {
				matched = append(matched, r)
			}
		}
	}
	r := newReply()
	r.integer("Count", len(matched))
	r.integer("ScannedCount", len(g.rows))
	if !s.count {
		r.values("Items", len(matched), func(i int) []byte { return matched[i].projected(s.projection) })
	}
	if g.more {
		last := event.Item{}
		for _, name := range t.schema.names() {
			last[name] = g.rows[len(g.rows)-1].item[name]
		}
		r.raw("LastEvaluatedKey", event.AppendItemJSON(nil, last))
	}
	units := readUnits(g.bytes, p.ConsistentRead)
	c.usage.add(t.name, units, 0)
	r.capacity(p.ReturnConsumedCapacity, t.name, units)
	return r
}

// startKey reads ExclusiveStartKey.
func (p *paged) startKey(t *table) (point, error) {
	key, err := t.schema.ofKey(p.ExclusiveStartKey)
	if err != nil {
		return point{}, invalid("The provided starting key is invalid: %s", asAPIError(err).message)
	}
	return key.point, nil
}
