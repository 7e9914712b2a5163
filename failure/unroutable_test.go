package failure_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"millrace/event"
	"millrace/failure"
)

var seenFirst = time.Date(2026, 11, 30, 3, 0, 1, 0, time.UTC)

// stray is a record of an item, as the orders layout refuses it.
func stray(t *testing.T, item event.Item) failure.Unroutable {
	t.Helper()
	r := event.Record{
		ID: "e1", Change: event.Insert, Sequence: "100", Created: seenFirst.Add(-time.Second),
		Keys: event.Item{"pk": event.String("order-7"), "sk": event.String("profile")}, New: event.Decoded(item),
	}
	_, verdict, err := event.Orders().Route(&r)
	if verdict != event.Unroutable {
		t.Fatalf("it is %v", verdict)
	}
	return failure.NewUnroutable("orders", failure.Source{Table: "orders-events", Label: "l", Shard: "s"}, &r, err, seenFirst)
}

// TestH22_RowOfARecordWithoutAggregate: what is written is what is read, and the
// letter tells of no aggregate and no version.
func TestH22_RowOfARecordWithoutAggregate(t *testing.T) {
	item := event.Item{"pk": event.String("order-7"), "sk": event.String("profile"), "n": event.Number("12345678901234567890123456789012345678"), "b": event.Binary{1}}
	u := stray(t, item)
	got, err := failure.ParseUnroutable("orders", "orders-events", "e1", u.Row())
	if err != nil || !reflect.DeepEqual(got, u) {
		t.Errorf("it reads as %+v, %v, and was %+v", got, err, u)
	}
	if u.Cause.Class != "decode" || u.Cause.Type != "*event.Misfit" || !strings.Contains(u.Cause.Text, `"profile" has 7 digits`) {
		t.Errorf("the cause is %+v", u.Cause)
	}
	letter := u.Letter("v1", failure.InlineImage)
	body, err := letter.Body()
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"aggregate", "version"} {
		if v, found := fields[absent]; found {
			t.Errorf("the letter has %s %v", absent, v)
		}
	}
	if _, found := letter.Attributes()["aggregateHash"]; found || letter.Sink != failure.EverySink || !letter.Record.Item.Equal(item) || letter.Source.Sequence != "100" {
		t.Errorf("the letter is %s, its attributes %v", body, letter.Attributes())
	}
	if letter := u.Letter("v1", 10); letter.Record.Item != nil || letter.Record.SHA256 != failure.Hash(item) {
		t.Errorf("above the limit the record is %+v", letter.Record)
	}
}

// TestH22_OneKindOneFingerprint: what differs in the keys alone is one line on an
// operator's screen, and what breaks another rule another.
func TestH22_OneKindOneFingerprint(t *testing.T) {
	of := func(err error) string {
		return failure.NewUnroutable("g", failure.Source{}, &event.Record{ID: "e"}, err, seenFirst).Cause.Fingerprint
	}
	_, _, short := event.Orders().ParseVersion(event.String("7"))
	_, _, long := event.Orders().ParseVersion(event.String("profile"))
	_, _, number := event.Orders().ParseVersion(event.Number("7"))
	if of(short) != of(long) || of(short) == of(number) {
		t.Errorf("fingerprints are %s, %s and %s", of(short), of(long), of(number))
	}
}

// broken is an image that cannot be decoded.
type broken struct{}

func (broken) Get(string) (event.Value, error) { return nil, errors.New("a type that nobody knows") }

func (broken) Item() (event.Item, error) { return nil, errors.New("a type that nobody knows") }

// TestH22_WhatARowCannotCarry: an image that is too large, too deep or broken
// keeps no record from its row; the key tells where the item is.
func TestH22_WhatARowCannotCarry(t *testing.T) {
	nested := event.Value(event.String("x"))
	for range 31 {
		nested = event.List{nested}
	}
	for name, item := range map[string]event.Item{
		"too large": {"text": event.String(strings.Repeat("x", failure.InlineImage))},
		"too deep":  {"list": nested},
	} {
		u := stray(t, item)
		if u.Record.Item != nil || u.Record.SHA256 != failure.Hash(item) || u.Record.Bytes == 0 || len(u.Key) != 2 {
			t.Errorf("%s: the record is %+v", name, u)
		}
	}
	r := event.Record{Keys: event.Item{"pk": event.String("a")}, Sequence: "7", New: event.Lazy(broken{})}
	at := failure.Source{Table: "t", Label: "l", Shard: "s"}
	u := failure.NewUnroutable("g", at, &r, errors.New("no"), seenFirst)
	again := failure.NewUnroutable("g", at, &r, errors.New("no"), seenFirst.Add(time.Hour))
	r.Sequence = "8"
	other := failure.NewUnroutable("g", at, &r, errors.New("no"), seenFirst)
	if u.Record.SHA256 != "" || u.ID == "" || u.ID != again.ID || u.ID == other.ID {
		t.Errorf("without an event id they are %q, %q, and %q; the record is %+v", u.ID, again.ID, other.ID, u.Record)
	}
}
