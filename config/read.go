package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// reader fills a declaration from one file.
type reader struct {
	problems
	lookup func(string) (string, bool)
	lines  map[string]int // of each key that was given, by its path
}

// read fills the fields from YAML. What is wrong stands in the reader.
func (r *reader) read(data []byte, fields []field) {
	r.lines = map[string]int{}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) {
			r.add(syntax.GetToken().Position.Line, "", "%s", advised(syntax.GetMessage()))
			return
		}
		r.add(0, "", "%v", err)
		return
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		r.add(0, "", "the file is empty")
	case 1:
		r.block(bodies[0], "", fields)
	default:
		r.add(bodies[1].GetToken().Position.Line, "", "a second document begins; the file holds one")
	}
}

// advised is a message of the parser, with what to do about it.
func advised(message string) string {
	if strings.Contains(message, "'\t'") {
		return "a tab stands where only spaces may: indent with spaces"
	}
	return message
}

// line is where a key was given, or else the nearest one around it.
func (r *reader) line(path string) int {
	for {
		if line, ok := r.lines[path]; ok {
			return line
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return 0
		}
		path = path[:cut]
	}
}

func lineOf(n ast.Node) int { return n.GetToken().Position.Line }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// pairs are the keys of a mapping, false when the node is none.
func (r *reader) pairs(n ast.Node, path, expected string) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	case *ast.NullNode:
		return nil, true
	default:
		r.unfit(n, path, expected, nil)
		return nil, false
	}
}

func (r *reader) block(n ast.Node, path string, fields []field) {
	pairs, ok := r.pairs(n, path, string(blockKind))
	if !ok {
		return
	}
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	given := map[string]bool{}
	for _, pair := range pairs {
		key, at := pair.Key.GetToken().Value, join(path, pair.Key.GetToken().Value)
		line := lineOf(pair.Key)
		if given[key] {
			r.add(line, at, "the key is given twice")
			continue
		}
		given[key] = true
		f := find(fields, key)
		if f == nil {
			if near := nearest(key, known); near != "" {
				r.add(line, at, "unknown key; did you mean %q?", near)
			} else {
				r.add(line, at, "unknown key; known here: %s", strings.Join(known, ", "))
			}
			continue
		}
		r.lines[at] = line
		r.value(pair.Value, at, *f)
	}
	for _, f := range fields {
		if f.need && !given[f.key] {
			line := 0
			if len(pairs) > 0 {
				line = lineOf(pairs[0].Key)
			}
			r.add(line, join(path, f.key), "the key is missing; it takes %s", f.expected())
		}
	}
}

func find(fields []field, key string) *field {
	for i := range fields {
		if fields[i].key == key {
			return &fields[i]
		}
	}
	return nil
}

func (r *reader) value(n ast.Node, path string, f field) {
	if f.later != "" {
		r.add(lineOf(n), path, "%s", f.later)
		return
	}
	switch f.kind {
	case blockKind:
		if f.given != nil {
			*f.given = true
		}
		r.block(n, path, f.fields)
	case listKind, textsKind:
		entries, ok := n.(*ast.SequenceNode)
		if !ok {
			r.unfit(n, path, f.expected(), nil)
			return
		}
		for i, entry := range entries.Values {
			at := fmt.Sprintf("%s[%d]", path, i)
			r.lines[at] = lineOf(entry)
			if f.kind == listKind {
				r.block(entry, at, f.entry())
			} else {
				r.scalar(entry, at, f)
			}
		}
	case keyedKind:
		pairs, _ := r.pairs(n, path, f.expected())
		given := map[string]bool{}
		for _, pair := range pairs {
			name := pair.Key.GetToken().Value
			at := join(path, name)
			if given[name] {
				r.add(lineOf(pair.Key), at, "the name is given twice")
				continue
			}
			given[name] = true
			r.lines[at] = lineOf(pair.Key)
			r.block(pair.Value, at, f.named(name))
		}
	case mapKind:
		pairs, _ := r.pairs(n, path, f.expected())
		for _, pair := range pairs {
			key := pair.Key.GetToken().Value
			at := join(path, key)
			r.lines[at] = lineOf(pair.Key)
			r.scalar(pair.Value, at, field{kind: textKind, set: func(s string) error {
				f.put(key, s)
				return nil
			}})
		}
	default:
		r.scalar(n, path, f)
	}
}

func (r *reader) scalar(n ast.Node, path string, f field) {
	raw, ok := r.text(n, path, f)
	if !ok {
		return
	}
	value, err := expand(raw, r.lookup)
	if err == nil && value == "" && f.need {
		err = errors.New("it is empty")
	}
	if err == nil {
		err = f.set(value)
	}
	switch {
	case errors.Is(err, errUnfit):
		r.unfit(n, path, f.expected(), &value)
	case err != nil && f.kind == choiceKind:
		r.add(lineOf(n), path, "%q is not %s; %v", value, f.expected(), err)
	case err != nil && value != "":
		r.add(lineOf(n), path, "%q: %v", value, err)
	case err != nil:
		r.add(lineOf(n), path, "%v", err)
	}
}

// text is a scalar as it is written.
func (r *reader) text(n ast.Node, path string, f field) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.NullNode:
		r.add(lineOf(n), path, "it has no value; it takes %s", f.expected())
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.add(lineOf(n), path, "anchors, aliases and tags are not used here; write the value out")
	default:
		r.unfit(n, path, f.expected(), nil)
	}
	return "", false
}

func (r *reader) unfit(n ast.Node, path, expected string, value *string) {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.add(lineOf(n), path, "anchors, aliases and tags are not used here; write the value out")
		return
	}
	if value == nil {
		what := "this"
		switch n.Type() {
		case ast.MappingType, ast.MappingValueType:
			what = "a block of keys"
		case ast.SequenceType:
			what = "a list"
		default:
			shown := n.GetToken().Value
			if n.GetToken().Type == token.StringType || shown != "" {
				what = fmt.Sprintf("%q", shown)
			}
		}
		r.add(lineOf(n), path, "%s stands where it takes %s", what, expected)
		return
	}
	r.add(lineOf(n), path, "%q is not %s", *value, expected)
}
