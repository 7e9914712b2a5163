package conformance

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docConditions = "Developer Guide, Condition and filter expressions, operators, and functions in DynamoDB"

// conditionItem is what the conditions below are evaluated on.
func conditionItem() item {
	return item{
		"s": str("hello"), "n": num("10"), "n2": num("20"), "b": bin(1, 2, 0xff), "t": boolean(true), "z": null(), "e": str(""),
		"ss": strs("a", "b"), "ns": nums("1", "2"), "bs": bins([]byte{1}, []byte{2}),
		"l":   list(str("x"), num("1"), dict(item{"k": str("v")})),
		"m":   dict(item{"x": num("1"), "y": dict(item{"z": str("deep")})}),
		"big": num("9007199254740993"), "a.b": str("dotted"), "size": num("7"),
	}
}

// conditionTests say whether a condition is true of conditionItem. Unless
// values are given, the one in value is :v.
var conditionTests = []struct {
	name   string
	text   string
	value  types.AttributeValue
	values item
	names  map[string]string
	want   bool
}{
	{name: "equal/string", text: "s = :v", value: str("hello"), want: true},
	{name: "equal/other string", text: "s = :v", value: str("Hello")},
	{name: "equal/other type", text: "n = :v", value: str("10")},
	{name: "equal/number by value", text: "n = :v", value: num("1.0e1"), want: true},
	{name: "equal/number beyond float64", text: "big = :v", value: num("9007199254740992")},
	{name: "equal/binary", text: "b = :v", value: bin(1, 2, 0xff), want: true},
	{name: "equal/bool", text: "t = :v", value: boolean(true), want: true},
	{name: "equal/null", text: "z = :v", value: null(), want: true},
	{name: "equal/empty string", text: "e = :v", value: str(""), want: true},
	{name: "equal/set in another order", text: "ss = :v", value: strs("b", "a"), want: true},
	{name: "equal/number set", text: "ns = :v", value: nums("2.0", "1"), want: true},
	{name: "equal/binary set", text: "bs = :v", value: bins([]byte{2}, []byte{1}), want: true},
	{name: "equal/list", text: "l = :v", value: list(str("x"), num("1"), dict(item{"k": str("v")})), want: true},
	{name: "equal/list in another order", text: "l = :v", value: list(num("1"), str("x"), dict(item{"k": str("v")}))},
	{name: "equal/map", text: "m = :v", value: dict(item{"y": dict(item{"z": str("deep")}), "x": num("1")}), want: true},
	{name: "equal/missing attribute", text: "nope = :v", value: str("hello")},
	{name: "equal/two paths", text: "n = n2", want: false},
	{name: "equal/value first", text: ":v = s", value: str("hello"), want: true},
	{name: "not equal/differs", text: "s <> :v", value: str("x"), want: true},
	{name: "not equal/same", text: "s <> :v", value: str("hello")},
	{name: "not equal/other type", text: "n <> :v", value: str("10"), want: true},
	{name: "less/number", text: "n < :v", value: num("9")},
	{name: "less/numeric not textual", text: "n < :v", value: num("9.5")},
	{name: "less/two paths", text: "n < n2", want: true},
	{name: "less/string", text: "s < :v", value: str("help"), want: true},
	{name: "less/case", text: "s < :v", value: str("HELLO")},
	{name: "less/binary is unsigned", text: "b < :v", value: bin(1, 3), want: true},
	{name: "less/other type", text: "n < :v", value: str("z")},
	{name: "less or equal/same", text: "n <= :v", value: num("10"), want: true},
	{name: "less or equal/less", text: "n <= :v", value: num("9")},
	{name: "greater/negative", text: "n > :v", value: num("-100"), want: true},
	{name: "greater/same", text: "n > :v", value: num("10")},
	{name: "greater or equal/same", text: "n >= :v", value: num("10.0"), want: true},
	{name: "greater or equal/missing", text: "nope >= :v", value: num("1")},
	{name: "between/inside", text: "n BETWEEN :a AND :b", values: item{":a": num("9"), ":b": num("11")}, want: true},
	{name: "between/borders belong", text: "n BETWEEN :a AND :a", values: item{":a": num("10")}, want: true},
	{name: "between/outside", text: "n BETWEEN :a AND :b", values: item{":a": num("11"), ":b": num("12")}},
	{name: "between/strings", text: "s BETWEEN :a AND :b", values: item{":a": str("a"), ":b": str("i")}, want: true},
	{name: "between/and more", text: "n BETWEEN :a AND :b AND s = :v", values: item{":a": num("9"), ":b": num("11"), ":v": str("hello")}, want: true},
	{name: "in/one of", text: "n IN (:a, :b, :c)", values: item{":a": num("1"), ":b": num("10"), ":c": num("3")}, want: true},
	{name: "in/none of", text: "n IN (:a, :b)", values: item{":a": num("1"), ":b": str("10")}},
	{name: "in/a path", text: ":v IN (n2, n)", value: num("20"), want: true},
	{name: "attribute_exists/yes", text: "attribute_exists(s)", want: true},
	{name: "attribute_exists/null counts", text: "attribute_exists(z)", want: true},
	{name: "attribute_exists/nested", text: "attribute_exists(m.y.z)", want: true},
	{name: "attribute_exists/no", text: "attribute_exists(m.nope.z)"},
	{name: "attribute_exists/list element", text: "attribute_exists(l[2].k)", want: true},
	{name: "attribute_exists/beyond the list", text: "attribute_exists(l[3])"},
	{name: "attribute_not_exists/no", text: "attribute_not_exists(s)"},
	{name: "attribute_not_exists/yes", text: "attribute_not_exists(nope)", want: true},
	{name: "attribute_type/S", text: "attribute_type(s, :v)", value: str("S"), want: true},
	{name: "attribute_type/wrong", text: "attribute_type(s, :v)", value: str("N")},
	{name: "attribute_type/SS", text: "attribute_type(ss, :v)", value: str("SS"), want: true},
	{name: "attribute_type/M", text: "attribute_type(m, :v)", value: str("M"), want: true},
	{name: "attribute_type/L", text: "attribute_type(l, :v)", value: str("L"), want: true},
	{name: "attribute_type/NULL", text: "attribute_type(z, :v)", value: str("NULL"), want: true},
	{name: "attribute_type/BOOL", text: "attribute_type(t, :v)", value: str("BOOL"), want: true},
	{name: "begins_with/string", text: "begins_with(s, :v)", value: str("hel"), want: true},
	{name: "begins_with/no", text: "begins_with(s, :v)", value: str("ello")},
	{name: "begins_with/binary", text: "begins_with(b, :v)", value: bin(1, 2), want: true},
	{name: "begins_with/missing", text: "begins_with(nope, :v)", value: str("h")},
	{name: "contains/substring", text: "contains(s, :v)", value: str("ell"), want: true},
	{name: "contains/no substring", text: "contains(s, :v)", value: str("elo")},
	{name: "contains/string set", text: "contains(ss, :v)", value: str("a"), want: true},
	{name: "contains/number set", text: "contains(ns, :v)", value: num("2.0"), want: true},
	{name: "contains/list element", text: "contains(l, :v)", value: str("x"), want: true},
	{name: "contains/list of another type", text: "contains(l, :v)", value: str("1")},
	{name: "size/string", text: "size(s) = :v", value: num("5"), want: true},
	{name: "size/binary", text: "size(b) = :v", value: num("3"), want: true},
	{name: "size/set", text: "size(ss) = :v", value: num("2"), want: true},
	{name: "size/list", text: "size(l) = :v", value: num("3"), want: true},
	{name: "size/map", text: "size(m) = :v", value: num("2"), want: true},
	{name: "size/on the right", text: ":v < size(l)", value: num("2"), want: true},
	{name: "size/between", text: "size(s) BETWEEN :a AND :b", values: item{":a": num("1"), ":b": num("4")}},
	{name: "and/true", text: "s = :s AND n = :n", values: item{":s": str("hello"), ":n": num("10")}, want: true},
	{name: "and/false", text: "s = :s AND n = :n", values: item{":s": str("hello"), ":n": num("11")}},
	{name: "or/one", text: "s = :s OR n = :n", values: item{":s": str("nope"), ":n": num("10")}, want: true},
	{name: "not/true", text: "NOT s = :v", value: str("x"), want: true},
	{name: "not/function", text: "NOT contains(s, :v)", value: str("ell")},
	{name: "not/of missing", text: "NOT nope = :v", value: str("x"), want: true},
	{name: "precedence/and before or", text: "s = :s OR s = :s AND n = :n", values: item{":s": str("hello"), ":n": num("0")}, want: true},
	{name: "precedence/parentheses", text: "(s = :s OR s = :s) AND n = :n", values: item{":s": str("hello"), ":n": num("0")}},
	{name: "precedence/not before and", text: "NOT s = :s AND n = :n", values: item{":s": str("hello"), ":n": num("0")}},
	{name: "keywords in lower case", text: "not s = :a and n between :b and :c or n in (:d)", values: item{":a": str("x"), ":b": num("1"), ":c": num("10"), ":d": num("0")}, want: true},
	{name: "white space", text: "\n s\t=\n:v \r\n AND\nattribute_exists ( n )", value: str("hello"), want: true},
	{name: "no white space", text: "(s=:v)AND(n2>=n)AND(n<>n2)", value: str("hello"), want: true},
	{name: "path/nested", text: "m.y.z = :v", value: str("deep"), want: true},
	{name: "path/list", text: "l[1] = :v", value: num("1"), want: true},
	{name: "path/placeholder with a dot", text: "#d = :v", names: map[string]string{"#d": "a.b"}, value: str("dotted"), want: true},
	{name: "path/placeholders in a path", text: "#m.#y.#z = :v", names: map[string]string{"#m": "m", "#y": "y", "#z": "z"}, value: str("deep"), want: true},
	{name: "path/placeholder named like a function", text: "#s = :v", names: map[string]string{"#s": "size"}, value: num("7"), want: true},
	{name: "path/placeholders with a common prefix", text: "#a = :a AND #ab = :ab AND #a1 = :a1", names: map[string]string{"#a": "s", "#ab": "n", "#a1": "n2"}, values: item{":a": str("hello"), ":ab": num("10"), ":a1": num("20")}, want: true},
}

