package failure

import (
	"strconv"

	"millrace/event"
)

// Operator says what a Condition asks. The set is closed: what stores a marker
// renders every one of them.
type Operator uint8

// The operators. A comparison with an absent attribute, or with one of another
// type, does not hold (Developer Guide, "Comparison operator and function
// reference").
const (
	All     Operator = iota // every condition of Of holds
	Any                     // at least one of Of holds
	Absent                  // the row has no such attribute
	OneOf                   // the attribute equals one of Values
	Below                   // the number is less than the one of Values
	AtMost                  // the number is not greater than the one of Values
	AtLeast                 // the number is not less than the one of Values
)

// Condition is an expression over one row's attributes. It is a value: it can
// be evaluated on a row in memory, rendered for DynamoDB, and taken apart.
type Condition struct {
	Operator  Operator
	Attribute string        // of all operators but All and Any
	Values    []event.Value // one, but for OneOf
	Of        []Condition   // of All and Any; never empty
}

// Holds evaluates the condition on a row; nil is no row.
func (c Condition) Holds(row event.Item) bool {
	value, present := row[c.Attribute]
	switch c.Operator {
	case All:
		for _, part := range c.Of {
			if !part.Holds(row) {
				return false
			}
		}
		return true
	case Any:
		for _, part := range c.Of {
			if part.Holds(row) {
				return true
			}
		}
		return false
	case Absent:
		return !present
	case OneOf:
		for _, allowed := range c.Values {
			if event.Equal(value, allowed) {
				return true
			}
		}
		return false
	case Below, AtMost, AtLeast:
		have, ok := asVersion(value)
		limit, limited := asVersion(c.Values[0])
		if !ok || !limited {
			return false
		}
		switch c.Operator {
		case Below:
			return have < limit
		case AtMost:
			return have <= limit
		default:
			return have >= limit
		}
	}
	return false
}

func all(of ...Condition) Condition { return Condition{Operator: All, Of: of} }

func either(of ...Condition) Condition { return Condition{Operator: Any, Of: of} }

func absent(attribute string) Condition { return Condition{Operator: Absent, Attribute: attribute} }

// is asks for one of some texts.
func is(attribute string, texts ...string) Condition {
	c := Condition{Operator: OneOf, Attribute: attribute}
	for _, t := range texts {
		c.Values = append(c.Values, event.String(t))
	}
	return c
}

func compare(attribute string, o Operator, version uint64) Condition {
	return Condition{Operator: o, Attribute: attribute, Values: []event.Value{number(version)}}
}

func number(n uint64) event.Number { return event.Number(strconv.FormatUint(n, 10)) }

// asVersion reads a number that is a version: markers hold no other numbers in
// the attributes that are compared.
func asVersion(v event.Value) (uint64, bool) {
	n, ok := v.(event.Number)
	if !ok {
		return 0, false
	}
	version, err := strconv.ParseUint(string(n), 10, 64)
	return version, err == nil
}

// VersionValue is a version as a row holds it.
func VersionValue(version uint64) event.Value { return number(version) }

// AsVersion reads a version that a row holds.
func AsVersion(v event.Value) (uint64, bool) { return asVersion(v) }
