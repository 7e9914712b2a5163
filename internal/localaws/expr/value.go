package expr

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"millrace/event"
	"millrace/internal/decimal"
)

// maxLevels is how deep documents nest (Developer Guide, "Constraints").
const maxLevels = 32

// EqualValues reports whether a and b are the same value to DynamoDB: numbers
// by their size also within documents and sets, sets in any order. Two absent
// values are equal.
func EqualValues(a, b event.Value) bool {
	switch a := a.(type) {
	case event.Number:
		b, ok := b.(event.Number)
		return ok && sameNumber(string(a), string(b))
	case event.NumberSet:
		b, ok := b.(event.NumberSet)
		return ok && slices.Equal(numberKeys(a), numberKeys(b))
	case event.List:
		b, ok := b.(event.List)
		return ok && slices.EqualFunc(a, b, EqualValues)
	case event.Map:
		b, ok := b.(event.Map)
		return ok && maps.EqualFunc(a, b, EqualValues)
	}
	return event.Equal(a, b)
}

func sameNumber(a, b string) bool { return a == b || numberKey(a) == numberKey(b) }

// numberKey is the same for all spellings of a number. A text that is no
// number is its own key.
func numberKey(text string) string {
	d, err := decimal.Parse(text)
	if err != nil {
		return text
	}
	return d.String()
}

func numberKeys(set []string) []string {
	keys := make([]string, len(set))
	for i, text := range set {
		keys[i] = numberKey(text)
	}
	slices.Sort(keys)
	return keys
}

// compare orders two values. Only numbers, texts (by their UTF-8 bytes) and
// binaries (by unsigned bytes) have an order, each among their own.
func compare(a, b event.Value) (order int, comparable bool) {
	switch a := a.(type) {
	case event.String:
		b, ok := b.(event.String)
		return cmp.Compare(a, b), ok
	case event.Binary:
		b, ok := b.(event.Binary)
		return bytes.Compare(a, b), ok
	case event.Number:
		b, ok := b.(event.Number)
		if !ok {
			return 0, false
		}
		x, err := decimal.Parse(string(a))
		if err != nil {
			return 0, false
		}
		y, err := decimal.Parse(string(b))
		if err != nil {
			return 0, false
		}
		return x.Cmp(y), true
	}
	return 0, false
}

// members returns a set's members as values; nil for anything else.
func members(v event.Value) []event.Value {
	var out []event.Value
	switch v := v.(type) {
	case event.StringSet:
		for _, s := range v {
			out = append(out, event.String(s))
		}
	case event.NumberSet:
		for _, n := range v {
			out = append(out, event.Number(n))
		}
	case event.BinarySet:
		for _, b := range v {
			out = append(out, event.Binary(b))
		}
	}
	return out
}

// Normalize checks a value that came in a request and returns it with every
// number in its normal spelling, at any depth. It refuses numbers that
// DynamoDB cannot hold, empty sets, sets with a member twice, missing values
// and documents nested deeper than 32 levels; the error is an *Error. The
// given value is not changed.
func Normalize(v event.Value) (event.Value, error) { return normalize(v, 0) }

func normalize(v event.Value, level int) (event.Value, error) {
	if level > maxLevels {
		return nil, errorf(tooDeep)
	}
	switch v := v.(type) {
	case nil:
		return nil, errorf("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case event.Number:
		text, err := normalNumber(string(v))
		return event.Number(text), err
	case event.NumberSet:
		return normalNumberSet(v)
	case event.StringSet:
		if len(v) == 0 {
			return nil, invalid("An string set  may not be empty") // the service's own spelling
		}
		if repeats(v) {
			return nil, invalid("Input collection [%s] contains duplicates.", strings.Join(v, ", "))
		}
	case event.BinarySet:
		return v, checkBinarySet(v)
	case event.List:
		out := make(event.List, len(v))
		for i, e := range v {
			var err error
			if out[i], err = normalize(e, level+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case event.Map:
		out := make(event.Map, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) { // of several faults, always the same
			var err error
			if out[name], err = normalize(v[name], level+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func invalid(format string, args ...any) *Error {
	return errorf("One or more parameter values were invalid: "+format, args...)
}

func normalNumber(text string) (string, error) {
	d, err := decimal.Parse(text)
	if err != nil {
		return "", &Error{Message: err.Error()}
	}
	return d.String(), nil
}

func normalNumberSet(set event.NumberSet) (event.Value, error) {
	if len(set) == 0 {
		return nil, invalid("An number set  may not be empty") // the service's own spelling
	}
	out := make(event.NumberSet, len(set))
	for i, text := range set {
		var err error
		if out[i], err = normalNumber(text); err != nil {
			return nil, err
		}
	}
	if repeats(out) {
		return nil, invalid("Input collection contains duplicates.")
	}
	return out, nil
}

func checkBinarySet(set event.BinarySet) error {
	if len(set) == 0 {
		return invalid("Binary sets should not be empty")
	}
	texts := make([]string, len(set))
	for i, b := range set {
		texts[i] = base64.StdEncoding.EncodeToString(b)
	}
	if repeats(texts) {
		return invalid("Input collection [%s]of type BS contains duplicates.", strings.Join(texts, ", "))
	}
	return nil
}

func repeats(members []string) bool {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m] {
			return true
		}
		seen[m] = true
	}
	return false
}
