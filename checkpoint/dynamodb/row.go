package dynamodb

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/controlkey"
	"millrace/source"
)

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func list[T ~string](texts []T) types.AttributeValue {
	values := make([]types.AttributeValue, len(texts))
	for i, s := range texts {
		values[i] = text(string(s))
	}
	return &types.AttributeValueMemberL{Value: values}
}

// schema is the layout of the rows this build writes.
func schema() types.AttributeValue { return number(controlkey.Version) }

func keyOf(k checkpoint.LeaseKey) controlkey.Key {
	return controlkey.Lease(k.Group, k.Table, k.Label, string(k.Shard))
}

func primary(k controlkey.Key) item {
	return item{controlkey.PK: text(k.PK), controlkey.SK: text(k.SK)}
}

// encodeStart writes a start as a map, for people and for decodeStart.
func encodeStart(s source.Start) types.AttributeValue {
	m := item{"kind": text(s.Kind.String())}
	switch s.Kind {
	case source.AtSequence, source.AfterSequence:
		m["sequence"] = text(string(s.Sequence))
	case source.AtTime:
		m["time"] = number(s.Time.UnixMilli())
	default:
	}
	return &types.AttributeValueMemberM{Value: m}
}

// position writes a start as text whose order is that of Start.Before, so that
// a condition can keep a checkpoint from going back. Sequence numbers differ in
// length and must not be compared as they are; padded to the 40 digits that
// they have at most, they may.
func position(s source.Start) (string, error) {
	switch s.Kind {
	case source.TrimHorizon, source.Latest, source.AtTime:
		return "0", nil
	case source.AtSequence, source.AfterSequence:
		if _, err := event.ParseSequence(string(s.Sequence)); err != nil {
			return "", fmt.Errorf("checkpoint %q: %w", s.Sequence, err)
		}
		after := 0
		if s.Kind == source.AfterSequence {
			after = 1
		}
		return fmt.Sprintf("1|%s%s|%d", strings.Repeat("0", 40-len(s.Sequence)), s.Sequence, after), nil
	case source.ShardEnd:
		return "2", nil
	}
	return "", errors.New("its checkpoint has no kind")
}

// check refuses a lease that could not be read back, and returns its position.
func check(op string, l checkpoint.Lease) (at string, err error) {
	if _, ok := checkpoint.ParseState(l.State.String()); !ok {
		return "", fmt.Errorf("%s: it has no state", op)
	}
	if at, err = position(l.Checkpoint); err != nil {
		return "", fmt.Errorf("%s: %w", op, err)
	}
	return at, nil
}

// newRow is a lease as Create puts it.
func newRow(l checkpoint.Lease) (item, error) {
	at, err := check(fmt.Sprintf("making lease %v", l.Key), l)
	if err != nil {
		return nil, err
	}
	row := primary(keyOf(l.Key))
	row[controlkey.Schema] = schema()
	row["state"], row["token"], row["heartbeat"] = text(l.State.String()), text(l.Token), text(l.Heartbeat)
	row["checkpoint"], row["position"] = encodeStart(l.Checkpoint), text(at)
	row["sinks"], row["unverified"] = list(l.Sinks), list(l.Unverified)
	row["parents"], row["children"] = list(l.Parents), list(l.Children)
	return row, nil
}

// decodeLease reads a row of the partition of one group and table. An error
// says why the row is foreign.
func decodeLease(group, table string, row item) (checkpoint.Lease, error) {
	d := decoder{row: row}
	d.schema()
	parts, ok := controlkey.Parts(d.text(controlkey.SK))
	if !ok || len(parts) != 2 {
		d.fail("its sort key is not label and shard")
		parts = make([]string, 2)
	}
	state, ok := checkpoint.ParseState(d.text("state"))
	if !ok {
		d.fail("its state is unknown")
	}
	l := checkpoint.Lease{
		Key:        checkpoint.LeaseKey{Group: group, Table: table, Label: parts[0], Shard: source.ShardID(parts[1])},
		State:      state,
		Owner:      d.optional("owner"),
		Token:      d.text("token"),
		Heartbeat:  d.text("heartbeat"),
		Checkpoint: d.start("checkpoint"),
		Sinks:      texts[string](&d, "sinks"),
		Unverified: texts[string](&d, "unverified"),
		Parents:    texts[source.ShardID](&d, "parents"),
		Children:   texts[source.ShardID](&d, "children"),
		Asked:      d.optional("asked"),
		Barren:     d.barren(),
	}
	// A row changed by hand in one place only would refuse every checkpoint, or
	// let one go back.
	if at, err := position(l.Checkpoint); d.err == nil && (err != nil || at != d.text("position")) {
		d.fail("its position is not its checkpoint's")
	}
	return l, d.err
}

// decoder reads attributes and keeps the first thing that is wrong.
type decoder struct {
	row item
	err error
}

func (d *decoder) fail(reason string) {
	if d.err == nil {
		d.err = errors.New(reason)
	}
}

func (d *decoder) schema() {
	if n, ok := d.row[controlkey.Schema].(*types.AttributeValueMemberN); !ok || n.Value != strconv.Itoa(controlkey.Version) {
		d.fail(fmt.Sprintf("its schema is not %d", controlkey.Version))
	}
}

func (d *decoder) text(name string) string {
	s, ok := d.row[name].(*types.AttributeValueMemberS)
	if !ok {
		d.fail(name + " is not text")
		return ""
	}
	return s.Value
}

// optional reads text that may be absent.
func (d *decoder) optional(name string) string {
	if d.row[name] == nil {
		return ""
	}
	return d.text(name)
}

func (d *decoder) millis(name string) time.Time {
	if n, ok := d.row[name].(*types.AttributeValueMemberN); ok {
		if ms, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return time.UnixMilli(ms).UTC()
		}
	}
	d.fail(name + " is not a time in milliseconds")
	return time.Time{}
}

func (d *decoder) start(name string) source.Start {
	m, ok := d.row[name].(*types.AttributeValueMemberM)
	if !ok {
		d.fail(name + " is not a map")
		return source.Start{}
	}
	inner := decoder{row: m.Value}
	kind, ok := source.ParseStartKind(inner.text("kind"))
	if !ok {
		inner.fail("its kind is unknown")
	}
	s := source.Start{Kind: kind}
	switch kind {
	case source.AtSequence, source.AfterSequence:
		sequence, err := event.ParseSequence(inner.text("sequence"))
		if err != nil {
			inner.fail(err.Error())
		}
		s.Sequence = sequence
	case source.AtTime:
		s.Time = inner.millis("time")
	default:
	}
	if inner.err != nil {
		d.fail(name + ": " + inner.err.Error())
	}
	return s
}

// texts reads a list of text; an absent one is empty.
func texts[T ~string](d *decoder, name string) []T {
	if d.row[name] == nil {
		return nil
	}
	l, ok := d.row[name].(*types.AttributeValueMemberL)
	if !ok {
		d.fail(name + " is not a list")
		return nil
	}
	var out []T
	for _, v := range l.Value {
		s, ok := v.(*types.AttributeValueMemberS)
		if !ok {
			d.fail(name + " does not hold text alone")
			return nil
		}
		out = append(out, T(s.Value))
	}
	return out
}
