package expr

import (
	"strings"
	"testing"

	"millrace/event"
)

func numbers(texts ...string) event.List {
	list := event.List{}
	for _, text := range texts {
		list = append(list, event.Number(text))
	}
	return list
}

func apply(t *testing.T, text string, item event.Item, names map[string]string, values event.Item) (Result, error) {
	t.Helper()
	u, err := ParseUpdate(text, NewPlaceholders(names, values), []string{"pk", "sk"})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	before := item.Clone()
	made, err := u.Apply(item)
	if !item.Equal(before) {
		t.Errorf("%s changed the item it was given: %v", text, item)
	}
	return made, err
}

func TestUpdates(t *testing.T) {
	names := map[string]string{"#a": "x", "#ab": "y", "#n1": "one", "#n10": "ten"}
	values := event.Item{
		":1": event.Number("1"), ":2": event.Number("2.0"), ":s": event.String("new"), ":l": numbers("8", "9"), ":empty": event.List{},
		":ss": event.StringSet{"b", "c"}, ":all": event.StringSet{"a", "b", "c"}, ":ns": event.NumberSet{"1.0", "7"},
		":bs": event.BinarySet{{2}, {3}}, ":m": event.Map{}, ":tenth": event.Number("0.1"), ":fifth": event.Number("0.2"),
	}
	item := func() event.Item {
		return event.Item{
			"pk": event.String("p"), "a": event.Number("1"), "b": event.Number("2"), "c": event.Number("9007199254740993"),
			"l": numbers("0", "1", "2", "3"), "m": event.Map{"y": event.Number("5"), "inside": event.Map{"l": numbers("1", "2")}},
			"ss": event.StringSet{"a", "b"}, "ns": event.NumberSet{"1", "2"}, "bs": event.BinarySet{{1}, {2}},
		}
	}
	for text, want := range map[string]event.Item{ // what differs afterwards; nil for a removed attribute
		"SET a = :s":                     {"a": event.String("new")},
		"set d = :s":                     {"d": event.String("new")},
		"SET a = b, b = a":               {"a": event.Number("2"), "b": event.Number("1")},
		"SET d = a":                      {"d": event.Number("1")},
		"SET #a = :1, #ab = :2":          {"x": event.Number("1"), "y": event.Number("2")},
		"SET #n1 = :1, #n10 = :2":        {"one": event.Number("1"), "ten": event.Number("2")},
		"SET a = a + :1":                 {"a": event.Number("2")},
		"SET a = b - a":                  {"a": event.Number("1")},
		"SET c = c + :1":                 {"c": event.Number("9007199254740994")},
		"SET d = :tenth + :fifth":        {"d": event.Number("0.3")},
		"SET a = (a) + (:1)":             {"a": event.Number("2")},
		"SET a = (a + :1)":               {"a": event.Number("2")},
		"SET a = if_not_exists(a, :s)":   {},
		"SET d = if_not_exists(d, :s)":   {"d": event.String("new")},
		"SET d = if_not_exists(a, d)":    {"d": event.Number("1")},
		"SET d = if_not_exists(d, a)+:1": {"d": event.Number("2")},
		"SET a = :1 REMOVE b":            {"b": nil},
		"SET a = :s\nREMOVE b\n\tADD d :1\r\nDELETE ss :ss": {
			"a": event.String("new"), "b": nil, "d": event.Number("1"), "ss": event.StringSet{"a"},
		},
		"REMOVE b SET a = b": {"a": event.Number("2"), "b": nil},
		"ADD a :1 SET d = a": {"a": event.Number("2"), "d": event.Number("1")},
		// documents
		"SET m.y = :s":                             {"m": event.Map{"y": event.String("new"), "inside": event.Map{"l": numbers("1", "2")}}},
		"SET m.fresh = :1":                         {"m": event.Map{"y": event.Number("5"), "fresh": event.Number("1"), "inside": event.Map{"l": numbers("1", "2")}}},
		"SET m.inside.l[1] = m.y":                  {"m": event.Map{"y": event.Number("5"), "inside": event.Map{"l": numbers("1", "5")}}},
		"REMOVE m.y":                               {"m": event.Map{"inside": event.Map{"l": numbers("1", "2")}}},
		"REMOVE m.absent, absent, l[77]":           {},
		"REMOVE m.y, m.inside":                     {"m": event.Map{}},
		"SET m.y = m.y + :1, m.z = m.y":            {"m": event.Map{"y": event.Number("6"), "z": event.Number("5"), "inside": event.Map{"l": numbers("1", "2")}}},
		"ADD m.y :1":                               {"m": event.Map{"y": event.Number("6"), "inside": event.Map{"l": numbers("1", "2")}}},
		"SET l[1] = :s":                            {"l": event.List{event.Number("0"), event.String("new"), event.Number("2"), event.Number("3")}},
		"SET l[9] = :1, l[7] = :2":                 {"l": numbers("0", "1", "2", "3", "2", "1")},
		"REMOVE l[1]":                              {"l": numbers("0", "2", "3")},
		"REMOVE l[0], l[2], l[1]":                  {"l": numbers("3")},
		"REMOVE l[0],l[1],l[2],l[3]":               {"l": event.List{}},
		"SET l[3] = l[0], l[8] = l[1] REMOVE l[0]": {"l": numbers("1", "2", "0", "1")},
		"REMOVE m.inside.l[0]":                     {"m": event.Map{"y": event.Number("5"), "inside": event.Map{"l": numbers("2")}}},
		// list_append
		"SET l = list_append(l, :l)":                           {"l": numbers("0", "1", "2", "3", "8", "9")},
		"SET l = list_append(:l, l)":                           {"l": numbers("8", "9", "0", "1", "2", "3")},
		"SET l = list_append(l, l)":                            {"l": numbers("0", "1", "2", "3", "0", "1", "2", "3")},
		"SET d = list_append(if_not_exists(d, :empty), :l)":    {"d": numbers("8", "9")},
		"SET d = list_append(list_append(:empty, :l), :empty)": {"d": numbers("8", "9")},
		// ADD and DELETE
		"ADD a :2":           {"a": event.Number("3")},
		"ADD d :2":           {"d": event.Number("2")},
		"ADD ss :ss":         {"ss": event.StringSet{"a", "b", "c"}},
		"ADD ns :ns":         {"ns": event.NumberSet{"1", "2", "7"}},
		"ADD bs :bs":         {"bs": event.BinarySet{{1}, {2}, {3}}},
		"ADD d :ss, a :1":    {"d": event.StringSet{"b", "c"}, "a": event.Number("2")},
		"DELETE ss :ss":      {"ss": event.StringSet{"a"}},
		"DELETE ss :all":     {"ss": nil},
		"DELETE ns :ns":      {"ns": event.NumberSet{"2"}},
		"DELETE bs :bs":      {"bs": event.BinarySet{{1}}},
		"DELETE nothing :ss": {},
		"SET d = :m":         {"d": event.Map{}},
	} {
		all := item()
		for name, v := range want {
			if v == nil {
				delete(all, name)
			} else {
				all[name] = v
			}
		}
		made, err := apply(t, text, item(), names, values)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if !made.Item.Equal(all) {
			t.Errorf("%s\n gave %v\n want %v", text, made.Item, all)
		}
	}
}

