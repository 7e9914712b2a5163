package conformance

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

const docUpdates = "Developer Guide, Using update expressions in DynamoDB"

func updateItem() item {
	return item{
		"a": num("1"), "b": num("2"), "s": str("text"),
		"l":  list(str("l0"), str("l1"), str("l2")),
		"m":  dict(item{"x": num("1"), "y": dict(item{"z": str("deep")})}),
		"ss": strs("p", "q"), "ns": nums("1", "2"), "bs": bins([]byte{1}, []byte{2}),
	}
}

// updateTests change updateItem; want holds the attributes that differ
// afterwards, nil for one that is gone.
var updateTests = []struct {
	name   string
	text   string
	names  map[string]string
	values item
	want   item
}{
	{name: "set/new", text: "SET c = :v", values: item{":v": str("new")}, want: item{"c": str("new")}},
	{name: "set/replace by another type", text: "SET a = :v", values: item{":v": list()}, want: item{"a": list()}},
	{name: "set/several", text: "SET a = :v, c = :w", values: item{":v": num("5"), ":w": num("6")}, want: item{"a": num("5"), "c": num("6")}},
	{name: "set/copy", text: "SET c = s", want: item{"c": str("text")}},
	{name: "set/copy nested", text: "SET c = m.y", want: item{"c": dict(item{"z": str("deep")})}},
	{name: "set/swap", text: "SET a = b, b = a", want: item{"a": num("2"), "b": num("1")}},
	{name: "set/plus", text: "SET a = a + :v", values: item{":v": num("2.5")}, want: item{"a": num("3.5")}},
	{name: "set/minus", text: "SET a = a - :v", values: item{":v": num("3")}, want: item{"a": num("-2")}},
	{name: "set/plus of two paths", text: "SET c = a + b", want: item{"c": num("3")}},
	{name: "set/minus with the value first", text: "SET a = :v - a", values: item{":v": num("10")}, want: item{"a": num("9")}},
	{name: "set/exact decimals", text: "SET c = :x + :y", values: item{":x": num("0.1"), ":y": num("0.2")}, want: item{"c": num("0.3")}},
	{name: "set/exact integers", text: "SET c = :x + :y", values: item{":x": num("99999999999999999999999999999999999998"), ":y": num("1")}, want: item{"c": num("99999999999999999999999999999999999999")}},
	{name: "set/if_not_exists of a present one", text: "SET a = if_not_exists(a, :v)", values: item{":v": num("9")}},
	{name: "set/if_not_exists of an absent one", text: "SET c = if_not_exists(c, :v)", values: item{":v": num("9")}, want: item{"c": num("9")}},
	{name: "set/if_not_exists of another path", text: "SET c = if_not_exists(a, :v)", values: item{":v": num("9")}, want: item{"c": num("1")}},
	{name: "set/counter from nothing", text: "SET c = if_not_exists(c, :zero) + :one", values: item{":zero": num("0"), ":one": num("1")}, want: item{"c": num("1")}},
	{name: "set/list_append at the end", text: "SET l = list_append(l, :v)", values: item{":v": list(str("new"))}, want: item{"l": list(str("l0"), str("l1"), str("l2"), str("new"))}},
	{name: "set/list_append at the start", text: "SET l = list_append(:v, l)", values: item{":v": list(str("new"), num("1"))}, want: item{"l": list(str("new"), num("1"), str("l0"), str("l1"), str("l2"))}},
	{name: "set/list_append from nothing", text: "SET c = list_append(if_not_exists(c, :empty), :v)", values: item{":empty": list(), ":v": list(num("1"))}, want: item{"c": list(num("1"))}},
	{name: "set/nested attribute", text: "SET m.x = :v", values: item{":v": num("7")}, want: item{"m": dict(item{"x": num("7"), "y": dict(item{"z": str("deep")})})}},
	{name: "set/new nested attribute", text: "SET m.y.n = :v", values: item{":v": num("7")}, want: item{"m": dict(item{"x": num("1"), "y": dict(item{"z": str("deep"), "n": num("7")})})}},
	{name: "set/nested by placeholders", text: "SET #m.#x = :v", names: map[string]string{"#m": "m", "#x": "x.dotted"}, values: item{":v": num("7")}, want: item{"m": dict(item{"x": num("1"), "x.dotted": num("7"), "y": dict(item{"z": str("deep")})})}},
	{name: "set/list element", text: "SET l[1] = :v", values: item{":v": num("7")}, want: item{"l": list(str("l0"), num("7"), str("l2"))}},
	{name: "set/beyond the list", text: "SET l[90] = :v", values: item{":v": num("7")}, want: item{"l": list(str("l0"), str("l1"), str("l2"), num("7"))}},
	{name: "set/several beyond the list", text: "SET l[91] = :w, l[90] = :v", values: item{":v": num("7"), ":w": num("8")}, want: item{"l": list(str("l0"), str("l1"), str("l2"), num("7"), num("8"))}},
	{name: "remove/attribute", text: "REMOVE a", want: item{"a": nil}},
	{name: "remove/several", text: "REMOVE a, b, m.x", want: item{"a": nil, "b": nil, "m": dict(item{"y": dict(item{"z": str("deep")})})}},
	{name: "remove/absent", text: "REMOVE nope"},
	{name: "remove/list element shifts", text: "REMOVE l[0]", want: item{"l": list(str("l1"), str("l2"))}},
	{name: "remove/list elements by their old places", text: "REMOVE l[0], l[1]", want: item{"l": list(str("l2"))}},
	{name: "remove/beyond the list", text: "REMOVE l[7]"},
	{name: "add/number", text: "ADD a :v", values: item{":v": num("5")}, want: item{"a": num("6")}},
	{name: "add/negative number", text: "ADD a :v", values: item{":v": num("-0.5")}, want: item{"a": num("0.5")}},
	{name: "add/number to nothing", text: "ADD c :v", values: item{":v": num("5")}, want: item{"c": num("5")}},
	{name: "add/string set", text: "ADD ss :v", values: item{":v": strs("q", "r")}, want: item{"ss": strs("p", "q", "r")}},
	{name: "add/number set", text: "ADD ns :v", values: item{":v": nums("2.0", "3")}, want: item{"ns": nums("1", "2", "3")}},
	{name: "add/binary set", text: "ADD bs :v", values: item{":v": bins([]byte{3})}, want: item{"bs": bins([]byte{1}, []byte{2}, []byte{3})}},
	{name: "add/set to nothing", text: "ADD c :v", values: item{":v": strs("x")}, want: item{"c": strs("x")}},
	{name: "delete/members", text: "DELETE ss :v", values: item{":v": strs("p", "nope")}, want: item{"ss": strs("q")}},
	{name: "delete/all members", text: "DELETE ss :v", values: item{":v": strs("p", "q")}, want: item{"ss": nil}},
	{name: "delete/from nothing", text: "DELETE c :v", values: item{":v": strs("p")}},
	{name: "all clauses", text: "REMOVE s ADD a :one SET c = :v DELETE ss :set", values: item{":one": num("1"), ":v": num("3"), ":set": strs("p")}, want: item{"s": nil, "a": num("2"), "c": num("3"), "ss": strs("q")}},
	{name: "keywords in lower case", text: "set c = :v remove s", values: item{":v": num("3")}, want: item{"c": num("3"), "s": nil}},
	{name: "white space", text: "SET\n  c=:v\n,d = :v\t\nREMOVE\ns", values: item{":v": num("3")}, want: item{"c": num("3"), "d": num("3"), "s": nil}},
	{name: "clauses read the old item", text: "SET c = a REMOVE a", want: item{"c": num("1"), "a": nil}},
	{name: "placeholders with a common prefix", text: "SET #a = :a, #ab = :ab, #a1 = :a1", names: map[string]string{"#a": "c", "#ab": "cc", "#a1": "ccc"}, values: item{":a": num("1"), ":ab": num("2"), ":a1": num("3")}, want: item{"c": num("1"), "cc": num("2"), "ccc": num("3")}},
}

