package expr

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"millrace/event"
)

// predicate is a node of a condition's tree.
type predicate interface {
	holds(item event.Item) bool
}

type (
	and struct{ a, b predicate }
	or  struct{ a, b predicate }
	not struct{ a predicate }
	// comparison is one of = <> < <= > >=.
	comparison struct {
		operator string
		a, b     operand
	}
	between struct{ value, low, high operand }
	in      struct {
		value operand
		list  []operand
	}
	// test is a function that answers yes or no.
	test struct {
		function string
		args     []operand
	}
)

func (n and) holds(item event.Item) bool { return n.a.holds(item) && n.b.holds(item) }
func (n or) holds(item event.Item) bool  { return n.a.holds(item) || n.b.holds(item) }
func (n not) holds(item event.Item) bool { return !n.a.holds(item) }

func (n comparison) holds(item event.Item) bool {
	return satisfies(valueOf(n.a, item), n.operator, valueOf(n.b, item))
}

func satisfies(a event.Value, operator string, b event.Value) bool {
	switch operator {
	case "=":
		return a != nil && EqualValues(a, b)
	case "<>":
		return a == nil || !EqualValues(a, b)
	}
	order, ok := compare(a, b)
	if !ok {
		return false
	}
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return false
}

func (n between) holds(item event.Item) bool {
	v := valueOf(n.value, item)
	return satisfies(v, ">=", valueOf(n.low, item)) && satisfies(v, "<=", valueOf(n.high, item))
}

func (n in) holds(item event.Item) bool {
	v := valueOf(n.value, item)
	return v != nil && slices.ContainsFunc(n.list, func(o operand) bool { return EqualValues(v, valueOf(o, item)) })
}

func (n test) holds(item event.Item) bool {
	v := valueOf(n.args[0], item)
	switch n.function {
	case "attribute_exists":
		return v != nil
	case "attribute_not_exists":
		return v == nil
	case "attribute_type":
		name, _ := textOf(n.args[1])
		return v != nil && v.Tag() == name
	case "begins_with":
		return beginsWith(v, valueOf(n.args[1], item))
	case "contains":
		return contains(v, valueOf(n.args[1], item))
	}
	return false
}

// valueOf returns an operand's value, or nil where the item has none.
func valueOf(o operand, item event.Item) event.Value {
	switch o := o.(type) {
	case literal:
		return o.value
	case path:
		return o.lookup(item)
	case *call:
		return size(valueOf(o.args[0], item))
	}
	return nil
}

func textOf(o operand) (string, bool) {
	l, _ := o.(literal)
	s, ok := l.value.(event.String)
	return string(s), ok
}

// size returns a value's size as a number, or nil for a type that has none.
// That of a text is its length in UTF-8 bytes (Developer Guide, "Using the
// SIZE function with PartiQL", which describes the same function).
func size(v event.Value) event.Value {
	n := 0
	switch v := v.(type) {
	case event.String:
		n = len(v)
	case event.Binary:
		n = len(v)
	case event.List:
		n = len(v)
	case event.Map:
		n = len(v)
	case event.StringSet:
		n = len(v)
	case event.NumberSet:
		n = len(v)
	case event.BinarySet:
		n = len(v)
	default:
		return nil
	}
	return event.Number(strconv.Itoa(n))
}

func beginsWith(v, prefix event.Value) bool {
	switch v := v.(type) {
	case event.String:
		prefix, ok := prefix.(event.String)
		return ok && strings.HasPrefix(string(v), string(prefix))
	case event.Binary:
		prefix, ok := prefix.(event.Binary)
		return ok && bytes.HasPrefix(v, prefix)
	}
	return false
}

// contains looks for a part of a text or bytes, a member of a set, or an
// element of a list.
func contains(v, part event.Value) bool {
	switch v := v.(type) {
	case event.String:
		part, ok := part.(event.String)
		return ok && strings.Contains(string(v), string(part))
	case event.Binary:
		part, ok := part.(event.Binary)
		return ok && bytes.Contains(v, part)
	case event.List:
		return part != nil && slices.ContainsFunc(v, func(e event.Value) bool { return EqualValues(e, part) })
	case event.StringSet, event.NumberSet, event.BinarySet:
		return part != nil && slices.ContainsFunc(members(v), func(m event.Value) bool { return EqualValues(m, part) })
	}
	return false
}
