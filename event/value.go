package event

import (
	"bytes"
	"maps"
	"slices"
)

// Value is one DynamoDB attribute value. The set of types is closed: String,
// Number, Binary, Bool, Null, List, Map, StringSet, NumberSet and BinarySet.
// A nil Value means that the attribute is absent, which is not the same as
// Null.
//
// Values are immutable once they are shared: whoever receives one copies
// before changing it (see Clone).
type Value interface {
	// Tag is DynamoDB's type descriptor: S, N, B, BOOL, NULL, L, M, SS, NS or BS.
	Tag() string
	isValue()
}

// The attribute types. Numbers stay the decimal text that was stored, so that
// no digit of DynamoDB's 38 is ever lost; see internal/decimal for arithmetic.
type (
	// String is a text attribute; it may be empty.
	String string
	// Number is a decimal number as text, of up to 38 significant digits.
	Number string
	// Binary is a byte string; it may be empty.
	Binary []byte
	// Bool is a truth value.
	Bool bool
	// Null is DynamoDB's explicit null.
	Null struct{}
	// List is an ordered list of values of any types.
	List []Value
	// Map is a nested document.
	Map map[string]Value
	// StringSet is a set of texts, never empty.
	StringSet []string
	// NumberSet is a set of numbers as decimal text, never empty.
	NumberSet []string
	// BinarySet is a set of byte strings, never empty.
	BinarySet [][]byte
)

// Item is a DynamoDB item: attribute names and their values.
type Item map[string]Value

func (String) isValue()    {}
func (Number) isValue()    {}
func (Binary) isValue()    {}
func (Bool) isValue()      {}
func (Null) isValue()      {}
func (List) isValue()      {}
func (Map) isValue()       {}
func (StringSet) isValue() {}
func (NumberSet) isValue() {}
func (BinarySet) isValue() {}

// Tag returns "S".
func (String) Tag() string { return "S" }

// Tag returns "N".
func (Number) Tag() string { return "N" }

// Tag returns "B".
func (Binary) Tag() string { return "B" }

// Tag returns "BOOL".
func (Bool) Tag() string { return "BOOL" }

// Tag returns "NULL".
func (Null) Tag() string { return "NULL" }

// Tag returns "L".
func (List) Tag() string { return "L" }

// Tag returns "M".
func (Map) Tag() string { return "M" }

// Tag returns "SS".
func (StringSet) Tag() string { return "SS" }

// Tag returns "NS".
func (NumberSet) Tag() string { return "NS" }

// Tag returns "BS".
func (BinarySet) Tag() string { return "BS" }

// Equal reports whether a and b are the same value. Numbers are compared by
// their text, so callers that mix spellings of one number must normalise
// first; DynamoDB itself stores one spelling. Sets are equal whatever their
// order.
func Equal(a, b Value) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch a := a.(type) {
	case String, Number, Bool, Null:
		return a == b
	case Binary:
		b, ok := b.(Binary)
		return ok && bytes.Equal(a, b)
	case List:
		b, ok := b.(List)
		return ok && slices.EqualFunc(a, b, Equal)
	case Map:
		b, ok := b.(Map)
		return ok && maps.EqualFunc(a, b, Equal)
	case StringSet:
		b, ok := b.(StringSet)
		return ok && sameMembers(a, b)
	case NumberSet:
		b, ok := b.(NumberSet)
		return ok && sameMembers(a, b)
	case BinarySet:
		b, ok := b.(BinarySet)
		return ok && sameMembers(textsOf(a), textsOf(b))
	}
	return false
}

// Equal reports whether both items hold the same attributes.
func (i Item) Equal(other Item) bool { return maps.EqualFunc(i, other, Equal) }

func sameMembers(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func textsOf(set [][]byte) []string {
	out := make([]string, len(set))
	for i, b := range set {
		out[i] = string(b)
	}
	return out
}

// Clone returns a deep copy that shares no memory that could be written to.
func Clone(v Value) Value {
	switch v := v.(type) {
	case Binary:
		return Binary(bytes.Clone(v))
	case List:
		out := make(List, len(v))
		for i, e := range v {
			out[i] = Clone(e)
		}
		return out
	case Map:
		return Map(Item(v).Clone())
	case StringSet:
		return slices.Clone(v)
	case NumberSet:
		return slices.Clone(v)
	case BinarySet:
		out := make(BinarySet, len(v))
		for i, b := range v {
			out[i] = bytes.Clone(b)
		}
		return out
	}
	return v
}

// Clone returns a deep copy of the item; nil stays nil.
func (i Item) Clone() Item {
	if i == nil {
		return nil
	}
	out := make(Item, len(i))
	for name, v := range i {
		out[name] = Clone(v)
	}
	return out
}
