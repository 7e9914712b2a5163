package localaws

import "millrace/internal/localaws/expr"

type scan struct {
	paged
	Segment, TotalSegments *int
}

func (o *scan) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *scan) run(e *Engine, c *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, err
	}
	s, err := o.parse(expr.NewPlaceholders(o.ExpressionAttributeNames, o.ExpressionAttributeValues))
	if err != nil {
		return nil, err
	}
	first, last, err := o.hashes()
	if err != nil {
		return nil, err
	}
	from := point{hash: first}
	if o.ExclusiveStartKey != nil {
		start, err := o.startKey(t)
		if err != nil {
			return nil, err
		}
		if start.hash < first || start.hash > last {
			return nil, invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment.")
		}
		from = start
		from.sort += "\x00"
	}
	if err := e.lock(t); err != nil {
		return nil, err
	}
	g := &reading{read: read{now: c.now, consistent: o.ConsistentRead, several: true}, limit: s.limit}
	t.rows.walk(from, last, g.take)
	e.mu.Unlock()
	return o.answer(c, t, s, g), nil
}

// hashes is the range of the segment, both ends included. A million segments
// are the service's limit (API Reference, "Scan").
func (o *scan) hashes() (first, last uint64, err error) {
	switch {
	case o.Segment == nil && o.TotalSegments == nil:
		return 0, ^uint64(0), nil
	case o.Segment == nil:
		return 0, 0, invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case o.TotalSegments == nil:
		return 0, 0, invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case *o.TotalSegments < 1 || *o.TotalSegments > 1_000_000:
		return 0, 0, invalid("1 validation error detected: Value '%d' at 'totalSegments' failed to satisfy constraint: Member must have value between 1 and 1000000", *o.TotalSegments)
	case *o.Segment < 0:
		return 0, 0, invalid("1 validation error detected: Value '%d' at 'segment' failed to satisfy constraint: Member must have value greater than or equal to 0", *o.Segment)
	case *o.Segment >= *o.TotalSegments:
		return 0, 0, invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *o.Segment, *o.TotalSegments)
	}
	first, last = segment(uint64(*o.Segment), uint64(*o.TotalSegments)) //nolint:gosec // checked above
	return first, last, nil
}
