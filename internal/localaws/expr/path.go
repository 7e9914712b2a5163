package expr

import (
	"fmt"
	"strings"

	"millrace/event"
)

// step is one part of a document path: a name, or an index where list is set.
type step struct {
	name  string
	index int
	list  bool
}

// path is a document path with its placeholders resolved. Its first step is
// always the name of a top-level attribute.
type path []step

// String writes the path as DynamoDB's messages do: [a, b, [1]].
func (p path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		if s.list {
			parts[i] = fmt.Sprintf("[%d]", s.index)
		} else {
			parts[i] = s.name
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// lookup returns the value at the path, or nil where there is none.
func (p path) lookup(item event.Item) event.Value {
	v := item[p[0].name]
	for _, s := range p[1:] {
		v = s.of(v)
	}
	return v
}

// of returns the child of a document, or nil where it has none.
func (s step) of(v event.Value) event.Value {
	switch v := v.(type) {
	case event.Map:
		if !s.list {
			return v[s.name]
		}
	case event.List:
		if s.list && s.index < len(v) {
			return v[s.index]
		}
	}
	return nil
}

// clash returns the fault of using both paths in one expression: DynamoDB
// refuses a path that another one contains, and a place that one path takes
// for a list and the other for a map.
func (p path) clash(other path) string {
	for i := range min(len(p), len(other)) {
		if p[i].list != other[i].list {
			return fmt.Sprintf("Two document paths conflict with each other; "+
				"must remove or rewrite one of these paths; path one: %v, path two: %v", p, other)
		}
		if p[i] != other[i] {
			return ""
		}
	}
	return fmt.Sprintf("Two document paths overlap with each other; "+
		"must remove or rewrite one of these paths; path one: %v, path two: %v", p, other)
}
