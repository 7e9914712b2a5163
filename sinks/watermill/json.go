package watermill

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"millrace/event"
)

// JSON is an event's item as plain JSON, the form that consumers expect who
// know nothing of DynamoDB: numbers with all their digits, binaries in base64,
// sets as sorted lists, names sorted. So the same event is the same bytes,
// whichever way it came. What tells text from binary and sets from lists is
// lost; whoever needs it marshals the item itself, in DynamoDB's own JSON.
func JSON(e event.Event) ([]byte, error) {
	item, err := e.Image.Item()
	if err != nil {
		return nil, fmt.Errorf("decoding its item: %w", err)
	}
	if item == nil {
		return nil, errNoImage
	}
	data, err := json.Marshal(plain(event.Map(item)))
	if err != nil {
		return nil, fmt.Errorf("writing its item as JSON: %w", err)
	}
	return data, nil
}

// plain turns a value into what encoding/json writes as its plain form.
func plain(v event.Value) any {
	switch v := v.(type) {
	case event.Number:
		return json.Number(v)
	case event.Binary:
		return base64.StdEncoding.EncodeToString(v)
	case event.List:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	case event.Map:
		object := make(map[string]any, len(v))
		for name, e := range v {
			object[name] = plain(e)
		}
		return object
	case event.StringSet:
		return slices.Sorted(slices.Values(v))
	case event.NumberSet:
		numbers := make([]json.Number, len(v))
		for i, n := range slices.Sorted(slices.Values(v)) {
			numbers[i] = json.Number(n)
		}
		return numbers
	case event.BinarySet:
		texts := make([]string, len(v))
		for i, b := range v {
			texts[i] = base64.StdEncoding.EncodeToString(b)
		}
		slices.Sort(texts)
		return texts
	case event.Null:
		return nil
	}
	return v // String and Bool marshal as they are
}

var errNoImage = errors.New("it has no item")