// badConditions are refused before any item is looked at.
var badConditions = []struct {
	name   string
	text   string
	values item
}{
	{"syntax", "s = = :v", item{":v": str("x")}},
	{"trailing text", "s = :v s", item{":v": str("x")}},
	{"unknown function", "starts_with(s, :v)", item{":v": str("x")}},
	{"function in capitals", "BEGINS_WITH(s, :v)", item{":v": str("x")}},
	{"unbalanced", "(s = :v", item{":v": str("x")}},
	{"bare path", "s", nil},
	{"size alone", "size(s)", nil},
	{"undefined value", "s = :nope", nil},
	{"undefined name", "#nope = :v", item{":v": str("x")}},
	{"begins_with a number", "begins_with(s, :v)", item{":v": num("1")}},
	{"attribute_type unknown", "attribute_type(s, :v)", item{":v": str("X")}},
	{"attribute_type not a string", "attribute_type(s, :v)", item{":v": num("1")}},
	{"too few operands", "contains(s)", nil},
	{"between wrong way round", "n BETWEEN :a AND :b", item{":a": num("2"), ":b": num("1")}},
	{"between of two types", "n BETWEEN :a AND :b", item{":a": num("2"), ":b": str("x")}},
}

func conditionCases() []Case {
	cases := make([]Case, 0, len(conditionTests)+len(badConditions)+2)
	for _, tc := range conditionTests {
		e := expression{text: tc.text, names: tc.names, values: tc.values}
		if tc.value != nil {
			e.values = item{":v": tc.value}
		}
		cases = append(cases, Case{"condition/" + tc.name, docConditions, func(p *probe) { p.evaluates(e, tc.want) }})
	}
	for _, tc := range badConditions {
		e := expression{text: tc.text, values: tc.values}
		cases = append(cases, Case{"condition/refused/" + tc.name, docConditions, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, conditionItem()))
			_, err := p.conditionalUpdate(table, key, e)
			p.refused(err, "UpdateItem if "+e.text, validation)
			_, err = p.filter(table, key, e)
			p.refused(err, "Query filtered by "+e.text, validation)
		}})
	}
	return append(cases,
		Case{"condition/in/100 values", docConditions, func(p *probe) {
			p.evaluates(inExpression(100), true)
		}},
		Case{"condition/in/101 values", docConditions, func(p *probe) {
			table, key := p.simple()
			_, err := p.conditionalUpdate(table, key, inExpression(101))
			p.refused(err, "UpdateItem with 101 values of IN", validation)
		}},
	)
}