// badUpdates are refused, whatever the reason, and change nothing.
var badUpdates = []struct {
	name   string
	text   string
	values item
}{
	{"set an absent path", "SET c = nope", nil},
	{"arithmetic on an absent path", "SET c = nope + :v", item{":v": num("1")}},
	{"arithmetic on a string", "SET s = s + :v", item{":v": num("1")}},
	{"arithmetic with a string", "SET a = a + :v", item{":v": str("1")}},
	{"list_append to an absent path", "SET c = list_append(nope, :v)", item{":v": list(num("1"))}},
	{"list_append of no list", "SET l = list_append(l, :v)", item{":v": num("1")}},
	{"nested in an absent map", "SET nope.x = :v", item{":v": num("1")}},
	{"nested in no map", "SET s.x = :v", item{":v": num("1")}},
	{"an index of no list", "SET m[0] = :v", item{":v": num("1")}},
	{"the partition key", "SET pk = :v", item{":v": str("x")}},
	{"removing the partition key", "REMOVE pk", nil},
	{"overlapping paths", "SET m = :v, m.x = :v", item{":v": num("1")}},
	{"the same path twice", "SET a = :v, a = :v", item{":v": num("1")}},
	{"the same path in two clauses", "SET a = :v REMOVE a", item{":v": num("1")}},
	{"a clause twice", "SET c = :v SET d = :v", item{":v": num("1")}},
	{"add to a string", "ADD s :v", item{":v": num("1")}},
	{"add a string", "ADD c :v", item{":v": str("x")}},
	{"add another kind of set", "ADD ss :v", item{":v": nums("1")}},
	{"delete from a number", "DELETE a :v", item{":v": strs("x")}},
	{"delete a string", "DELETE ss :v", item{":v": str("p")}},
	{"overflow", "SET a = :v + :w", item{":v": num("9E+125"), ":w": num("2E+125")}},
	{"undefined value", "SET a = :nope", nil},
	{"undefined name", "SET #nope = :v", item{":v": num("1")}},
	{"unknown clause", "PUT a = :v", item{":v": num("1")}},
	{"unknown function", "SET a = plus(a, :v)", item{":v": num("1")}},
	{"a missing comma", "SET a = :v b = :v", item{":v": num("1")}},
	{"a comma too many", "SET a = :v,", item{":v": num("1")}},
	{"empty clause", "SET", nil},
	{"multiplication", "SET a = a * :v", item{":v": num("2")}},
}

