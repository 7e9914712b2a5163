package event

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// maxDepth is how deep lists and maps may nest: DynamoDB allows 32 levels
// (Developer Guide, "Constraints in Amazon DynamoDB"); the codec is laxer by
// a factor so that it never refuses what the service accepted.
const maxDepth = 128

// UnmarshalJSON reads DynamoDB's JSON form. It refuses unknown type tags,
// more than one tag in a value, and values that do not fit their tag. Of an
// attribute that stands twice the last one counts, and null is an empty item,
// as encoding/json has it.
func (i *Item) UnmarshalJSON(data []byte) error {
	d := decoder{scanner{data: data}}
	item := Item{}
	if !d.word("null") {
		var err error
		if item, err = d.item(0); err != nil {
			return err
		}
	}
	if d.space(); d.at < len(d.data) {
		return d.expected("the end")
	}
	*i = item
	return nil
}

// decoder reads DynamoDB's JSON form from front to end, once. It is here
// because items are most of what the embedded engine reads, and encoding/json
// would scan every level of one anew.
type decoder struct{ scanner }

func (d *decoder) item(depth int) (Item, error) {
	item := Item{}
	err := d.each('{', '}', func() error {
		name, err := d.name()
		if err != nil {
			return err
		}
		attribute := string(name)
		if item[attribute], err = d.value(depth); err != nil {
			return fmt.Errorf("attribute %q: %w", attribute, err)
		}
		return nil
	})
	return item, err
}

func (d *decoder) value(depth int) (Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	if !d.take('{') {
		return nil, d.expected("a value's type tag")
	}
	tag, err := d.name()
	if err != nil {
		return nil, err
	}
	v, err := d.tagged(tag, depth)
	if err != nil {
		return nil, fmt.Errorf("type %s: %w", tag, err)
	}
	if !d.take('}') {
		return nil, d.expected("the end of a value, which has one type tag")
	}
	return v, nil
}

func (d *decoder) tagged(tag []byte, depth int) (Value, error) {
	switch string(tag) {
	case "S":
		s, err := d.text()
		return String(s), err
	case "N":
		s, err := d.text()
		return Number(s), err
	case "B":
		b, err := d.binary()
		return Binary(b), err
	case "BOOL":
		b, err := d.truth()
		return Bool(b), err
	case "NULL":
		_, err := d.truth()
		return Null{}, err
	case "SS":
		s, err := array(d, d.text)
		return StringSet(s), err
	case "NS":
		s, err := array(d, d.text)
		return NumberSet(s), err
	case "BS":
		b, err := array(d, d.binary)
		return BinarySet(b), err
	case "M":
		item, err := d.item(depth + 1)
		return Map(item), err
	case "L":
		list, err := array(d, func() (Value, error) { return d.value(depth + 1) })
		return List(list), err
	}
	return nil, errors.New("unknown type tag; DynamoDB has S, N, B, BOOL, NULL, L, M, SS, NS and BS")
}

// array reads elements up to the closing bracket; of none it makes an empty
// slice, not nil.
func array[E any](d *decoder, element func() (E, error)) ([]E, error) {
	elements := []E{}
	err := d.each('[', ']', func() error {
		e, err := element()
		if err != nil {
			return fmt.Errorf("element %d: %w", len(elements), err)
		}
		elements = append(elements, e)
		return nil
	})
	return elements, err
}

func (d *decoder) text() (string, error) {
	s, err := d.quoted()
	return string(s), err
}

func (d *decoder) binary() ([]byte, error) {
	s, err := d.quoted()
	if err != nil {
		return nil, err
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(s)))
	n, err := base64.StdEncoding.Decode(b, s)
	if err != nil {
		return nil, fmt.Errorf("reading base64: %w", err)
	}
	return b[:n], nil
}

func (d *decoder) truth() (bool, error) {
	if d.word("true") {
		return true, nil
	}
	if d.word("false") {
		return false, nil
	}
	return false, d.expected("true or false")
}
