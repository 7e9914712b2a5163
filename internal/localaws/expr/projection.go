package expr

import "millrace/event"

// Projection is a parsed ProjectionExpression. It is immutable and safe for
// concurrent use.
type Projection struct{ root *selection }

// ParseProjection parses a ProjectionExpression. Its errors are *Error.
func ParseProjection(text string, p *Placeholders) (*Projection, error) {
	parser, err := newParser(ProjectionExpression, text, p)
	if err != nil {
		return nil, err
	}
	paths := []path{parser.path()}
	for parser.take(",") {
		paths = append(paths, parser.path())
	}
	parser.checkOverlap(paths)
	if err := parser.finish(); err != nil {
		return nil, err
	}
	return newProjection(paths), nil
}

func newProjection(paths []path) *Projection {
	root := &selection{}
	for _, wanted := range paths {
		node := root
		for _, s := range wanted {
			node = node.child(s)
		}
	}
	return &Projection{root}
}

// checkOverlap reports the first two paths that cannot stand side by side.
func (p *parser) checkOverlap(paths []path) {
	for i, second := range paths {
		for _, first := range paths[:i] {
			if clash := first.clash(second); clash != "" {
				p.report(faultOverlap, "%s", clash)
				return
			}
		}
	}
}

// Apply returns the parts of the item that the projection names, nested as
// they were; the elements it picks from a list close up, in their order. Paths
// that the item does not have are left out. The result shares values with the
// item.
func (p *Projection) Apply(item event.Item) event.Item {
	if item == nil {
		return nil
	}
	chosen, _ := p.root.of(event.Map(item)).(event.Map)
	if chosen == nil {
		return event.Item{}
	}
	return event.Item(chosen)
}

// selection is a set of paths with their common beginnings joined. One without
// children selects the whole value.
type selection struct{ children map[step]*selection }

func (n *selection) child(s step) *selection {
	if n.children == nil {
		n.children = make(map[step]*selection)
	}
	c, ok := n.children[s]
	if !ok {
		c = &selection{}
		n.children[s] = c
	}
	return c
}

// of returns the selected parts of a value, or nil where there are none.
func (n *selection) of(v event.Value) event.Value {
	if v == nil || n.children == nil {
		return v
	}
	switch v := v.(type) {
	case event.Map:
		out := make(event.Map)
		for s, c := range n.children {
			if part := c.of(s.of(v)); part != nil {
				out[s.name] = part
			}
		}
		if len(out) > 0 {
			return out
		}
	case event.List:
		var out event.List
		for _, s := range sortedSteps(n.children) {
			if part := n.children[s].of(s.of(v)); part != nil {
				out = append(out, part)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
