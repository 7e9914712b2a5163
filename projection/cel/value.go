package cel

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"millrace/event"
	"millrace/internal/decimal"
)

// toCEL is an attribute value as expressions see it.
func toCEL(v event.Value) ref.Val {
	switch v := v.(type) {
	case nil, event.Null:
		return types.NullValue
	case event.String:
		return types.String(v)
	case event.Bool:
		return types.Bool(v)
	case event.Binary:
		return types.Bytes(v)
	case event.Number:
		d, err := decimal.Parse(string(v))
		if err != nil {
			return types.WrapErr(err)
		}
		return number(d)
	case event.Map:
		return attributes{get: func(name string) (event.Value, error) { return v[name], nil }, all: func() (event.Item, error) { return event.Item(v), nil }, origin: v}
	case event.List:
		return sequence(v, v)
	case event.StringSet:
		return sequence(v, each(v, func(s string) event.Value { return event.String(s) }))
	case event.NumberSet:
		return sequence(v, each(v, func(s string) event.Value { return event.Number(s) }))
	case event.BinarySet:
		return sequence(v, each(v, func(b []byte) event.Value { return event.Binary(b) }))
	}
	return types.NewErr("an attribute of type %T", v)
}

func each[T any](of []T, value func(T) event.Value) event.List {
	list := make(event.List, len(of))
	for i, v := range of {
		list[i] = value(v)
	}
	return list
}

// list is a stored list or set. A set that an expression hands on unchanged
// stays a set.
type list struct {
	traits.Lister
	origin event.Value
}

func sequence(origin event.Value, values event.List) ref.Val {
	elements := make([]ref.Val, len(values))
	for i, v := range values {
		elements[i] = toCEL(v)
	}
	return list{types.NewRefValList(types.DefaultTypeAdapter, elements), origin}
}

// fromCEL is an expression's result as an attribute value.
func fromCEL(v ref.Val) (event.Value, error) {
	switch v := v.(type) {
	case types.Null:
		return event.Null{}, nil
	case types.String:
		return event.String(v), nil
	case types.Bool:
		return event.Bool(v), nil
	case types.Bytes:
		return event.Binary(v), nil
	case types.Int:
		return event.Number(strconv.FormatInt(int64(v), 10)), nil
	case types.Uint:
		return event.Number(strconv.FormatUint(uint64(v), 10)), nil
	case Decimal:
		return event.Number(v.d.String()), nil
	case types.Double:
		return nil, fmt.Errorf("%v is a floating-point number, which has no exact value; write decimal(\"0.1\") for one", v)
	case types.Timestamp:
		return event.String(v.UTC().Format(time.RFC3339Nano)), nil
	case list:
		return v.origin, nil
	case attributes:
		if v.origin != nil {
			return v.origin, nil
		}
		item, err := v.all()
		return event.Map(item), err
	case *types.Err:
		return nil, v
	case traits.Lister:
		return fromList(v)
	case traits.Mapper:
		return fromMap(v)
	}
	return nil, fmt.Errorf("a value of type %s cannot be stored", v.Type().TypeName())
}

func fromList(l traits.Lister) (event.Value, error) {
	out := event.List{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		v, err := fromCEL(it.Next())
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func fromMap(m traits.Mapper) (event.Value, error) {
	out := event.Map{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("a map's keys must be text, %v is %s", key.Value(), key.Type().TypeName())
		}
		v, err := fromCEL(m.Get(key))
		if err != nil {
			return nil, err
		}
		out[string(name)] = v
	}
	return out, nil
}

// attributes is an item or a map, whose attributes are decoded when an
// expression names them.
type attributes struct {
	get    func(name string) (event.Value, error)
	all    func() (event.Item, error)
	origin event.Value // nil for an item
}

var _ traits.Mapper = attributes{}

// Find returns the value of an attribute, if it is there.
func (a attributes) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, err := a.get(string(name))
	if err != nil {
		return types.WrapErr(err), true
	}
	if v == nil {
		return nil, false
	}
	return toCEL(v), true
}

// Get returns the value of an attribute, or an error that names it.
func (a attributes) Get(key ref.Val) ref.Val {
	v, found := a.Find(key)
	if !found {
		return types.NewErr("no such attribute: %v", key.Value())
	}
	return v
}

// Contains reports whether an attribute is there.
func (a attributes) Contains(key ref.Val) ref.Val {
	_, found := a.Find(key)
	return types.Bool(found)
}

func (a attributes) whole() traits.Mapper {
	item, err := a.all()
	if err != nil {
		return nil
	}
	values := make(map[ref.Val]ref.Val, len(item))
	for name, v := range item {
		values[types.String(name)] = toCEL(v)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, values)
}

// Size is the number of attributes.
func (a attributes) Size() ref.Val {
	item, err := a.all()
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Int(len(item))
}

// Iterator goes over the attributes' names.
func (a attributes) Iterator() traits.Iterator {
	if m := a.whole(); m != nil {
		return m.Iterator()
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{}).Iterator()
}

// Equal compares with another map, attribute by attribute.
func (a attributes) Equal(other ref.Val) ref.Val {
	if m := a.whole(); m != nil {
		if o, ok := other.(attributes); ok {
			if w := o.whole(); w != nil {
				return m.Equal(w)
			}
		}
		return m.Equal(other)
	}
	return types.False
}

// ConvertToNative is not offered: results are read by fromCEL.
func (a attributes) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("an item is not handed out as %v", t)
}

// ConvertToType offers the map's own type.
func (a attributes) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return a
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("a map cannot become %s", t.TypeName())
}

// Type is CEL's map.
func (a attributes) Type() ref.Type { return types.MapType }

// Value is the map itself.
func (a attributes) Value() any { return a }

// Decimal is a number that is not whole, or beyond 64 bits.
type Decimal struct{ d decimal.Decimal }

var decimalType = types.NewObjectType("decimal", traits.AdderType|traits.SubtractorType|traits.MultiplierType|traits.DividerType|traits.NegatorType|traits.ComparerType)

// number is a decimal as expressions see it: int where it fits.
func number(d decimal.Decimal) ref.Val {
	text := d.String()
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return types.Int(n)
	}
	return Decimal{d}
}

// exact is the value of a number, false for anything else.
func exact(v ref.Val) (decimal.Decimal, bool, error) {
	var text string
	switch v := v.(type) {
	case Decimal:
		return v.d, true, nil
	case types.Int:
		text = strconv.FormatInt(int64(v), 10)
	case types.Uint:
		text = strconv.FormatUint(uint64(v), 10)
	case types.Double:
		// Only constants are floating-point here: the shortest text that names
		// the number is the one that was written.
		text = strconv.FormatFloat(float64(v), 'g', -1, 64)
	default:
		return decimal.Decimal{}, false, nil
	}
	d, err := decimal.Parse(text)
	return d, true, err
}

// ConvertToNative is not offered: results are read by fromCEL.
func (d Decimal) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a decimal is not handed out as %v", t)
}

// ConvertToType offers text.
func (d Decimal) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.StringType:
		return types.String(d.d.String())
	case types.TypeType:
		return decimalType
	}
	return types.NewErr("the decimal %s cannot become %s", d.d, t.TypeName())
}

// Equal compares the values.
func (d Decimal) Equal(other ref.Val) ref.Val {
	o, isNumber, err := exact(other)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(isNumber && d.d == o)
}

// Type is decimal.
func (d Decimal) Type() ref.Type { return decimalType }

// Value is the decimal itself.
func (d Decimal) Value() any { return d }

// String shows the number.
func (d Decimal) String() string { return d.d.String() }
