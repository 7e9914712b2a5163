package event

import (
	"encoding/base64"
	"encoding/json"
)

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
		dst = appendArray(dst, v, AppendJSON)
	case Map:
		dst = AppendItemJSON(dst, Item(v))
	case StringSet:
		dst = appendArray(dst, v, appendText)
	case NumberSet:
		dst = appendArray(dst, v, appendText)
	case BinarySet:
		dst = appendArray(dst, v, appendBase64)
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

func appendArray[E any](dst []byte, elements []E, appendElement func([]byte, E) []byte) []byte {
	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendElement(dst, e)
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
