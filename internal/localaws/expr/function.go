package expr

import "slices"

// arity returns how many operands a function of this kind of expression takes;
// function names are case-sensitive.
func (k Kind) arity(name string) (int, bool) {
	if k == UpdateExpression {
		switch name {
		case "if_not_exists", "list_append":
			return 2, true
		}
		return 0, false
	}
	switch name {
	case "attribute_exists", "attribute_not_exists", "size":
		return 1, true
	case "attribute_type", "begins_with", "contains":
		return 2, true
	}
	return 0, false
}

// typeNames are what attribute_type can ask for.
const typeNames = "B, NULL, SS, BOOL, L, BS, N, NS, S, M"

func validType(name string) bool {
	return slices.Contains([]string{"B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"}, name)
}

// typeOf returns an operand's type tag where the text alone settles it.
func typeOf(o operand) string {
	switch o := o.(type) {
	case literal:
		if o.value != nil {
			return o.value.Tag()
		}
	case *call:
		switch o.name {
		case "size":
			return "N"
		case "list_append":
			return "L"
		case "if_not_exists":
			if len(o.args) == 2 {
				return typeOf(o.args[1])
			}
		}
	case arithmetic:
		return "N"
	}
	return ""
}

// checkCall reports a function that is unknown or given what it cannot take.
func (p *parser) checkCall(c *call) {
	want, ok := p.kind.arity(c.name)
	if !ok {
		language, other := "a condition expression", UpdateExpression
		if p.kind == UpdateExpression {
			language, other = "an update expression", ConditionExpression
		}
		if _, elsewhere := other.arity(c.name); elsewhere {
			p.report(faultFunction, "The function is not allowed in %s; function: %s", language, c.name)
			return
		}
		p.report(faultFunction, "Invalid function name; function: %s", c.name)
		return
	}
	if len(c.args) != want {
		p.report(faultArity, "Incorrect number of operands for operator or function; "+
			"operator or function: %s, number of operands: %d", c.name, len(c.args))
		return
	}
	p.checkMisuse(c.args...)
	p.checkDistinct(c.name, c.args)
	switch c.name {
	case "attribute_exists", "attribute_not_exists", "if_not_exists":
		if _, ok := c.args[0].(path); !ok {
			p.report(faultType, "Operator or function requires a document path; operator or function: %s", c.name)
		}
	case "begins_with":
		p.checkTypes(c.name, c.args, "S", "B")
	case "list_append":
		p.checkTypes(c.name, c.args, "L")
	case "size":
		p.checkTypes(c.name, c.args, "S", "B", "SS", "NS", "BS", "L", "M")
	case "attribute_type":
		p.checkTypes(c.name, c.args[1:], "S")
		p.checkTypeName(c.args[1])
	}
}

func (p *parser) checkTypeName(o operand) {
	if _, ok := o.(literal); !ok {
		p.report(faultType, "Incorrect operand type for operator or function; "+
			"operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
		return
	}
	if name, ok := textOf(o); ok && !validType(name) {
		p.report(faultType, "Invalid attribute type name found; type: %s, valid types: {%s}", name, typeNames)
	}
}

// checkTypes reports the first operand whose type is known and not among the
// allowed ones.
func (p *parser) checkTypes(operator string, operands []operand, allowed ...string) {
	for _, o := range operands {
		if tag := typeOf(o); tag != "" && !slices.Contains(allowed, tag) {
			p.report(faultType, "Incorrect operand type for operator or function; "+
				"operator or function: %s, operand type: %s", operator, tag)
		}
	}
}

// checkMisuse reports a condition that stands where a value is needed.
func (p *parser) checkMisuse(operands ...operand) {
	for _, o := range operands {
		if c, ok := o.(*call); ok && isTest(c.name) {
			p.report(faultMisuse, "The function is not allowed to be used this way in an expression; function: %s", c.name)
		}
	}
}

// isTest reports whether the function answers yes or no.
func isTest(name string) bool {
	switch name {
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains":
		return true
	}
	return false
}

// checkDistinct reports an operator applied to one path twice.
func (p *parser) checkDistinct(operator string, operands []operand) {
	if p.kind == UpdateExpression {
		return // if_not_exists(a, a) and list_append(a, a) are in common use
	}
	first, ok := operands[0].(path)
	if !ok {
		return
	}
	for _, o := range operands[1:] {
		if other, ok := o.(path); ok && slices.Equal(first, other) {
			p.report(faultDistinct, "The first operand must be distinct from the remaining operands for this "+
				"operator or function; operator: %s, first operand: %v", operator, first)
		}
	}
}
