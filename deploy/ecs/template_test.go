package ecs

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// tree is a value of a template: map[string]tree, []tree, a text, json.Number or
// bool.
// CloudFormation's short tags are maps of one key: !Ref x is {"Ref": "x"}.
type tree = any

// template is one of the stacks, with its intrinsic functions worked out for the
// default parameters.
type template struct {
	t    *testing.T
	name string
	root map[string]tree
}

func load(t *testing.T, name string) *template {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, name, data)
}

func parse(t *testing.T, name string, data []byte) *template {
	t.Helper()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		t.Fatal(err)
	}
	root, ok := plain(file.Docs[0].Body).(map[string]tree)
	if !ok {
		t.Fatalf("%s is no template", name)
	}
	return &template{t, name, root}
}

func plain(n ast.Node) tree {
	switch n := n.(type) {
	case *ast.MappingNode:
		m := map[string]tree{}
		for _, v := range n.Values {
			m[v.Key.GetToken().Value] = plain(v.Value)
		}
		return m
	case *ast.MappingValueNode:
		return map[string]tree{n.Key.GetToken().Value: plain(n.Value)}
	case *ast.SequenceNode:
		list := []tree{}
		for _, v := range n.Values {
			list = append(list, plain(v))
		}
		return list
	case *ast.TagNode:
		name := strings.TrimPrefix(n.Start.Value, "!")
		if name != "Ref" && name != "Condition" {
			name = "Fn::" + name
		}
		return map[string]tree{name: plain(n.Value)}
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.IntegerNode:
		return json.Number(n.GetToken().Value)
	case *ast.BoolNode:
		return n.Value
	case *ast.NullNode:
		return nil
	default:
		return n.GetToken().Value
	}
}

// at is the value under a path of keys and indexes, with intrinsic functions
// worked out; nil where there is none.
func (x *template) at(path string) tree {
	x.t.Helper()
	var value tree = x.root
	for _, key := range strings.Split(path, "/") {
		switch v := value.(type) {
		case map[string]tree:
			value = v[key]
		case []tree:
			i := 0
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return x.worked(value)
}

var reference = regexp.MustCompile(`\$\{([^}]+)\}`)

func (x *template) worked(value tree) tree {
	switch v := value.(type) {
	case map[string]tree:
		if name, ok := v["Ref"].(string); ok && len(v) == 1 {
			return x.ref(name)
		}
		if text, ok := v["Fn::Sub"].(string); ok && len(v) == 1 {
			return reference.ReplaceAllStringFunc(text, func(r string) string { return fmt.Sprint(x.ref(r[2 : len(r)-1])) })
		}
		if name, ok := v["Fn::GetAtt"].(string); ok && len(v) == 1 {
			return "<" + name + ">"
		}
		m := map[string]tree{}
		for key, one := range v {
			m[key] = x.worked(one)
		}
		return m
	case []tree:
		list := make([]tree, len(v))
		for i, one := range v {
			list[i] = x.worked(one)
		}
		return list
	}
	return value
}

// ref is a parameter's default, or a name for what only a deployment knows.
func (x *template) ref(name string) tree {
	pseudo := map[string]string{"AWS::Partition": "aws", "AWS::Region": "eu-central-1", "AWS::AccountId": "123456789012"}
	if text, ok := pseudo[name]; ok {
		return text
	}
	parameters, _ := x.root["Parameters"].(map[string]tree)
	parameter, _ := parameters[name].(map[string]tree)
	if value, ok := parameter["Default"]; ok {
		return value
	}
	return "<" + name + ">"
}

// resources are those of a type, by their logical names.
func (x *template) resources(kind string) map[string]map[string]tree {
	found := map[string]map[string]tree{}
	all, _ := x.worked(x.root["Resources"]).(map[string]tree)
	for name, r := range all {
		if r, ok := r.(map[string]tree); ok && r["Type"] == kind {
			found[name] = r
		}
	}
	return found
}

func texts(value tree) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []tree:
		var all []string
		for _, one := range v {
			all = append(all, fmt.Sprint(one))
		}
		return all
	}
	return nil
}