func updateCases() []Case {
	cases := make([]Case, 0, len(updateTests)+len(badUpdates))
	for _, tc := range updateTests {
		cases = append(cases, Case{"update/" + tc.name, docUpdates, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, updateItem()))
			p.ok(p.tryUpdate(table, key, expression{tc.text, tc.names, tc.values}), "UpdateItem "+tc.text)
			want := with(key, updateItem())
			for name, value := range tc.want {
				if want[name] = value; value == nil {
					delete(want, name)
				}
			}
			p.stored(table, key, want)
		}})
	}
	for _, tc := range badUpdates {
		cases = append(cases, Case{"update/refused/" + tc.name, docUpdates, func(p *probe) {
			table, key := p.simple()
			p.put(table, with(key, updateItem()))
			p.refused(p.tryUpdate(table, key, expression{text: tc.text, values: tc.values}), "UpdateItem "+tc.text, validation)
			p.stored(table, key, with(key, updateItem()))
		}})
	}
	return append(cases, Case{"update/concurrent counters", "Developer Guide, Atomic counters", func(p *probe) {
		table, key := p.simple()
		const writers, each = 8, 10
		errs := make(chan error, writers)
		for range writers {
			go func() {
				for range each {
					if err := p.tryUpdate(table, key, expression{text: "ADD n :one", values: item{":one": num("1")}}); err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
		}
		for range writers {
			if err := <-errs; err != nil {
				p.errorf("UpdateItem ADD: %v", err)
			}
		}
		p.same("the counter", valueText(p.get(table, key)["n"]), valueText(num("80")))
	}}, Case{"update/refused/the sort key", docUpdates, func(p *probe) {
		table := p.table(layout{sort: types.ScalarAttributeTypeS})
		key := item{"pk": p.key(), "sk": str("a")}
		p.put(table, key)
		p.refused(p.tryUpdate(table, key, expression{text: "SET sk = :v", values: item{":v": str("b")}}), "UpdateItem of the sort key", validation)
		p.stored(table, key, key)
	}})
}