// evaluates checks that a condition on conditionItem has this outcome, as the
// condition of a write and as the filter of a read.
func (p *probe) evaluates(e expression, want bool) {
	table, key := p.simple()
	p.put(table, with(key, conditionItem()))

	_, err := p.conditionalUpdate(table, key, e)
	switch {
	case want && err != nil:
		p.errorf("UpdateItem if %s: want it to be true, got %v", e.text, err)
	case !want:
		p.refused(err, "UpdateItem if "+e.text, conditionFailed)
	}

	found, err := p.filter(table, key, e)
	if err != nil {
		p.errorf("Query filtered by %s: %v", e.text, err)
		return
	}
	p.same("items found by Query filtered by "+e.text, found == 1, want)
}

func (p *probe) conditionalUpdate(table string, key item, condition expression) (*dynamodb.UpdateItemOutput, error) {
	return p.target.DynamoDB.UpdateItem(p.ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: key,
		UpdateExpression:          aws.String("REMOVE absent"),
		ConditionExpression:       &condition.text,
		ExpressionAttributeNames:  condition.names,
		ExpressionAttributeValues: condition.values,
	})
}

func (p *probe) filter(table string, key item, condition expression) (found int32, err error) {
	out, err := p.target.DynamoDB.Query(p.ctx, &dynamodb.QueryInput{
		TableName:                 &table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :key"),
		FilterExpression:          &condition.text,
		ExpressionAttributeNames:  condition.names,
		ExpressionAttributeValues: with(item{":key": key["pk"]}, condition.values),
	})
	if err != nil {
		return 0, err
	}
	return out.Count, nil
}
