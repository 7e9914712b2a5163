package eventstore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
)

// every is a payload with one attribute of each type, with the values that
// careless code loses.
var every = event.Item{
	"text": event.String("text"), "empty": event.String(""),
	"big": event.Number("12345678901234567890123456789012345678"), "small": event.Number("-0.00012345678901234567890123456789012345678"),
	"bytes": event.Binary{0, 255}, "noBytes": event.Binary{}, "no": event.Bool(false), "null": event.Null{},
	"texts": event.StringSet{"a", "b"}, "numbers": event.NumberSet{"1", "2.5"}, "binaries": event.BinarySet{{1}, {2}},
	"deep": event.Map{"list": event.List{event.Null{}, event.List{}, event.Map{}, event.Number("1")}},
}

// TestWhatIsAppendedIsReadBack, digit by digit, whatever its type.
func TestWhatIsAppendedIsReadBack(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	at := time.Date(2026, 3, 14, 13, 0, 0, 123456789, time.FixedZone("CET", 3600))
	version, err := s.Append(t.Context(), "42", 0, NewEvent{Type: "Placed", Time: at, Command: "command-1", Attributes: every})
	if version != 1 || err != nil {
		t.Fatalf("version %d, %v", version, err)
	}
	events, err := all(t.Context(), s, "42")
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	item, err := events[0].Image.Item()
	if err != nil {
		t.Fatal(err)
	}
	want := every.Clone()
	want["pk"], want["sk"] = event.String("42"), event.String("000000000001")
	want["type"], want["createdAt"], want["commandId"] = event.String("Placed"), event.String("2026-03-14T12:00:00.123456789Z"), event.String("command-1")
	if !item.Equal(want) {
		t.Errorf("got %v\nwant %v", item, want)
	}
	if read, err := events[0].Time(); err != nil || !read.Equal(at) {
		t.Errorf("time %v, %v", read, err)
	}
}

// TestSeveralStandTogetherOrNotAtAll: one taken version takes them all.
func TestSeveralStandTogetherOrNotAtAll(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	if _, err := s.Append(t.Context(), "42", 2, placed("3")); err != nil { // a foreign writer that left a hole
		t.Fatal(err)
	}
	_, err := s.Append(t.Context(), "42", 0, placed("1"), placed("2"), placed("3"), placed("4"))
	var conflict *Conflict
	if !errors.As(err, &conflict) || conflict.Version != 3 || conflict.Stands["sk"] != event.String("000000000003") {
		t.Fatalf("got %v", err)
	}
	if events, err := all(t.Context(), s, "42"); err != nil || len(events) != 1 {
		t.Errorf("%d events stand, %v", len(events), err)
	}
	if version, err := s.Append(t.Context(), "42", 0, placed("1"), placed("2")); version != 2 || err != nil {
		t.Errorf("version %d, %v", version, err)
	}
}

// TestSixteenRacersHaveOneWinner, and fifteen who are told so, whether they
// append one event or several.
func TestSixteenRacersHaveOneWinner(t *testing.T) {
	for _, events := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d events", events), func(t *testing.T) {
			_, e := opened(t, localaws.Options{})
			var wg sync.WaitGroup
			results := make([]error, 16)
			for i := range results {
				s := client(t, e, uint64(i+10))
				wg.Go(func() {
					batch := make([]NewEvent, events)
					for j := range batch {
						batch[j] = placed("1") // the same for all racers
					}
					_, results[i] = s.Append(t.Context(), "42", 0, batch...)
				})
			}
			wg.Wait()
			won := 0
			for i, err := range results {
				switch kindOf(err) {
				case "won":
					won++
				case "conflict":
				default:
					t.Errorf("racer %d: %v", i, err)
				}
			}
			if won != 1 {
				t.Errorf("%d winners", won)
			}
			if stands, err := all(t.Context(), client(t, e, 1), "42"); err != nil || len(stands) != events {
				t.Errorf("%d events stand, %v", len(stands), err)
			}
		})
	}
}

// TestTheEngineAgreesAboutTheLargestItem: our count and the service's refusal
// meet at the byte. The engine counts for itself.
func TestTheEngineAgreesAboutTheLargestItem(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	if _, err := s.Append(t.Context(), "42", 0, sized(t, s, MaxItemBytes)); err != nil {
		t.Fatal(err)
	}
	one := awsvalue.ToItem(event.Item{"pk": event.String("42"), "sk": event.String("000000000002"), "fill": event.String(strings.Repeat("x", MaxItemBytes-21))})
	_, err := s.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: one})
	if err == nil || !strings.Contains(err.Error(), "size has exceeded") {
		t.Errorf("one byte more: %v", err)
	}
}

// TestEnsureTable creates once, accepts what fits and says what does not.
func TestEnsureTable(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	if err := s.EnsureTable(t.Context()); err != nil {
		t.Errorf("the second time: %v", err)
	}
	numbered, err := New(Options{Client: s.client, Table: s.table, Layout: &event.Layout{Aggregate: "pk", Version: "version"}})
	if err != nil {
		t.Fatal(err)
	}
	err = numbered.EnsureTable(t.Context())
	if err == nil || !strings.Contains(err.Error(), "pk (S) HASH, sk (S) RANGE") || !strings.Contains(err.Error(), "version (N) RANGE") {
		t.Errorf("got %v", err)
	}
	if _, err := s.client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: &s.table, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.EnsureTable(t.Context()); err == nil || !strings.Contains(err.Error(), "no stream") {
		t.Errorf("got %v", err)
	}
}

// TestOptionsAreChecked before anything is done with them.
func TestOptionsAreChecked(t *testing.T) {
	s, _ := scripted(t, Budget{})
	good := Options{Client: s.client, Table: "orders", Layout: event.Orders()}
	for name, change := range map[string]func(*Options){
		"client": func(o *Options) { o.Client = nil },
		"table":  func(o *Options) { o.Table = "" },
		"layout": func(o *Options) { o.Layout = nil },
		"type":   func(o *Options) { o.KeyType = "M" },
		"budget": func(o *Options) { o.Budget.Tries = -1 },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, errA := New(good)
	b, errB := New(good)
	if errA != nil || errB != nil || a.jitter == b.jitter {
		t.Errorf("two stores share a seed: %v, %v", errA, errB)
	}
}
