package expr

import (
	"encoding/base64"
	"fmt"

	"millrace/event"
)

// maxIn is how many values IN takes (Developer Guide, "Condition and filter
// expressions, operators, and functions").
const maxIn = 100

// Condition is a parsed ConditionExpression or FilterExpression. It is
// immutable and safe for concurrent use.
type Condition struct {
	root  predicate
	names []string
}

// ParseCondition parses a ConditionExpression or FilterExpression. Its errors
// are *Error.
func ParseCondition(kind Kind, text string, p *Placeholders) (*Condition, error) {
	root, names, err := parsePredicate(kind, text, p)
	if err != nil {
		return nil, err
	}
	return &Condition{root, names}, nil
}

// Names are the top-level attributes that the condition looks at, each as
// often as it does: a Query's filter must not look at the key.
func (c *Condition) Names() []string { return c.names }

// Eval reports whether the condition holds for the item; nil stands for an
// item that does not exist. A condition that compares unlike types or absent
// attributes is no error, it is false (and true for <>).
func (c *Condition) Eval(item event.Item) bool { return c.root.holds(item) }

func parsePredicate(kind Kind, text string, placeholders *Placeholders) (root predicate, names []string, err error) {
	p, err := newParser(kind, text, placeholders)
	if err != nil {
		return nil, nil, err
	}
	root = p.predicate(p.disjunction())
	if err := p.finish(); err != nil {
		return nil, nil, err
	}
	return root, p.names, nil
}

// term is a part of a condition before it is known whether it is a test or a
// value: after an opening parenthesis both can come.
type term struct {
	test     predicate
	value    operand
	enclosed bool // in parentheses
}

// predicate makes a test of a term, or reports that none can stand here.
func (p *parser) predicate(t term) predicate {
	if t.test != nil {
		return t.test
	}
	c, ok := t.value.(*call)
	if !ok {
		p.unexpected()
		return nil
	}
	if _, known := p.kind.arity(c.name); known && !isTest(c.name) {
		p.report(faultMisuse, "The function is not allowed to be used this way in an expression; function: %s", c.name)
	}
	return test{c.name, c.args}
}

// disjunction reads conditions joined by OR, which binds loosest.
func (p *parser) disjunction() term {
	left := p.conjunction()
	for p.peek().keyword("OR") {
		a := p.predicate(left)
		p.next()
		left = term{test: or{a, p.predicate(p.conjunction())}}
	}
	return left
}

// conjunction reads conditions joined by AND.
func (p *parser) conjunction() term {
	left := p.negation()
	for p.peek().keyword("AND") {
		a := p.predicate(left)
		p.next()
		left = term{test: and{a, p.predicate(p.negation())}}
	}
	return left
}

func (p *parser) negation() term {
	if !p.takeWord("NOT") {
		return p.comparison()
	}
	p.enter()
	defer p.leave()
	return term{test: not{p.predicate(p.negation())}}
}

// comparison reads a value with the comparator after it, or a lone term.
func (p *parser) comparison() term {
	left := p.primary()
	switch t := p.peek(); {
	case t.is("="), t.is("<>"), t.is("<"), t.is("<="), t.is(">"), t.is(">="):
		a := p.value(left)
		p.next()
		b := p.value(p.primary())
		p.checkMisuse(a, b)
		p.checkDistinct(t.text, []operand{a, b})
		if t.text != "=" && t.text != "<>" {
			p.checkTypes(t.text, []operand{a, b}, "S", "N", "B")
		}
		return term{test: comparison{t.text, a, b}}
	case t.keyword("BETWEEN"):
		a := p.value(left)
		p.next()
		low := p.value(p.primary())
		if !p.takeWord("AND") {
			p.unexpected()
		}
		high := p.value(p.primary())
		p.checkMisuse(a, low, high)
		p.checkTypes("BETWEEN", []operand{a, low, high}, "S", "N", "B")
		p.checkBounds(low, high)
		return term{test: between{a, low, high}}
	case t.keyword("IN"):
		a := p.value(left)
		p.next()
		p.expect("(")
		list := []operand{p.value(p.primary())}
		for p.take(",") {
			list = append(list, p.value(p.primary()))
		}
		p.expect(")")
		p.checkMisuse(append([]operand{a}, list...)...)
		if len(list) > maxIn {
			p.report(faultArity, "The IN operator is provided with too many operands; number of operands: %d", len(list))
		}
		return term{test: in{a, list}}
	}
	return left
}

// value makes an operand of a term, or reports that none can stand here.
func (p *parser) value(t term) operand {
	if t.value == nil {
		p.unexpected()
	}
	return t.value
}

// primary reads a term in parentheses, or an operand.
func (p *parser) primary() term {
	if !p.take("(") {
		return term{value: p.operand(func() operand { return p.value(p.primary()) })}
	}
	p.enter()
	defer p.leave()
	inner := p.disjunction()
	p.expect(")")
	if inner.enclosed {
		p.report(faultParentheses, "The expression has redundant parentheses;")
	}
	inner.enclosed = true
	return inner
}

// checkBounds reports literal bounds of BETWEEN that nothing can lie between.
func (p *parser) checkBounds(low, high operand) {
	a, ok := low.(literal)
	if !ok || a.value == nil {
		return
	}
	b, ok := high.(literal)
	if !ok || b.value == nil {
		return
	}
	complaint := "requires upper bound to be greater than or equal to lower bound"
	order, comparable := compare(a.value, b.value)
	if comparable && order <= 0 {
		return
	}
	if a.value.Tag() != b.value.Tag() {
		complaint = "requires same data type for lower and upper bounds"
	}
	p.report(faultType, "The BETWEEN operator %s; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s",
		complaint, show(a.value), show(b.value))
}

// show writes a value as DynamoDB's messages do: {S:text}.
func show(v event.Value) string {
	if b, ok := v.(event.Binary); ok {
		return fmt.Sprintf("{B:%s}", base64.StdEncoding.EncodeToString(b))
	}
	return fmt.Sprintf("{%s:%v}", v.Tag(), v)
}
