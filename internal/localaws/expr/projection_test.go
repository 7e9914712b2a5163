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

func TestPlaceholders(t *testing.T) {
	names, values := map[string]string{"#a": "a", "#b": "b"}, event.Item{":x": event.Number("1"), ":y": event.Number("2")}
	use := func(condition, update string) error {
		p := NewPlaceholders(names, values)
		if condition != "" {
			if _, err := ParseCondition(ConditionExpression, condition, p); err != nil {
				t.Fatalf("%s: %v", condition, err)
			}
		}
		if update != "" {
			if _, err := ParseUpdate(update, p, nil); err != nil {
				t.Fatalf("%s: %v", update, err)
			}
		}
		return p.Unused()
	}
	if err := use("#a = :x", "SET #b = :y"); err != nil {
		t.Errorf("all used over two expressions: %v", err)
	}
	for _, c := range []struct{ condition, update, want string }{
		{"#a = :x", "", "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"},
		{"#a = #b", "", "Value provided in ExpressionAttributeValues unused in expressions: keys: {:x, :y}"},
		{"#a = :x", "SET #b = :x", "Value provided in ExpressionAttributeValues unused in expressions: keys: {:y}"},
		{"", "", "ExpressionAttributeNames can only be specified when using expressions"},
	} {
		checkMessage(t, c.condition+" "+c.update, use(c.condition, c.update), c.want)
	}
	if err := NewPlaceholders(nil, nil).Unused(); err != nil {
		t.Errorf("no placeholders: %v", err)
	}
}

func TestPlaceholderFaults(t *testing.T) {
	for _, c := range []struct {
		names  map[string]string
		values event.Item
		want   string
	}{
		{names: map[string]string{}, want: "ExpressionAttributeNames must not be empty"},
		{values: event.Item{}, want: "ExpressionAttributeValues must not be empty"},
		{names: map[string]string{"a": "a"}, want: `ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`},
		{names: map[string]string{"#a-b": "a"}, want: `ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"`},
		{names: map[string]string{"#": "a"}, want: `ExpressionAttributeNames contains invalid key: Syntax error; key: "#"`},
		{values: event.Item{"v": event.Null{}}, want: `ExpressionAttributeValues contains invalid key: Syntax error; key: "v"`},
		{values: event.Item{":v": event.Number("x")}, want: "ExpressionAttributeValues contains invalid value: " +
			"The parameter cannot be converted to a numeric value: x for key :v"},
		{values: event.Item{":v": event.StringSet{}}, want: "ExpressionAttributeValues contains invalid value: " +
			"One or more parameter values were invalid: An string set  may not be empty for key :v"},
	} {
		p := NewPlaceholders(c.names, c.values)
		_, err := ParseCondition(ConditionExpression, "attribute_exists(a)", p)
		checkMessage(t, c.want, err, c.want)
		checkMessage(t, c.want, p.Unused(), c.want)
	}
}
