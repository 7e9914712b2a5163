package expr

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/event"
)

// exercise parses a text as every kind of expression and runs what parses.
// Whatever the text is, the outcome must be a result or an *Error, and the
// item must stay as it was.
func exercise(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text string,
) {
	t.Helper()
	names := map[string]string{"#a": "s", "#m": "m"}
	values := event.Item{":n": event.Number("1"), ":s": event.String("hello"), ":l": event.List{}, ":ss": event.StringSet{"a"}}
	item, untouched := sample(), sample()
	accept := func(err error) bool {
		if err == nil {
			return true
		}
		if _, ok := err.(*Error); !ok { //nolint:errorlint // exactly this type, not one that wraps it
			t.Fatalf("%q: error of type %T: %v", text, err, err)
		}
		return false
	}
	p := NewPlaceholders(names, values)
	if c, err := ParseCondition(FilterExpression, text, p); accept(err) {
		c.Eval(item)
		c.Eval(nil)
	}
	if c, err := ParseKeyCondition(text, p, "pk", "sk"); accept(err) {
		c.Matches(event.Number("1"))
	}
	if projection, err := ParseProjection(text, p); accept(err) {
		projection.Apply(item)
		projection.Apply(nil)
	}
	if u, err := ParseUpdate(text, p, []string{"pk"}); accept(err) {
		if made, err := u.Apply(item); accept(err) && !event.Equal(made.Item["pk"], item["pk"]) {
			t.Fatalf("%q changed the key", text)
		}
		_, err = u.Apply(nil)
		accept(err)
	}
	if !item.Equal(untouched) {
		t.Fatalf("%q changed the item it was given", text)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a = :n AND NOT (s <> :s OR n BETWEEN :n AND :n)", "size(l) IN (:n, m.x) OR contains(#m.deep, :ss)", "pk = :s AND begins_with(sk, :s)",
		"s, m.x, l[0].y", "SET a = if_not_exists(#a, :n) + :n, l[9] = list_append(l, :l) REMOVE m.x ADD ss :ss DELETE q :ss",
		"((a))", "a[", "#", ":", "\xff", "a.b.[1]", "NOT NOT NOT",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { exercise(t, text) })
}

func TestParserNeverPanics(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE", "(", ")", "[", "]", ",", ".", "=", "<>", "<", ">=", "+", "-",
		"a", "s", "m", "l", "n", "pk", "#a", "#m", "#x", ":n", ":s", ":l", ":ss", ":x", "0", "1", "99999999999", "size", "contains",
		"begins_with", "attribute_exists", "attribute_type", "if_not_exists", "list_append", "name", "_", "!", "é",
	})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(pieces, 0, 14).Draw(t, "parts")
		exercise(t, strings.Join(parts, rapid.SampledFrom([]string{" ", "", "\n"}).Draw(t, "separator")))
	})
}

// Sentences that are right by construction, so that the property above does
// not only see syntax errors.
func TestGeneratedConditionsParse(t *testing.T) {
	var condition func(depth int) *rapid.Generator[string]
	operands := rapid.SampledFrom([]string{"s", "m.x", "l[0]", "#a", ":n", ":s", "size(l)", "(n)"})
	condition = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				a, b := operands.Draw(t, "a"), rapid.SampledFrom([]string{"q", "r.x", ":s"}).Draw(t, "b")
				return a + rapid.SampledFrom([]string{" = ", "<>", " < ", ">= "}).Draw(t, "operator") + b
			}
			a, b := condition(depth-1).Draw(t, "left"), condition(depth-1).Draw(t, "right")
			switch rapid.IntRange(0, 3).Draw(t, "form") {
			case 0:
				return a + " AND " + b
			case 1:
				return a + " or " + b
			case 2:
				return "NOT " + a
			}
			return "(" + a + " OR " + b + ") AND " + b
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text := condition(4).Draw(t, "condition")
		p := NewPlaceholders(map[string]string{"#a": "s"}, event.Item{":n": event.Number("1"), ":s": event.String("hello")})
		c, err := ParseCondition(ConditionExpression, text, p)
		if len(text) > maxBytes {
			t.Skip("too long")
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		negated, err := ParseCondition(ConditionExpression, "NOT ("+text+" AND "+text+")", p)
		if err == nil && negated.Eval(sample()) == c.Eval(sample()) {
			t.Fatalf("%s and its negation agree", text)
		}
	})
}
