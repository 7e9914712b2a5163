package conformance

import (
	"math/big"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docSizes = "Developer Guide, DynamoDB item sizes and formats: leading and trailing zeroes are trimmed"

// everyType has a value of every attribute type that is stored as it is sent.
func everyType() item {
	return item{
		"string":      str("größe 水 \x00\n\"quoted\" <&>"),
		"emptyString": str(""),
		"emptyBinary": bin(),
		"binary":      bin(0, 1, 0x7f, 0x80, 0xff),
		"int":         num("9007199254740993"),
		"digits38":    num("12345678901234567890123456789012345678"),
		"fraction38":  num("-1.2345678901234567890123456789012345678"),
		"true":        boolean(true),
		"false":       boolean(false),
		"null":        null(),
		"strings":     strs("b", "a", "ä"),
		"numbers":     nums("3", "-1.5", "9007199254740993"),
		"binaries":    bins([]byte{1}, []byte{0xff, 0}),
		"emptyList":   list(),
		"emptyMap":    dict(item{}),
		"nested": dict(item{
			"list":  list(str("x"), num("1"), dict(item{"deep": list(null(), boolean(false), bin(7))})),
			"set":   strs("only"),
			"empty": str(""),
		}),
	}
}

func typeCases() []Case {
	return []Case{
		{"type/all survive", docNames, func(p *probe) {
			table, key := p.simple()
			it := with(key, everyType())
			p.put(table, it)
			p.stored(table, key, it)
		}},
		{"type/nested 32 levels", docLimits, func(p *probe) {
			table, key := p.simple()
			it := with(key, item{"a": nestedLists(31)})
			p.put(table, it)
			p.stored(table, key, it)
			p.refused(p.tryPut(table, with(key, item{"a": nestedLists(40)})), "PutItem of 40 levels", validation)
		}},
		{"type/number/normalised", docSizes, func(p *probe) {
			table, key := p.simple()
			for given, want := range map[string]string{
				"1.50": "1.5", "0012": "12", "100": "100", "1e2": "100", "1E+3": "1000", "-0.250": "-0.25",
				"12.5e-1": "1.25", "0.0": "0", "120e-1": "12",
			} {
				p.put(table, with(key, item{"n": num(given)}))
				got, isNumber := p.get(table, key)["n"].(*types.AttributeValueMemberN)
				if !isNumber || got.Value != want {
					p.errorf("number %q: got %s, want %s", given, valueText(p.get(table, key)["n"]), want)
				}
			}
		}},
		{"type/number/extremes", docNames, func(p *probe) {
			table, key := p.simple()
			for _, given := range []string{
				"9.9999999999999999999999999999999999999E+125", "-9.9999999999999999999999999999999999999E+125",
				"1E-130", "-1E-130", "99999999999999999999999999999999999999", "0.00000000000000000000000000000000000001",
			} {
				p.put(table, with(key, item{"n": num(given)}))
				got, isNumber := p.get(table, key)["n"].(*types.AttributeValueMemberN)
				if !isNumber || !sameNumber(got.Value, given) {
					p.errorf("number %q came back as %s", given, valueText(p.get(table, key)["n"]))
				}
			}
		}},
		{"type/number/out of range", docNames, func(p *probe) {
			table, key := p.simple()
			for _, given := range []string{"1E+126", "-1E+126", "1E-131", strings.Repeat("9", 39), "1." + strings.Repeat("1", 38)} {
				p.refused(p.tryPut(table, with(key, item{"n": num(given)})), "PutItem with the number "+given, validation)
			}
		}},
		{"type/number/not a number", docNames, func(p *probe) {
			table, key := p.simple()
			for _, given := range []string{"", "abc", "1,5", "0x10", "NaN", "Infinity", "1 2", "1e"} {
				p.refused(p.tryPut(table, with(key, item{"n": num(given)})), "PutItem with the number "+given, validation)
			}
		}},
		{"type/number/same value same key", docNames, func(p *probe) {
			table := p.table(layout{sort: types.ScalarAttributeTypeN})
			pk := p.key()
			p.put(table, item{"pk": pk, "sk": num("100"), "v": num("1")})
			p.put(table, item{"pk": pk, "sk": num("1e2"), "v": num("2")})
			p.stored(table, item{"pk": pk, "sk": num("100.00")}, item{"pk": pk, "sk": num("100"), "v": num("2")})
		}},
		{"type/set/empty", docNames, func(p *probe) {
			table, key := p.simple()
			for what, set := range map[string]types.AttributeValue{"SS": strs(), "NS": nums(), "BS": bins()} {
				p.refused(p.tryPut(table, with(key, item{"a": set})), "PutItem with an empty "+what, validation)
			}
		}},
		{"type/set/duplicates", docNames, func(p *probe) {
			table, key := p.simple()
			for what, set := range map[string]types.AttributeValue{
				"SS": strs("a", "a"), "NS": nums("1", "1.0"), "BS": bins([]byte{1}, []byte{1}),
			} {
				p.refused(p.tryPut(table, with(key, item{"a": set})), "PutItem with a duplicate in "+what, validation)
			}
		}},
		{"type/set/empty members", docNames, func(p *probe) {
			table, key := p.simple()
			it := with(key, item{"s": strs("", "a"), "b": bins([]byte{}, []byte{1})})
			p.put(table, it)
			p.stored(table, key, it)
		}},
	}
}

// nestedLists returns a number inside this many lists.
func nestedLists(levels int) types.AttributeValue {
	value := num("1")
	for range levels {
		value = list(value)
	}
	return value
}

func sameNumber(a, b string) bool {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}
