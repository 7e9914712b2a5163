package expr

import (
	"testing"

	"millrace/event"
)

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
		{names: map[string]string{"#a": ""}, want: "ExpressionAttributeNames contains invalid value: Empty attribute name; key: #a"},
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