func TestUpdateCreatesAnItem(t *testing.T) {
	made, err := apply(t, "SET a = if_not_exists(a, :v) ADD n :v", nil, nil, event.Item{":v": event.Number("1")})
	want := event.Item{"a": event.Number("1"), "n": event.Number("1")}
	if err != nil || !made.Item.Equal(want) || !made.UpdatedNew.Equal(want) || len(made.UpdatedOld) != 0 {
		t.Fatalf("got %+v, %v", made, err)
	}
}

func TestUpdateWithoutAnItem(t *testing.T) {
	values := event.Item{":v": event.Number("1"), ":ss": event.StringSet{"a"}}
	for text, want := range map[string]event.Item{
		"REMOVE a, b.c, l[0]":    nil,
		"DELETE a :ss":           nil,
		"SET a = :v REMOVE b.c":  {"a": event.Number("1")},
		"ADD a :ss DELETE b :ss": {"a": event.StringSet{"a"}},
	} {
		made, err := apply(t, text, nil, nil, values)
		if err != nil || !made.Item.Equal(want) || (made.Item == nil) != (want == nil) {
			t.Errorf("%s gave %v, %v; want %v", text, made.Item, err, want)
		}
	}
	_, err := apply(t, "SET b.c = :v", nil, nil, values)
	checkMessage(t, "SET b.c", err, wrongPath)
}

