package expr

import (
	"slices"
	"strconv"

	"millrace/event"
)

const (
	maxBytes = 4096 // Developer Guide, "Constraints": expression parameters
	// maxDepth bounds parentheses, NOT and functions within each other, so
	// that a hostile text cannot exhaust the stack. The service has no
	// documented figure; this one is its limit of operators in an update.
	maxDepth = 300
)

// A fault is an error of meaning in a text whose syntax is right. DynamoDB
// reports syntax first and then one fault, chosen in this order.
type fault int

const (
	faultParentheses fault = iota
	faultFunction
	faultMisuse
	faultReserved
	faultSection
	faultPlaceholder
	faultOverlap
	faultArity
	faultDistinct
	faultType
	noFault
)

// operand is something with a value: a path, a literal, a *call or an
// arithmetic.
type operand any

// literal is a :value placeholder, resolved.
type literal struct{ value event.Value }

// call is a function applied to operands.
type call struct {
	name string
	args []operand
}

// parser walks the tokens of one expression. After a syntax error it stands at
// the end and stays there, so callers need not look for one at every step.
type parser struct {
	kind         Kind
	text         string
	tokens       []token
	at           int
	depth        int
	placeholders *Placeholders
	names        []string // the top-level attributes that paths begin with

	syntax *Error // the first syntax error
	fault  *Error // the first fault of the highest rank
	rank   fault
}

func newParser(kind Kind, text string, placeholders *Placeholders) (*parser, error) {
	if placeholders.err != nil {
		return nil, placeholders.err
	}
	placeholders.parsed = true
	if len(text) > maxBytes {
		return nil, kind.errorf("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	p := &parser{kind: kind, text: text, tokens: tokenize(text), placeholders: placeholders, rank: noFault}
	if len(p.tokens) == 1 {
		return nil, kind.errorf("The expression can not be empty;")
	}
	return p, nil
}

// finish returns the expression's error, after checking that nothing trails it.
func (p *parser) finish() error {
	if p.syntax == nil && p.peek().kind != tokenEnd {
		p.unexpected()
	}
	if p.syntax != nil {
		return p.syntax
	}
	if p.fault != nil {
		return p.fault
	}
	return nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

// take consumes the symbol if it comes next.
func (p *parser) take(symbol string) bool {
	if !p.peek().is(symbol) {
		return false
	}
	p.at++
	return true
}

// takeWord consumes the keyword if it comes next.
func (p *parser) takeWord(keyword string) bool {
	if !p.peek().keyword(keyword) {
		return false
	}
	p.at++
	return true
}

// expect consumes the symbol, or reports the token that stands in its place.
func (p *parser) expect(symbol string) {
	if !p.take(symbol) {
		p.unexpected()
	}
}

// unexpected reports a syntax error at the next token, with its neighbours.
func (p *parser) unexpected() {
	t := p.peek()
	from, to := max(p.at-1, 0), min(p.at+1, len(p.tokens)-1)
	if p.tokens[to].kind == tokenEnd {
		to-- // the end itself and the blanks before it are not shown
	}
	near := p.text[p.tokens[from].start:p.tokens[to].end]
	p.stop(p.kind.errorf(`Syntax error; token: "%s", near: "%s"`, t.text, near))
}

func (p *parser) stop(err *Error) {
	if p.syntax == nil {
		p.syntax = err
	}
	p.at = len(p.tokens) - 1
}

func (p *parser) report(rank fault, format string, args ...any) {
	if rank < p.rank {
		p.rank, p.fault = rank, p.kind.errorf(format, args...)
	}
}

// enter counts a level of nesting; leave must follow it in any case.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.stop(p.kind.errorf("The expression is nested too deeply; maximum depth: %d", maxDepth))
	}
}

func (p *parser) leave() { p.depth-- }

// keywords are the words that structure this kind of expression and so cannot
// be names in it.
func (k Kind) keywords() []string {
	switch k {
	case ConditionExpression, FilterExpression, KeyConditionExpression:
		return []string{"AND", "OR", "NOT", "BETWEEN", "IN"}
	case UpdateExpression:
		return []string{"SET", "REMOVE", "ADD", "DELETE"}
	case ProjectionExpression:
	}
	return nil
}

func (p *parser) atKeyword() bool {
	return slices.ContainsFunc(p.kind.keywords(), p.peek().keyword)
}

// path reads a document path.
func (p *parser) path() path {
	found := path{{name: p.pathName()}}
	p.names = append(p.names, found[0].name)
	for {
		switch {
		case p.take("."):
			found = append(found, step{name: p.pathName()})
		case p.take("["):
			found = append(found, step{index: p.listIndex(), list: true})
			p.expect("]")
		default:
			if len(found) > maxLevels {
				p.report(faultType, "The document path has too many nesting levels; nesting levels: %d", len(found))
			}
			return found
		}
	}
}

func (p *parser) pathName() string {
	switch t := p.peek(); {
	case t.kind == tokenName:
		p.next()
		name, ok := p.placeholders.name(t.text)
		if !ok {
			p.report(faultPlaceholder, "An expression attribute name used in the document path is not defined; "+
				"attribute name: %s", t.text)
		}
		return name
	case t.kind == tokenWord && !p.atKeyword():
		p.next()
		if reserved(t.text) {
			p.report(faultReserved, "Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		return t.text
	}
	p.unexpected()
	return ""
}

func (p *parser) listIndex() int {
	t := p.peek()
	if t.kind != tokenDigits {
		p.unexpected()
		return 0
	}
	p.next()
	index, err := strconv.ParseInt(t.text, 10, 32)
	if err != nil {
		p.report(faultType, "List index is not within the allowable range; index: [%s]", t.text)
	}
	return int(index)
}

// literal reads a :value placeholder.
func (p *parser) literal() literal {
	t := p.peek()
	if t.kind != tokenValue {
		p.unexpected()
		return literal{}
	}
	p.next()
	v, ok := p.placeholders.value(t.text)
	if !ok {
		p.report(faultPlaceholder, "An expression attribute value used in expression is not defined; "+
			"attribute value: %s", t.text)
	}
	return literal{v}
}

// operand reads a value, a function or a path, without parentheses around it.
func (p *parser) operand(argument func() operand) operand {
	switch t := p.peek(); {
	case t.kind == tokenValue:
		return p.literal()
	case t.kind == tokenWord && !p.atKeyword() && p.tokens[p.at+1].is("("):
		p.next()
		return p.call(t.text, argument)
	}
	return p.path()
}

// call reads a function's arguments, each by the given function.
func (p *parser) call(name string, argument func() operand) *call {
	p.enter()
	defer p.leave()
	p.expect("(")
	c := &call{name: name, args: []operand{argument()}}
	for p.take(",") {
		c.args = append(c.args, argument())
	}
	p.expect(")")
	p.checkCall(c)
	return c
}
