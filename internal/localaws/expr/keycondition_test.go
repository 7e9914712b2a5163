package expr

import (
	"slices"
	"testing"

	"millrace/event"
)

func keyPlaceholders() *Placeholders {
	return NewPlaceholders(map[string]string{"#p": "pk", "#s": "sk", "#pp": "extra"},
		event.Item{":p": event.String("p"), ":a": event.Number("1.0"), ":b": event.Number("2"), ":t": event.String("t")})
}

func TestKeyConditions(t *testing.T) {
	one, two, text := event.Number("1"), event.Number("2"), event.String("t")
	for expression, want := range map[string]KeyCondition{
		"pk = :p":                             {},
		":p = pk":                             {},
		"(pk = :p)":                           {},
		"#p = :p AND #s = :a":                 {SortOp: SortEqual, SortValues: []event.Value{one}},
		"sk < :a AND pk = :p":                 {SortOp: SortLess, SortValues: []event.Value{one}},
		"pk = :p AND sk <= :a":                {SortOp: SortLessOrEqual, SortValues: []event.Value{one}},
		"pk = :p AND sk > :a":                 {SortOp: SortGreater, SortValues: []event.Value{one}},
		"pk = :p AND (sk >= :a)":              {SortOp: SortGreaterOrEqual, SortValues: []event.Value{one}},
		"pk = :p AND :a >= sk":                {SortOp: SortLessOrEqual, SortValues: []event.Value{one}},
		"pk = :p AND :a < sk":                 {SortOp: SortGreater, SortValues: []event.Value{one}},
		"pk = :p AND sk BETWEEN :a AND :b":    {SortOp: SortBetween, SortValues: []event.Value{one, two}},
		"sk BETWEEN :a AND :b and\npk = :p":   {SortOp: SortBetween, SortValues: []event.Value{one, two}},
		"pk = :p AND begins_with(sk, :t)":     {SortOp: SortBeginsWith, SortValues: []event.Value{text}},
		"(begins_with(#s, :t)) AND (#p = :p)": {SortOp: SortBeginsWith, SortValues: []event.Value{text}},
	} {
		got, err := ParseKeyCondition(expression, keyPlaceholders(), "pk", "sk")
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got.PartitionValue != event.String("p") || got.SortOp != want.SortOp ||
			!slices.EqualFunc(got.SortValues, want.SortValues, event.Equal) {
			t.Errorf("%s is %+v, want %+v", expression, got, want)
		}
	}
}

func TestKeyConditionErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"sk = :a":                            "Query condition missed key schema element: pk",
		"extra = :p":                         "Query condition missed key schema element: pk",
		"sk = :a AND extra = :a":             "Query condition missed key schema element: pk",
		"pk = :p AND extra = :a":             "Query condition missed key schema element: sk",
		"pk > :p":                            "Query key condition not supported",
		"begins_with(pk, :t)":                "Query key condition not supported",
		"pk BETWEEN :a AND :b AND sk = :a":   "Query key condition not supported",
		"pk = :p AND sk = :a AND extra = :a": "Conditions can be of length 1 or 2 only",
		"pk = :p AND sk > :a AND sk < :b":    "KeyConditionExpressions must only contain one condition per key",
		"pk = :p OR sk = :a":                 "Invalid operator used in KeyConditionExpression: OR",
		"NOT pk = :p":                        "Invalid operator used in KeyConditionExpression: NOT",
		"pk = :p AND sk IN (:a)":             "Invalid operator used in KeyConditionExpression: IN",
		"pk = :p AND sk <> :a":               "Invalid operator used in KeyConditionExpression: <>",
		"pk = :p AND attribute_exists(sk)":   "Invalid operator used in KeyConditionExpression: attribute_exists",
		"pk = :p AND contains(sk, :t)":       "Invalid operator used in KeyConditionExpression: contains",
		"pk = :p AND size(sk) = :a":          "KeyConditionExpressions cannot contain nested operations",
		"pk = :p AND sk.x = :a":              "KeyConditionExpressions cannot have conditions on nested attributes",
		"pk = :p AND sk = extra":             "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
		"pk = :p AND :a = :b":                "Invalid condition in KeyConditionExpression: No key attribute specified",
		"pk = :p AND :a BETWEEN sk AND :b":   "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first operand",
		"pk = :p AND begins_with(:t, sk)":    "Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its first operand",
		"pk = :p AND begins_with(sk, :a)":    "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
		"pk = :p AND sk BETWEEN :b AND :a":   "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
		"pk = :p AND":                        `Invalid KeyConditionExpression: Syntax error; token: "<EOF>", near: "AND"`,
		"pk = :p, sk = :a":                   `Invalid KeyConditionExpression: Syntax error; token: ",", near: ":p, sk"`,
		"":                                   "Invalid KeyConditionExpression: The expression can not be empty;",
		"pk = :missing":                      "Invalid KeyConditionExpression: An expression attribute value used in expression is not defined; attribute value: :missing",
		"key = :p":                           "Invalid KeyConditionExpression: Attribute name is a reserved keyword; reserved keyword: key",
	} {
		_, err := ParseKeyCondition(expression, keyPlaceholders(), "pk", "sk")
		checkMessage(t, expression, err, want)
	}
	_, err := ParseKeyCondition("pk = :p AND sk = :a", keyPlaceholders(), "pk", "")
	checkMessage(t, "a sort key condition where there is no sort key", err, "Query key condition not supported")
}

func TestKeyConditionMatches(t *testing.T) {
	for expression, wants := range map[string]map[event.Value]bool{
		"pk = :p":                          {event.Number("7"): true},
		"pk = :p AND sk > :a":              {event.Number("1"): false, event.Number("1.01"): true, event.Number("10"): true},
		"pk = :p AND sk BETWEEN :a AND :b": {event.Number("1"): true, event.Number("2"): true, event.Number("2.1"): false},
		"pk = :p AND begins_with(sk, :t)":  {event.String("top"): true, event.String("pot"): false},
		"pk = :p AND sk = :t":              {event.String("t"): true, event.String("T"): false, event.Number("1"): false},
	} {
		c, err := ParseKeyCondition(expression, keyPlaceholders(), "pk", "sk")
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		for v, want := range wants {
			if c.Matches(v) != want {
				t.Errorf("%s for %v is %v", expression, v, !want)
			}
		}
	}
}
