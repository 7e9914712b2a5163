package expr

import (
	"errors"
	"slices"

	"millrace/event"
	"millrace/internal/decimal"
)

// action is what an update does at one place: it turns the value there, nil
// where there is none, into another, nil to remove it.
type action interface {
	apply(before event.Value, item event.Item) (event.Value, error)
}

type (
	set      struct{ value operand }
	remove   struct{}
	add      struct{ amount event.Value }
	deletion struct{ members event.Value }
)

func (a set) apply(_ event.Value, item event.Item) (event.Value, error) {
	return evaluate(a.value, item)
}

func (remove) apply(event.Value, event.Item) (event.Value, error) { return nil, nil }

// apply adds to a number, or members to a set. What is absent counts as zero or
// as the empty set.
func (a add) apply(before event.Value, _ event.Item) (event.Value, error) {
	if before == nil {
		return a.amount, nil
	}
	if before.Tag() != a.amount.Tag() {
		return nil, errorf(wrongOperand)
	}
	switch before := before.(type) {
	case event.Number:
		return combine(before, a.amount, decimal.Decimal.Add)
	case event.StringSet:
		return union(before, a.amount.(event.StringSet)), nil
	case event.NumberSet:
		return union(before, a.amount.(event.NumberSet)), nil
	case event.BinarySet:
		return fromSet(union(toSet(before), toSet(a.amount.(event.BinarySet)))), nil
	}
	return nil, errorf(wrongOperand)
}

// apply takes members out of a set. There are no empty sets, so the last one
// takes the attribute with it.
func (a deletion) apply(before event.Value, _ event.Item) (event.Value, error) {
	if before == nil {
		return nil, nil
	}
	if before.Tag() != a.members.Tag() {
		return nil, errorf(wrongOperand)
	}
	switch before := before.(type) {
	case event.StringSet:
		if left := difference(before, a.members.(event.StringSet)); len(left) > 0 {
			return left, nil
		}
	case event.NumberSet:
		if left := difference(before, a.members.(event.NumberSet)); len(left) > 0 {
			return left, nil
		}
	case event.BinarySet:
		if left := difference(toSet(before), toSet(a.members.(event.BinarySet))); len(left) > 0 {
			return fromSet(left), nil
		}
	default:
		return nil, errorf(wrongOperand)
	}
	return nil, nil
}

// union and difference compare members as text: stored numbers and those of a
// request are in their normal spelling.
func union[S ~[]string](a, b S) S {
	out := slices.Clone(a)
	for _, m := range b {
		if !slices.Contains(a, m) {
			out = append(out, m)
		}
	}
	return out
}

func difference[S ~[]string](a, b S) S {
	return slices.DeleteFunc(slices.Clone(a), func(m string) bool { return slices.Contains(b, m) })
}

func toSet(set event.BinarySet) []string {
	out := make([]string, len(set))
	for i, b := range set {
		out[i] = string(b)
	}
	return out
}

func fromSet(texts []string) event.BinarySet {
	out := make(event.BinarySet, len(texts))
	for i, s := range texts {
		out[i] = []byte(s)
	}
	return out
}

// evaluate computes the right-hand side of a SET from the item as it was.
func evaluate(o operand, item event.Item) (event.Value, error) {
	switch o := o.(type) {
	case literal:
		return o.value, nil
	case path:
		if v := o.lookup(item); v != nil {
			return v, nil
		}
		return nil, errorf(noAttribute)
	case arithmetic:
		a, b, err := evaluateBoth(o.a, o.b, item)
		if err != nil {
			return nil, err
		}
		if o.minus {
			return combine(a, b, decimal.Decimal.Sub)
		}
		return combine(a, b, decimal.Decimal.Add)
	case *call:
		if o.name == "if_not_exists" {
			if v := valueOf(o.args[0], item); v != nil {
				return v, nil
			}
			return evaluate(o.args[1], item)
		}
		return appendLists(o, item)
	}
	return nil, errorf(wrongOperand)
}

func evaluateBoth(a, b operand, item event.Item) (x, y event.Value, err error) {
	if x, err = evaluate(a, item); err != nil {
		return nil, nil, err
	}
	y, err = evaluate(b, item)
	return x, y, err
}

func appendLists(c *call, item event.Item) (event.Value, error) {
	a, b, err := evaluateBoth(c.args[0], c.args[1], item)
	if err != nil {
		return nil, err
	}
	head, ok := a.(event.List)
	if !ok {
		return nil, errorf(wrongOperand)
	}
	tail, ok := b.(event.List)
	if !ok {
		return nil, errorf(wrongOperand)
	}
	return slices.Concat(head, tail), nil
}

// combine adds or subtracts two values that must be numbers.
func combine(a, b event.Value, operation func(x, y decimal.Decimal) (decimal.Decimal, error)) (event.Value, error) {
	x, err := number(a)
	if err != nil {
		return nil, err
	}
	y, err := number(b)
	if err != nil {
		return nil, err
	}
	sum, err := operation(x, y)
	if errors.Is(err, decimal.ErrDigits) {
		err = decimal.ErrOverflow // how the service words a sum of too many digits
	}
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	return event.Number(sum.String()), nil
}

func number(v event.Value) (decimal.Decimal, error) {
	n, ok := v.(event.Number)
	if !ok {
		return decimal.Decimal{}, errorf(wrongOperand)
	}
	d, err := decimal.Parse(string(n))
	if err != nil {
		return decimal.Decimal{}, &Error{Message: err.Error()}
	}
	return d, nil
}
