package dynamodb

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/checkpoint"
)

// barren is the end of a SET and the REMOVE of an update that writes what a
// row tells of vanished holders, and removes other attributes. A row that has
// nothing to tell has no such attribute.
func (c *change) barren(b checkpoint.Barren, remove ...string) (update string) {
	if b == (checkpoint.Barren{}) {
		remove = append(remove, "#barren")
	} else {
		update = ", #barren = :barren"
		c.values[":barren"] = encodeBarren(b)
	}
	if len(remove) > 0 {
		update += " REMOVE " + strings.Join(remove, ", ")
	}
	return update
}

func encodeBarren(b checkpoint.Barren) types.AttributeValue {
	m := item{"grants": number(int64(b.Grants)), "deaths": number(int64(b.Deaths))}
	for name, a := range map[string]checkpoint.Attempt{"attempt": b.Attempt, "suspect": b.Suspect} {
		if a != (checkpoint.Attempt{}) {
			m[name] = &types.AttributeValueMemberM{Value: item{
				"sink": text(a.Sink), "aggregate": text(a.Aggregate),
				"version": &types.AttributeValueMemberN{Value: strconv.FormatUint(a.Version, 10)},
			}}
		}
	}
	return &types.AttributeValueMemberM{Value: m}
}

// barren reads what encodeBarren wrote; an absent attribute is the zero value.
func (d *decoder) barren() checkpoint.Barren {
	inner := d.nested("barren")
	if inner == nil {
		return checkpoint.Barren{}
	}
	b := checkpoint.Barren{
		Grants: int(inner.whole("grants")), Deaths: int(inner.whole("deaths")),
		Attempt: inner.attempt("attempt"), Suspect: inner.attempt("suspect"),
	}
	d.inherit("barren", inner)
	return b
}

func (d *decoder) attempt(name string) checkpoint.Attempt {
	inner := d.nested(name)
	if inner == nil {
		return checkpoint.Attempt{}
	}
	a := checkpoint.Attempt{Sink: inner.text("sink"), Aggregate: inner.text("aggregate"), Version: inner.whole("version")}
	d.inherit(name, inner)
	return a
}

// nested reads a map that may be absent; then it is nil.
func (d *decoder) nested(name string) *decoder {
	if d.row[name] == nil {
		return nil
	}
	m, ok := d.row[name].(*types.AttributeValueMemberM)
	if !ok {
		d.fail(name + " is not a map")
		return nil
	}
	return &decoder{row: m.Value}
}

func (d *decoder) inherit(name string, inner *decoder) {
	if inner.err != nil {
		d.fail(name + ": " + inner.err.Error())
	}
}

func (d *decoder) whole(name string) uint64 {
	if n, ok := d.row[name].(*types.AttributeValueMemberN); ok {
		if v, err := strconv.ParseUint(n.Value, 10, 63); err == nil {
			return v
		}
	}
	d.fail(name + " is not a whole number")
	return 0
}
