package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestItemRefusesWhatDynamoDBNeverSends(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"S":"a","N":"1"}`, `{"S":"a","S":"b"}`, `{"X":"a"}`, `{"S":1}`, `{"N":1}`, `{"B":"***"}`, `{"B":[1]}`,
		`{"BOOL":"true"}`, `{"NULL":null}`, `{"L":{}}`, `{"M":[]}`, `{"M":null}`, `{"L":[null]}`, `{"S":null}`,
		`{"SS":[null]}`, `{"BS":[null]}`, `[]`, `"a"`, `null`, ``, `{"S":"a"`, `{"S":"a}`, `{"S":"a\`, `{"S":"\x"}`,
		"{\"S\":\"\n\"}", `{"S" "a"}`, `{S:"a"}`, `{"SS":["a",]}`, `{"SS":["a" "b"]}`, `{"S":"a"}}`, `{"S":"a"},`,
		strings.Repeat(`{"L":[`, 200) + strings.Repeat(`]}`, 200),
	} {
		var item Item
		if err := item.UnmarshalJSON([]byte(`{"a":` + text + `}`)); err == nil {
			t.Errorf("%.60s was read as %v", text, item)
		}
	}
}

// FuzzItem holds the decoder against its reference.
func FuzzItem(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` null `, `{"a":{"S":"x"},"b":{"N":"-1.5"},"c":{"BOOL":true},"d":{"NULL":true},"e":{"B":"AA=="}}`,
		`{ "a" : { "L" : [ {"S":"é\n\u00e9\ud83d\ude00\ud800"} , {"M":{"":{"SS":[]}}} ] } }`, `{"a":{"NS":["1","2"]}}`,
		`{"a":{"BS":["","AAEC"]}}`, "{\"a\":{\"S\":\"\xff\"}}", `{"a":{"S":"x"}} x`, `{"a":{"B":"A\nA=="}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}

// TestDecoderAgrees damages items by a few bytes, so that most of what it tries
// is nearly right.
func TestDecoderAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := Item(rapid.MapOfN(rapid.String(), anyValue(3), 0, 5).Draw(t, "item"))
		data := AppendItemJSON(nil, item)
		for range rapid.IntRange(0, 2).Draw(t, "damages") {
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			insert := rapid.SampledFrom([]string{"", " ", `"`, `\`, ",", ":", "{", "}", "[", "]", "null", "1", "\x01", "\xff"}).Draw(t, "insert")
			data = []byte(string(data[:at]) + insert + string(data[at+rapid.IntRange(0, 1).Draw(t, "cut"):]))
			if len(data) == 0 {
				return
			}
		}
		agree(t, data)
	})
}

func agree(t rapid.TB, data []byte) {
	t.Helper()
	var got Item
	gotErr := got.UnmarshalJSON(data)
	want, wantErr := reference(data, 0)
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, the reference has %v", data, gotErr, wantErr)
	}
	if gotErr == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q was read as %#v, the reference has %#v", data, got, want)
	}
}

// reference reads an item level by level through encoding/json, slowly and
// plainly.
func reference(data []byte, depth int) (Item, error) {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) && depth == 0 {
		return Item{}, nil
	}
	names, raw, err := members(data)
	if err != nil {
		return nil, err
	}
	item := make(Item, len(names))
	for i, name := range names {
		if item[name], err = referenceValue(raw[i], depth); err != nil {
			return nil, err
		}
	}
	return item, nil
}

func referenceValue(data []byte, depth int) (Value, error) {
	names, raw, err := members(data)
	if err != nil {
		return nil, err
	}
	if len(names) != 1 || depth > maxDepth {
		return nil, errors.New("no value")
	}
	body := raw[0]
	switch tag := names[0]; tag {
	case "S":
		s, err := as[string](body)
		return String(s), err
	case "N":
		s, err := as[string](body)
		return Number(s), err
	case "B":
		b, err := referenceBinary(body)
		return Binary(b), err
	case "BOOL":
		b, err := as[bool](body)
		return Bool(b), err
	case "NULL":
		_, err := as[bool](body)
		return Null{}, err
	case "SS":
		s, err := elements(body, as[string])
		return StringSet(s), err
	case "NS":
		s, err := elements(body, as[string])
		return NumberSet(s), err
	case "BS":
		b, err := elements(body, referenceBinary)
		return BinarySet(b), err
	case "M":
		item, err := reference(body, depth+1)
		return Map(item), err
	case "L":
		l, err := elements(body, func(r json.RawMessage) (Value, error) { return referenceValue(r, depth+1) })
		return List(l), err
	default:
		return nil, fmt.Errorf("unknown tag %q", tag)
	}
}

// members are an object's members in their order, those that stand twice too.
func members(data []byte) (names []string, raw []json.RawMessage, err error) {
	if _, err := as[map[string]json.RawMessage](data); err != nil {
		return nil, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var r json.RawMessage
		if err := d.Decode(&r); err != nil {
			return nil, nil, err
		}
		names, raw = append(names, name.(string)), append(raw, r)
	}
	return names, raw, nil
}

func elements[E any](body json.RawMessage, element func(json.RawMessage) (E, error)) ([]E, error) {
	raw, err := as[[]json.RawMessage](body)
	if err != nil {
		return nil, err
	}
	out := make([]E, len(raw))
	for i, r := range raw {
		if out[i], err = element(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func referenceBinary(body json.RawMessage) ([]byte, error) {
	if _, err := as[string](body); err != nil { // encoding/json takes lists of numbers as well
		return nil, err
	}
	return as[[]byte](body)
}

func as[T any](body json.RawMessage) (T, error) {
	var v *T
	err := json.Unmarshal(body, &v)
	if err == nil && v == nil {
		err = errors.New("null is no value")
	}
	if err != nil {
		return *new(T), err
	}
	return *v, nil
}

func BenchmarkReadItem(b *testing.B) {
	payload := Map{"sku": String("A-1045"), "quantity": Number("3"), "note": String(strings.Repeat("as agreed by telephone; ", 8))}
	for _, c := range []struct {
		name string
		item Item
	}{
		{"key", Item{"pk": String("order-000042"), "sk": String("000000000017")}},
		{"event", Item{
			"pk": String("order-000042"), "sk": String("000000000017"), "type": String("LineAdded"),
			"createdAt": String("2026-01-02T03:04:05.678Z"), "payload": payload,
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			data := AppendItemJSON(nil, c.item)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var item Item
				if err := item.UnmarshalJSON(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
