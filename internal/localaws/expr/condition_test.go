package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"millrace/event"
)

func number64(n int) event.Value { return event.Number(fmt.Sprint(n)) }

// sample is an item with every type in it.
func sample() event.Item {
	return event.Item{
		"pk": event.String("p"), "s": event.String("hello"), "n": event.Number("5"), "b": event.Binary{0x01, 0xff},
		"t": event.Bool(true), "z": event.Null{}, "big": event.Number("9007199254740993"), "price": event.Number("1.50"),
		"l":  event.List{event.Number("1"), event.String("two"), event.List{event.Number("3.0")}},
		"m":  event.Map{"x": event.Number("1"), "deep": event.Map{"list": event.List{event.Map{"v": event.String("here")}}}},
		"ss": event.StringSet{"a", "b"}, "ns": event.NumberSet{"1", "2.5"}, "bs": event.BinarySet{{1}, {2}},
		"utf": event.String("ñ€"), "ab": event.String("AB"), "size_of": event.Number("5"), "a.b": event.String("dotted"),
	}
}

func TestConditions(t *testing.T) {
	names := map[string]string{"#a": "s", "#ab": "ab", "#1": "n", "#10": "s", "#d": "a.b", "#m": "m", "#x": "x"}
	values := event.Item{
		":hello": event.String("hello"), ":h": event.String("h"), ":ell": event.String("ell"), ":world": event.String("world"),
		":5": event.Number("5"), ":50": event.Number("50e-1"), ":6": event.Number("6"), ":4": event.Number("4"),
		":AB": event.String("AB"), ":true": event.Bool(true), ":null": event.Null{}, ":text5": event.String("5"),
		":exact": event.Number("9007199254740993"), ":near": event.Number("9007199254740992"),
		":low": event.Binary{0x01, 0x7f}, ":bin": event.Binary{0x01, 0xff}, ":bin1": event.Binary{0x01},
		":list": event.List{event.Number("1.0"), event.String("two"), event.List{event.Number("3")}}, ":l3": event.List{event.Number("3")},
		":map": event.Map{"x": event.Number("1e0"), "deep": event.Map{"list": event.List{event.Map{"v": event.String("here")}}}},
		":ss":  event.StringSet{"b", "a"}, ":ns": event.NumberSet{"2.50", "1"}, ":bs": event.BinarySet{{2}, {1}},
		":a": event.String("a"), ":25": event.Number("2.5"), ":2": event.Number("2"), ":1": event.Number("1"), ":3": event.Number("3"),
		":SS": event.String("SS"), ":S": event.String("S"), ":NULL": event.String("NULL"), ":here": event.String("here"),
		":price": event.Number("1.5"), ":dotted": event.String("dotted"),
	}
	for text, want := range map[string]bool{
		// comparisons
		"s = :hello": true, "s = :h": false, "n = :5": true, "n = :50": true, "n = :text5": false, "n <> :text5": true,
		"n < :6": true, "n <= :5": true, "n > :4": true, "n >= :6": false, "s < :world": true, "s < :6": false, "s > :6": false,
		"b > :low": true, "b = :bin": true, "t = :true": true, "z = :null": true, "price = :price": true,
		"big = :exact": true, "big = :near": false, "big > :near": true, ":5 = n": true, "n = size_of": true,
		"l = :list": true, "m = :map": true, "ss = :ss": true, "ns = :ns": true, "bs = :bs": true, "ss = :ns": false,
		// absent attributes
		"q = :5": false, "q <> :5": true, "q < :5": false, ":5 < q": false, "q = r": false, "q <> r": true, "q <= r": false,
		"q BETWEEN :4 AND :6": false, "q IN (:5)": false, "NOT q = :5": true,
		// paths
		"m.x = :1": true, "l[0] = :1": true, "l[2][0] = :3": true, "l[9] = :1": false, "m.deep.#list[0].v = :here": true,
		"m[0] = :1": false, "l.x = :1": false, "#d = :dotted": true, "#m.#x = :1": true,
		// placeholders that begin alike
		"#a = :hello AND #ab = :AB": true, "#1 = :5 AND #10 = :hello": true,
		// BETWEEN and IN
		"n BETWEEN :4 AND :6": true, "n BETWEEN :5 AND :5": true, "n between :6 and :6": false, "s BETWEEN :h AND :world": true,
		"b BETWEEN :bin1 AND :bin": true, ":5 BETWEEN n AND size_of": true, "s BETWEEN :4 AND :6": false,
		"n IN (:4, :50)": true, "n IN (:4,:6)": false, "l IN (:list)": true, "n IN (:hello, :5)": true,
		// logic and its precedence: NOT, then AND, then OR
		"n = :4 AND s = :h OR n = :5": true, "n = :5 OR s = :h AND n = :4": true, "(n = :5 OR s = :h) AND n = :4": false,
		"NOT n = :4 AND n = :5": true, "NOT (n = :4 OR n = :5)": false, "not not n = :5": true,
		"n BETWEEN :4 AND :6 AND s = :hello": true, "n = :5 and (s = :hello)": true, "(n) = (:5)": true,
		"n = :5\n\tAND\r\ns = :hello": true, "n=:5 AND(s=:hello)": true,
		// functions
		"attribute_exists(s)": true, "attribute_exists(m.y)": false, "attribute_not_exists(q)": true, "attribute_not_exists (s)": false,
		"attribute_type(ss, :SS)": true, "attribute_type(z, :NULL)": true, "attribute_type(s, :SS)": false, "attribute_type(q, :S)": false,
		"begins_with(s, :h)": true, "begins_with(s, :ell)": false, "begins_with(b, :bin1)": true, "begins_with(n, :h)": false,
		"begins_with(q, :h)": false, "contains(s, :ell)": true, "contains(s, :world)": false, "contains(b, :bin1)": true,
		"contains(ss, :a)": true, "contains(ss, :h)": false, "contains(ns, :25)": true, "contains(l, :l3)": true, "contains(l, :1)": true,
		"contains(n, :5)": false, "contains(q, :5)": false, "contains(s, :5)": false, "contains(bs, :bin1)": true,
		"size(s) = :5": true, "size(utf) = :5": true, "size(b) = :2": true, "size(l) = :3": true, "size(m) = :2": true,
		"size(ss) = :2": true, "size(ns) >= :2": true, "size(bs) < :3": true, "size(n) = :1": false, "size(q) = :1": false,
		"size(s) = n": true, "size(s) BETWEEN :4 AND :6": true, ":5 = size(s)": true, "size(s) IN (:5)": true, "size(s) = :hello": false,
	} {
		withList := map[string]string{"#list": "list"}
		for k, v := range names {
			withList[k] = v
		}
		c, err := ParseCondition(ConditionExpression, text, NewPlaceholders(withList, values))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Eval(sample()); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}

func TestConditionOnNoItem(t *testing.T) {
	p := NewPlaceholders(nil, event.Item{":v": event.Number("1")})
	for text, want := range map[string]bool{
		"attribute_not_exists(pk)": true, "attribute_exists(pk)": false, "v = :v": false, "v <> :v": true,
		"attribute_not_exists(pk) OR v = :v": true,
	} {
		c, err := ParseCondition(ConditionExpression, text, p)
		if err != nil || c.Eval(nil) != want {
			t.Errorf("%s without an item: want %v, error %v", text, want, err)
		}
	}
}

func TestConditionErrors(t *testing.T) {
	values := event.Item{
		":n": event.Number("1"), ":s": event.String("a"), ":s2": event.String("b"), ":bool": event.Bool(true), ":map": event.Map{},
		":dog": event.String("DOG"), ":type": event.String("N"), ":bin": event.Binary{1}, ":bin0": event.Binary{0},
	}
	hundred := strings.Repeat("a, ", 100)
	for text, want := range map[string]string{
		"":    "The expression can not be empty;",
		" \n": "The expression can not be empty;",
		// syntax, with the neighbours of the token
		"a = = :n":             `Syntax error; token: "=", near: "= = :n"`,
		"a = :n b":             `Syntax error; token: "b", near: ":n b"`,
		"a = :n )":             `Syntax error; token: ")", near: ":n )"`,
		"a =":                  `Syntax error; token: "<EOF>", near: "="`,
		"(a = :n":              `Syntax error; token: "<EOF>", near: ":n"`,
		"a":                    `Syntax error; token: "<EOF>", near: "a"`,
		":n":                   `Syntax error; token: "<EOF>", near: ":n"`,
		"a AND b = :n":         `Syntax error; token: "AND", near: "a AND b"`,
		"(a = :n) = :n":        `Syntax error; token: "=", near: ") = :n"`,
		"a IN ()":              `Syntax error; token: ")", near: "()"`,
		"a BETWEEN :n":         `Syntax error; token: "<EOF>", near: ":n"`,
		"_a = :n":              `Syntax error; token: "_", near: "_a"`,
		"a-b = :n":             `Syntax error; token: "-", near: "a-b"`,
		"a[x] = :n":            `Syntax error; token: "x", near: "[x]"`,
		"a. = :n":              `Syntax error; token: "=", near: ". = :n"`,
		"1a = :n":              `Syntax error; token: "1", near: "1a"`,
		"a = 5":                `Syntax error; token: "5", near: "= 5"`,
		"a == :n":              `Syntax error; token: "=", near: "== :n"`,
		"a != :n":              `Syntax error; token: "!", near: "a !="`,
		"a = :n; b = :n":       `Syntax error; token: ";", near: ":n; b"`,
		"a € :n":               `Syntax error; token: "€", near: "a € :n"`,
		"AND = :n":             `Syntax error; token: "AND", near: "AND ="`,
		"attribute_exists a":   `Syntax error; token: "a", near: "attribute_exists a"`,
		"# = :n":               `Syntax error; token: "#", near: "# ="`,
		"attribute_exists((a)": `Syntax error; token: "<EOF>", near: ")"`,
		// meaning
		"((a = :n))":                             "The expression has redundant parentheses;",
		"Attribute_Exists(a)":                    "Invalid function name; function: Attribute_Exists",
		"if_not_exists(a, :n) = :n":              "The function is not allowed in a condition expression; function: if_not_exists",
		"size(a)":                                "The function is not allowed to be used this way in an expression; function: size",
		"size(a) AND a = :n":                     "The function is not allowed to be used this way in an expression; function: size",
		"NOT size(a)":                            "The function is not allowed to be used this way in an expression; function: size",
		"contains(a, :s) = :bool":                "The function is not allowed to be used this way in an expression; function: contains",
		"size(contains(a, :s)) = :n":             "The function is not allowed to be used this way in an expression; function: contains",
		"a IN (attribute_exists(b))":             "The function is not allowed to be used this way in an expression; function: attribute_exists",
		"name = :n":                              "Attribute name is a reserved keyword; reserved keyword: name",
		"m.Status = :n":                          "Attribute name is a reserved keyword; reserved keyword: Status",
		"#x = :n":                                "An expression attribute name used in the document path is not defined; attribute name: #x",
		"a = :x":                                 "An expression attribute value used in expression is not defined; attribute value: :x",
		"attribute_exists(a, b)":                 "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2",
		"contains(a)":                            "Incorrect number of operands for operator or function; operator or function: contains, number of operands: 1",
		"attribute_exists(:n)":                   "Operator or function requires a document path; operator or function: attribute_exists",
		"begins_with(a, :n)":                     "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
		"attribute_type(a, :n)":                  "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N",
		"attribute_type(a, b)":                   "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
		"attribute_type(a, :dog)":                "Invalid attribute type name found; type: DOG, valid types: {B, NULL, SS, BOOL, L, BS, N, NS, S, M}",
		"size(:n) = :n":                          "Incorrect operand type for operator or function; operator or function: size, operand type: N",
		"a < :bool":                              "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
		":map >= a":                              "Incorrect operand type for operator or function; operator or function: >=, operand type: M",
		"a BETWEEN :n AND :s":                    "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:a}",
		"a BETWEEN :s2 AND :s":                   "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {S:b}, upper bound operand: AttributeValue: {S:a}",
		"a BETWEEN :bin AND :bin0":               "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {B:AQ==}, upper bound operand: AttributeValue: {B:AA==}",
		"contains(a, a)":                         "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [a]",
		"a.b[1] = a.b[1]":                        "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a, b, [1]]",
		"b IN (" + hundred + "a)":                "The IN operator is provided with too many operands; number of operands: 101",
		"dog(a) = :n":                            "Invalid function name; function: dog",
		"a" + strings.Repeat(".b", 32) + " = :n": "The document path has too many nesting levels; nesting levels: 33",
		"a[99999999999999999999] = :n":           "List index is not within the allowable range; index: [99999999999999999999]",
		"name = #x AND":                          `Syntax error; token: "<EOF>", near: "AND"`, // syntax goes first
		strings.Repeat("a", 4097) + " = :n":      "Expression size has exceeded the maximum allowed size; expression size: 4102",
		strings.Repeat("NOT ", 400) + "a = :n":   "The expression is nested too deeply; maximum depth: 300",
		strings.Repeat("size(", 400) + "a" + strings.Repeat(")", 400): "The expression is nested too deeply; maximum depth: 300",
		strings.Repeat("(", 4000):                                     "The expression is nested too deeply; maximum depth: 300",
	} {
		for _, kind := range []Kind{ConditionExpression, FilterExpression} {
			_, err := ParseCondition(kind, text, NewPlaceholders(nil, values))
			checkMessage(t, text, err, "Invalid "+string(kind)+": "+want)
		}
	}
	if _, err := ParseCondition(FilterExpression, "b IN ("+hundred[:len(hundred)-2]+")", NewPlaceholders(nil, nil)); err != nil {
		t.Errorf("IN with a hundred operands: %v", err)
	}
}

func checkMessage(t *testing.T, text string, err error, want string) {
	t.Helper()
	var refused *Error
	if !errors.As(err, &refused) {
		t.Errorf("%.80s: error is %v, want %s", text, err, want)
		return
	}
	if refused.Message != want {
		t.Errorf("%.80s:\n got %s\nwant %s", text, refused.Message, want)
	}
}