func TestUpdatedParts(t *testing.T) {
	values := event.Item{":v": event.Number("9"), ":ss": event.StringSet{"a"}}
	item := event.Item{
		"a": event.Number("1"), "b": event.Number("2"), "l": numbers("0", "1", "2"), "ss": event.StringSet{"a"},
		"m": event.Map{"x": event.Number("1"), "y": event.Number("2")},
	}
	for text, want := range map[string]struct{ before, after event.Item }{
		"SET a = :v":        {event.Item{"a": event.Number("1")}, event.Item{"a": event.Number("9")}},
		"SET c = :v":        {event.Item{}, event.Item{"c": event.Number("9")}},
		"REMOVE a":          {event.Item{"a": event.Number("1")}, event.Item{}},
		"ADD a :v REMOVE b": {event.Item{"a": event.Number("1"), "b": event.Number("2")}, event.Item{"a": event.Number("10")}},
		"SET m.x = :v":      {event.Item{"m": event.Map{"x": event.Number("1")}}, event.Item{"m": event.Map{"x": event.Number("9")}}},
		"REMOVE m.x":        {event.Item{"m": event.Map{"x": event.Number("1")}}, event.Item{}},
		"SET l[1] = :v":     {event.Item{"l": numbers("1")}, event.Item{"l": numbers("9")}},
		"REMOVE l[1], l[3]": {event.Item{"l": numbers("1")}, event.Item{"l": numbers("2")}}, // what moved there
		"SET l[5] = :v":     {event.Item{}, event.Item{}},                                   // it went to l[3]
		"DELETE ss :ss":     {event.Item{"ss": event.StringSet{"a"}}, event.Item{}},
		"REMOVE absent":     {event.Item{}, event.Item{}},
	} {
		used := event.Item{}
		for key, v := range values {
			if strings.Contains(text, key) {
				used[key] = v
			}
		}
		made, err := apply(t, text, item, nil, orNil(used))
		if err != nil || !made.UpdatedOld.Equal(want.before) || !made.UpdatedNew.Equal(want.after) {
			t.Errorf("%s: old %v, new %v, error %v; want %v", text, made.UpdatedOld, made.UpdatedNew, err, want)
		}
	}
}

// orNil turns an empty item into none: a request that has no values must not
// bring an empty map of them.
func orNil(item event.Item) event.Item {
	if len(item) == 0 {
		return nil
	}
	return item
}

func TestUpdateRefusedByTheItem(t *testing.T) {
	values := event.Item{
		":n": event.Number("1"), ":s": event.String("s"), ":l": event.List{}, ":ss": event.StringSet{"a"},
		":ns": event.NumberSet{"1"}, ":huge": event.Number("9E125"), ":long": event.Number(strings.Repeat("9", 38)), ":half": event.Number("0.5"),
	}
	item := event.Item{
		"n": event.Number("1"), "s": event.String("s"), "l": numbers("1"), "m": event.Map{"n": event.Number("1")},
		"ss": event.StringSet{"a"}, "huge": event.Number("9E125"), "deep": nest(32),
	}
	const overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	for text, want := range map[string]string{
		"SET a = b":                  noAttribute,
		"SET a = b + :n":             noAttribute,
		"SET a = list_append(b, :l)": noAttribute,
		"SET a = if_not_exists(b,c)": noAttribute,
		"SET a = l[1]":               noAttribute,
		"SET a = s + :n":             wrongOperand,
		"SET a = n - s":              wrongOperand,
		"SET a = list_append(s, :l)": wrongOperand,
		"SET a = list_append(:l, n)": wrongOperand,
		"ADD s :n":                   wrongOperand,
		"ADD n :ss":                  wrongOperand,
		"ADD ss :ns":                 wrongOperand,
		"ADD l :n":                   wrongOperand,
		"DELETE l :ss":               wrongOperand,
		"DELETE n :ss":               wrongOperand,
		"DELETE ss :ns":              wrongOperand,
		"SET a.b = :n":               wrongPath,
		"SET n.b = :n":               wrongPath,
		"SET m.x.y = :n":             wrongPath,
		"SET m[0] = :n":              wrongPath,
		"SET l.x = :n":               wrongPath,
		"SET l[5].x = :n":            wrongPath,
		"REMOVE a.b":                 wrongPath,
		"REMOVE s[0]":                wrongPath,
		"ADD a.b :n":                 wrongPath,
		"DELETE a.b :ss":             wrongPath,
		"SET n = huge + :huge":       overflow,
		"ADD huge :huge":             overflow,
		"SET n = :long + :half":      overflow,
		"SET m.n = deep":             tooDeep,
	} {
		_, err := apply(t, text, item, nil, values)
		checkMessage(t, text, err, want)
	}
}

func nest(levels int) event.Value {
	var v event.Value = event.Number("1")
	for range levels {
		v = event.Map{"d": v}
	}
	return v
}

