package expr

import (
	"slices"

	"millrace/event"
)

// Update is a parsed UpdateExpression. It is immutable and safe for concurrent
// use.
type Update struct {
	edits   *edit       // everything to do
	writes  *edit       // the same without REMOVE, for an item that does not exist
	touched *Projection // the paths of all clauses
}

// ParseUpdate parses an UpdateExpression for a table with the given key
// attributes, which it must not touch. Its errors are *Error.
func ParseUpdate(text string, p *Placeholders, keys []string) (*Update, error) {
	parser, err := newParser(UpdateExpression, text, p)
	if err != nil {
		return nil, err
	}
	edits := parser.sections()
	paths := make([]path, len(edits))
	for i, e := range edits {
		paths[i] = e.at
	}
	parser.checkOverlap(paths)
	if err := parser.finish(); err != nil {
		return nil, err
	}
	u := &Update{edits: &edit{}, writes: &edit{}, touched: newProjection(paths)}
	for _, e := range edits {
		if name := e.at[0].name; slices.Contains(keys, name) {
			return nil, invalid("Cannot update attribute %s. This attribute is part of the key", name)
		}
		u.edits.place(e)
		if e.action != (remove{}) {
			u.writes.place(e)
		}
	}
	return u, nil
}

// placedAction is what one clause of an update does, and where.
type placedAction struct {
	at     path
	action action
}

// sections reads the clauses of an update, each of which may come once.
func (p *parser) sections() []placedAction {
	var actions []placedAction
	seen := make(map[string]bool)
	for p.peek().kind != tokenEnd {
		section, one := p.section()
		if one == nil {
			p.unexpected()
			break
		}
		if seen[section] {
			p.report(faultSection, `The "%s" section can only be used once in an update expression;`, section)
		}
		seen[section] = true
		actions = append(actions, one())
		for p.take(",") {
			actions = append(actions, one())
		}
	}
	return actions
}

// section consumes a clause's keyword and returns the reader of its actions;
// nil where no clause begins.
func (p *parser) section() (string, func() placedAction) {
	switch {
	case p.takeWord("SET"):
		return "SET", func() placedAction {
			at := p.path()
			p.expect("=")
			return placedAction{at, set{p.setValue()}}
		}
	case p.takeWord("REMOVE"):
		return "REMOVE", func() placedAction { return placedAction{p.path(), remove{}} }
	case p.takeWord("ADD"):
		return "ADD", func() placedAction {
			at, v := p.path(), p.literal()
			p.checkSetOperand("ADD", v)
			return placedAction{at, add{v.value}}
		}
	case p.takeWord("DELETE"):
		return "DELETE", func() placedAction {
			at, v := p.path(), p.literal()
			p.checkSetOperand("DELETE", v)
			return placedAction{at, deletion{v.value}}
		}
	}
	return "", nil
}

// arithmetic is a + b, or a - b where minus is set.
type arithmetic struct {
	a, b  operand
	minus bool
}

// setValue reads the right-hand side of a SET: one operand or two with + or -
// between them. Longer sums are no part of the language.
func (p *parser) setValue() operand {
	left := p.setOperand()
	t := p.peek()
	if !t.is("+") && !t.is("-") {
		return left
	}
	if _, ok := left.(arithmetic); ok {
		p.unexpected()
	}
	p.next()
	right := p.setOperand()
	if _, ok := right.(arithmetic); ok {
		p.unexpected()
	}
	p.checkTypes(t.text, []operand{left, right}, "N")
	return arithmetic{left, right, t.text == "-"}
}

func (p *parser) setOperand() operand {
	if !p.take("(") {
		return p.operand(p.setOperand)
	}
	p.enter()
	defer p.leave()
	inner := p.setValue()
	p.expect(")")
	return inner
}

// checkSetOperand reports a literal that ADD or DELETE cannot work with. This
// message spells types out, unlike all others.
func (p *parser) checkSetOperand(operator string, l literal) {
	var name string
	switch l.value.(type) {
	case event.Number:
		if operator == "ADD" {
			return
		}
		name = "NUMBER"
	case event.String:
		name = "STRING"
	case event.Binary:
		name = "BINARY"
	case event.Bool:
		name = "BOOLEAN"
	case event.Null:
		name = "NULL"
	case event.List:
		name = "LIST"
	case event.Map:
		name = "MAP"
	default: // a set, or an undefined placeholder that is reported as such
		return
	}
	p.report(faultType, "Incorrect operand type for operator or function; operator: %s, operand type: %s", operator, name)
}
