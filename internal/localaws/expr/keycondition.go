package expr

import (
	"strings"

	"millrace/event"
)

// SortOperator is the comparison a key condition makes on the sort key.
type SortOperator string

// The operators a key condition allows on a sort key.
const (
	SortAny            SortOperator = "" // the condition names no sort key
	SortEqual          SortOperator = "="
	SortLess           SortOperator = "<"
	SortLessOrEqual    SortOperator = "<="
	SortGreater        SortOperator = ">"
	SortGreaterOrEqual SortOperator = ">="
	SortBetween        SortOperator = "BETWEEN"     // both bounds belong to the range
	SortBeginsWith     SortOperator = "begins_with" // a text or bytes
)

// KeyCondition is a parsed KeyConditionExpression. The types of its values are
// not compared with the table's key types.
type KeyCondition struct {
	// PartitionValue is what the partition key must equal.
	PartitionValue event.Value
	// SortOp is the condition on the sort key.
	SortOp SortOperator
	// SortValues are its operands: none for SortAny, the lower and the upper
	// bound for SortBetween, one for the others.
	SortValues []event.Value
}

// Matches reports whether a sort key value satisfies the condition.
func (c *KeyCondition) Matches(v event.Value) bool {
	switch c.SortOp {
	case SortAny:
		return true
	case SortBetween:
		return satisfies(v, ">=", c.SortValues[0]) && satisfies(v, "<=", c.SortValues[1])
	case SortBeginsWith:
		return beginsWith(v, c.SortValues[0])
	case SortEqual, SortLess, SortLessOrEqual, SortGreater, SortGreaterOrEqual:
		return satisfies(v, string(c.SortOp), c.SortValues[0])
	}
	return false
}

// ParseKeyCondition parses a KeyConditionExpression for a table or index with
// the given key attribute names; sort is empty where there is no sort key. Its
// errors are *Error.
func ParseKeyCondition(text string, p *Placeholders, partition, sort string) (*KeyCondition, error) {
	root, _, err := parsePredicate(KeyConditionExpression, text, p)
	if err != nil {
		return nil, err
	}
	found, err := keyTests(root, nil)
	if err != nil {
		return nil, err
	}
	if len(found) > 2 {
		return nil, errorf("Conditions can be of length 1 or 2 only")
	}
	if len(found) == 2 && found[0].attribute != partition {
		found[0], found[1] = found[1], found[0]
	}
	first := found[0]
	if first.attribute != partition {
		return nil, errorf("Query condition missed key schema element: %s", partition)
	}
	if first.operator != SortEqual {
		return nil, errorf("Query key condition not supported")
	}
	condition := &KeyCondition{PartitionValue: first.values[0]}
	if len(found) == 1 {
		return condition, nil
	}
	switch second := found[1]; {
	case sort == "":
		return nil, errorf("Query key condition not supported")
	case second.attribute != sort:
		return nil, errorf("Query condition missed key schema element: %s", sort)
	default:
		condition.SortOp, condition.SortValues = second.operator, second.values
	}
	return condition, nil
}

// keyTest is one condition on one top-level attribute.
type keyTest struct {
	attribute string
	operator  SortOperator
	values    []event.Value
}

// keyTests takes a condition apart at its ANDs. The messages of this language
// carry no "Invalid KeyConditionExpression:" before them.
func keyTests(n predicate, found []keyTest) ([]keyTest, error) {
	var one keyTest
	var err error
	switch n := n.(type) {
	case and:
		if found, err = keyTests(n.a, found); err != nil {
			return nil, err
		}
		return keyTests(n.b, found)
	case comparison:
		if n.operator == "<>" {
			return nil, wrongKeyOperator(n.operator)
		}
		a, b, operator := n.a, n.b, SortOperator(n.operator)
		if _, ok := a.(literal); ok {
			a, b, operator = b, a, mirrored(operator)
		}
		one, err = newKeyTest(operator, a, b)
	case between:
		if _, ok := n.value.(path); !ok {
			return nil, keyNotFirst("BETWEEN")
		}
		one, err = newKeyTest(SortBetween, n.value, n.low, n.high)
	case test:
		if n.function != string(SortBeginsWith) {
			return nil, wrongKeyOperator(n.function)
		}
		if _, ok := n.args[0].(path); !ok {
			return nil, keyNotFirst(n.function)
		}
		one, err = newKeyTest(SortBeginsWith, n.args[0], n.args[1])
	case or:
		return nil, wrongKeyOperator("OR")
	case not:
		return nil, wrongKeyOperator("NOT")
	case in:
		return nil, wrongKeyOperator("IN")
	}
	if err != nil {
		return nil, err
	}
	for _, other := range found {
		if other.attribute == one.attribute {
			return nil, errorf("KeyConditionExpressions must only contain one condition per key")
		}
	}
	return append(found, one), nil
}

func newKeyTest(operator SortOperator, key operand, values ...operand) (keyTest, error) {
	for _, o := range append([]operand{key}, values...) {
		if _, ok := o.(*call); ok {
			return keyTest{}, errorf("KeyConditionExpressions cannot contain nested operations")
		}
	}
	attribute, ok := key.(path)
	if !ok {
		return keyTest{}, errorf("Invalid condition in KeyConditionExpression: No key attribute specified")
	}
	made := keyTest{attribute: attribute[0].name, operator: operator}
	for _, o := range values {
		l, ok := o.(literal)
		if !ok {
			return keyTest{}, errorf("Invalid condition in KeyConditionExpression: " +
				"Multiple attribute names used in one condition")
		}
		made.values = append(made.values, l.value)
	}
	if len(attribute) > 1 {
		return keyTest{}, errorf("KeyConditionExpressions cannot have conditions on nested attributes")
	}
	return made, nil
}

func wrongKeyOperator(operator string) error {
	return errorf("Invalid operator used in KeyConditionExpression: %s", operator)
}

func keyNotFirst(operator string) error {
	return errorf("Invalid condition in KeyConditionExpression: "+
		"%s operator must have the key attribute as its first operand", operator)
}

// mirrored is the operator that holds for (b, a) when the given one holds for
// (a, b).
func mirrored(operator SortOperator) SortOperator {
	return SortOperator(strings.NewReplacer("<", ">", ">", "<").Replace(string(operator)))
}
