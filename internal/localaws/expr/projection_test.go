package expr

import (
	"strings"
	"testing"

	"millrace/event"
)

func TestProjections(t *testing.T) {
	names := map[string]string{"#d": "a.b", "#name": "name", "#list": "list"}
	for text, want := range map[string]event.Item{
		"s":                            {"s": event.String("hello")},
		"s, n":                         {"s": event.String("hello"), "n": event.Number("5")},
		"absent":                       {},
		"s\n,absent":                   {"s": event.String("hello")},
		"m.x":                          {"m": event.Map{"x": event.Number("1")}},
		"m.y":                          {},
		"m.x.y":                        {},
		"s[0]":                         {},
		"l.x":                          {},
		"l[1]":                         {"l": event.List{event.String("two")}},
		"l[2], l[0]":                   {"l": event.List{event.Number("1"), event.List{event.Number("3.0")}}},
		"l[9], l[2][0]":                {"l": event.List{event.List{event.Number("3.0")}}},
		"a" + strings.Repeat(".b", 31): {},
		"l[9]":                         {},
		"#d":                           {"a.b": event.String("dotted")},
		"#d, #name":                    {"a.b": event.String("dotted")},
		"m.deep.#list, s":              {"m": event.Map{"deep": event.Map{"list": event.List{event.Map{"v": event.String("here")}}}}, "s": event.String("hello")},
		"m.x, m.deep.#list[0].v": {"m": event.Map{
			"x": event.Number("1"), "deep": event.Map{"list": event.List{event.Map{"v": event.String("here")}}},
		}},
	} {
		p, err := ParseProjection(text, NewPlaceholders(names, nil))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		item := sample()
		if got := p.Apply(item); !got.Equal(want) {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
		if !item.Equal(sample()) {
			t.Errorf("%s changed the item", text)
		}
	}
}

func TestProjectionErrors(t *testing.T) {
	const clash = "; must remove or rewrite one of these paths; path one: "
	for text, want := range map[string]string{
		"":                              "The expression can not be empty;",
		"a, a":                          "Two document paths overlap with each other" + clash + "[a], path two: [a]",
		"a, a.b":                        "Two document paths overlap with each other" + clash + "[a], path two: [a, b]",
		"a.b, c, a":                     "Two document paths overlap with each other" + clash + "[a, b], path two: [a]",
		"a[0].b, a[0]":                  "Two document paths overlap with each other" + clash + "[a, [0], b], path two: [a, [0]]",
		"a, #a":                         "Two document paths overlap with each other" + clash + "[a], path two: [a]",
		"a[0], a.b":                     "Two document paths conflict with each other" + clash + "[a, [0]], path two: [a, b]",
		"a,":                            `Syntax error; token: "<EOF>", near: ","`,
		",a":                            `Syntax error; token: ",", near: ",a"`,
		"a b":                           `Syntax error; token: "b", near: "a b"`,
		"!!":                            `Syntax error; token: "!", near: "!!"`,
		"size(a)":                       `Syntax error; token: "(", near: "size(a"`,
		":a":                            `Syntax error; token: ":a", near: ":a"`,
		"a.b-c":                         `Syntax error; token: "-", near: "b-c"`,
		"#x":                            "An expression attribute name used in the document path is not defined; attribute name: #x",
		"name":                          "Attribute name is a reserved keyword; reserved keyword: name",
		"a.Timestamp":                   "Attribute name is a reserved keyword; reserved keyword: Timestamp",
		"a" + strings.Repeat("[0]", 32): "The document path has too many nesting levels; nesting levels: 33",
		"and":                           "Attribute name is a reserved keyword; reserved keyword: and",
	} {
		_, err := ParseProjection(text, NewPlaceholders(map[string]string{"#a": "a"}, nil))
		checkMessage(t, text, err, "Invalid ProjectionExpression: "+want)
	}
}

func TestReservedWords(t *testing.T) {
	for _, word := range []string{"ABORT", "abort", "Name", "status", "ZONE", "ttl", "Timestamp", "_private", "version", "sequence"} {
		want := word != "_private" && word != "version"
		if reserved(word) != want {
			t.Errorf("reserved(%s) is %v", word, !want)
		}
	}
}