func TestUpdateErrors(t *testing.T) {
	const clash = "; must remove or rewrite one of these paths; path one: "
	values := event.Item{
		":n": event.Number("1"), ":s": event.String("a"), ":ss": event.StringSet{"a"}, ":l": event.List{}, ":m": event.Map{},
		":bin": event.Binary{1}, ":bool": event.Bool(true), ":null": event.Null{},
	}
	for text, want := range map[string]string{
		"":                              "The expression can not be empty;",
		"SOT a = :n":                    `Syntax error; token: "SOT", near: "SOT a"`,
		"SET":                           `Syntax error; token: "<EOF>", near: "SET"`,
		"SET a = :n,":                   `Syntax error; token: "<EOF>", near: ","`,
		"SET a = :n, REMOVE b":          `Syntax error; token: "REMOVE", near: ", REMOVE b"`,
		"SET a = :n trailing":           `Syntax error; token: "trailing", near: ":n trailing"`,
		"SET a":                         `Syntax error; token: "<EOF>", near: "a"`,
		"SET a = b + c + :n":            `Syntax error; token: "+", near: "c + :n"`,
		"SET a = (b + c) + :n":          `Syntax error; token: "+", near: ") + :n"`,
		"SET a = b * :n":                `Syntax error; token: "*", near: "b * :n"`,
		"SET a = 5":                     `Syntax error; token: "5", near: "= 5"`,
		"SET a-b = :n":                  `Syntax error; token: "-", near: "a-b"`,
		"SET :n = a":                    `Syntax error; token: ":n", near: "SET :n ="`,
		"REMOVE a = :n":                 `Syntax error; token: "=", near: "a = :n"`,
		"ADD a b":                       `Syntax error; token: "b", near: "a b"`,
		"DELETE a":                      `Syntax error; token: "<EOF>", near: "a"`,
		"SET a = (:n":                   `Syntax error; token: "<EOF>", near: ":n"`,
		"SET a = :n SET b = :n":         `The "SET" section can only be used once in an update expression;`,
		"REMOVE a ADD b :n REMOVE c":    `The "REMOVE" section can only be used once in an update expression;`,
		"SET a = :n, a = :s":            "Two document paths overlap with each other" + clash + "[a], path two: [a]",
		"SET a = :n REMOVE a":           "Two document paths overlap with each other" + clash + "[a], path two: [a]",
		"SET a.b[1] = :n ADD a :n":      "Two document paths overlap with each other" + clash + "[a, b, [1]], path two: [a]",
		"SET #a.x = :n, a.x.y = :n":     "Two document paths overlap with each other" + clash + "[a, x], path two: [a, x, y]",
		"SET a[0] = :n, a.b = :n":       "Two document paths conflict with each other" + clash + "[a, [0]], path two: [a, b]",
		"SET status = :n":               "Attribute name is a reserved keyword; reserved keyword: status",
		"SET a = :missing":              "An expression attribute value used in expression is not defined; attribute value: :missing",
		"SET #missing = :n":             "An expression attribute name used in the document path is not defined; attribute name: #missing",
		"SET a = size(b)":               "The function is not allowed in an update expression; function: size",
		"SET a = IF_NOT_EXISTS(a, :n)":  "Invalid function name; function: IF_NOT_EXISTS",
		"SET a = if_not_exists(a)":      "Incorrect number of operands for operator or function; operator or function: if_not_exists, number of operands: 1",
		"SET a = if_not_exists(:n, :n)": "Operator or function requires a document path; operator or function: if_not_exists",
		"SET a = list_append(b, :n)":    "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
		"SET a = b + :s":                "Incorrect operand type for operator or function; operator or function: +, operand type: S",
		"SET a = :l - b":                "Incorrect operand type for operator or function; operator or function: -, operand type: L",
		"ADD a :s":                      "Incorrect operand type for operator or function; operator: ADD, operand type: STRING",
		"ADD a :m":                      "Incorrect operand type for operator or function; operator: ADD, operand type: MAP",
		"ADD a :bin":                    "Incorrect operand type for operator or function; operator: ADD, operand type: BINARY",
		"ADD a :bool":                   "Incorrect operand type for operator or function; operator: ADD, operand type: BOOLEAN",
		"DELETE a :null":                "Incorrect operand type for operator or function; operator: DELETE, operand type: NULL",
		"SET a = b + (c + :n)":          `Syntax error; token: "<EOF>", near: ")"`,
		"DELETE a :n":                   "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER",
		"DELETE a :l":                   "Incorrect operand type for operator or function; operator: DELETE, operand type: LIST",
	} {
		_, err := ParseUpdate(text, NewPlaceholders(map[string]string{"#a": "a"}, values), []string{"pk", "sk"})
		checkMessage(t, text, err, "Invalid UpdateExpression: "+want)
	}
	for text, key := range map[string]string{
		"SET pk = :n": "pk", "REMOVE sk": "sk", "ADD a :n, sk :n": "sk", "SET #k = :n": "pk", "SET pk.x = :n": "pk", "DELETE pk :ss": "pk",
	} {
		_, err := ParseUpdate(text, NewPlaceholders(map[string]string{"#k": "pk"}, values), []string{"pk", "sk"})
		checkMessage(t, text, err, "One or more parameter values were invalid: Cannot update attribute "+key+". This attribute is part of the key")
	}
}
