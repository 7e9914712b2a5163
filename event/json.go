package event

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth is how deep lists and maps may nest: DynamoDB allows 32 levels
// (Developer Guide, "Constraints in Amazon DynamoDB"); the codec is laxer by
// a factor so that it never refuses what the service accepted.
const maxDepth = 128

// AppendJSON appends v in DynamoDB's JSON form, for example {"S":"text"}.
// Map keys come in no fixed order.
func AppendJSON(dst []byte, v Value) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{', '"')
	dst = append(dst, v.Tag()...)
	dst = append(dst, '"', ':')
	switch v := v.(type) {
	case String:
		dst = appendText(dst, string(v))
	case Number:
		dst = appendText(dst, string(v))
	case Binary:
		dst = appendBase64(dst, v)
	case Bool:
		if v {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	case Null:
		dst = append(dst, "true"...)
	case List:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, e)
		}
		dst = append(dst, ']')
	case Map:
		dst = AppendItemJSON(dst, Item(v))
	case StringSet:
		dst = appendTexts(dst, v)
	case NumberSet:
		dst = appendTexts(dst, v)
	case BinarySet:
		dst = append(dst, '[')
		for i, b := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendBase64(dst, b)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// AppendItemJSON appends an item in DynamoDB's JSON form.
func AppendItemJSON(dst []byte, item Item) []byte {
	dst = append(dst, '{')
	first := true
	for name, v := range item {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendText(dst, name)
		dst = append(dst, ':')
		dst = AppendJSON(dst, v)
	}
	return append(dst, '}')
}

func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, s := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, s)
	}
	return append(dst, ']')
}

func appendBase64(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

func appendText(dst []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	quoted, err := json.Marshal(s)
	if err != nil { // a string cannot fail to marshal
		panic(err)
	}
	return append(dst, quoted...)
}

// MarshalJSON writes the item in DynamoDB's JSON form.
func (i Item) MarshalJSON() ([]byte, error) { return AppendItemJSON(nil, i), nil }

// UnmarshalJSON reads DynamoDB's JSON form. It refuses unknown type tags,
// more than one tag in a value, and values that do not fit their tag.
func (i *Item) UnmarshalJSON(data []byte) error {
	item, err := parseItem(data, 0)
	if err != nil {
		return err
	}
	*i = item
	return nil
}

func parseItem(data []byte, depth int) (Item, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("reading an item: %w", err)
	}
	item := make(Item, len(raw))
	for name, r := range raw {
		v, err := parseValue(r, depth)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		item[name] = v
	}
	return item, nil
}

// ParseJSON reads one value in DynamoDB's JSON form.
func ParseJSON(data []byte) (Value, error) { return parseValue(data, 0) }

func parseValue(data []byte, depth int) (Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	var tagged map[string]json.RawMessage
	if err := json.Unmarshal(data, &tagged); err != nil {
		return nil, fmt.Errorf("reading a value: %w", err)
	}
	if len(tagged) != 1 {
		return nil, fmt.Errorf("a value has one type tag, this one has %d", len(tagged))
	}
	for tag, body := range tagged {
		v, err := parseTagged(tag, body, depth)
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", tag, err)
		}
		return v, nil
	}
	panic("unreachable")
}

func parseTagged(tag string, body json.RawMessage, depth int) (Value, error) {
	if string(body) == "null" {
		return nil, errors.New("the value is missing")
	}
	switch tag {
	case "S":
		s, err := parseAs[string](body)
		return String(s), err
	case "N":
		s, err := parseAs[string](body)
		return Number(s), err
	case "B":
		b, err := parseAs[[]byte](body)
		return Binary(b), err
	case "BOOL":
		b, err := parseAs[bool](body)
		return Bool(b), err
	case "NULL":
		_, err := parseAs[bool](body)
		return Null{}, err
	case "SS":
		s, err := parseAs[[]string](body)
		return StringSet(s), err
	case "NS":
		s, err := parseAs[[]string](body)
		return NumberSet(s), err
	case "BS":
		b, err := parseAs[[][]byte](body)
		return BinarySet(b), err
	case "M":
		item, err := parseItem(body, depth+1)
		return Map(item), err
	case "L":
		raw, err := parseAs[[]json.RawMessage](body)
		if err != nil {
			return nil, err
		}
		list := make(List, len(raw))
		for i, r := range raw {
			if list[i], err = parseValue(r, depth+1); err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return list, nil
	}
	return nil, errors.New("unknown type tag; DynamoDB has S, N, B, BOOL, NULL, L, M, SS, NS and BS")
}

func parseAs[T any](body json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return v, fmt.Errorf("reading its value: %w", err)
	}
	return v, nil
}
