package dynamodbstreams

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"millrace/event"
	"millrace/source"
)

// TestIteratorOnTheWire: each kind of start as the API wants it.
func TestIteratorOnTheWire(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 480_900_000, time.UTC)
	for _, tc := range []struct {
		from source.Start
		want map[string]any
	}{
		{source.Start{Kind: source.TrimHorizon}, map[string]any{"ShardIteratorType": "TRIM_HORIZON"}},
		{source.Start{Kind: source.Latest}, map[string]any{"ShardIteratorType": "LATEST"}},
		{source.Start{Kind: source.AtSequence, Sequence: "123456789012345678901"}, map[string]any{"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": "123456789012345678901"}},
		{source.Start{Kind: source.AfterSequence, Sequence: "9"}, map[string]any{"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": "9"}},
		{source.Start{Kind: source.AtTime, Time: at}, map[string]any{"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1772366400.480}},
	} {
		s, script := open(t, map[string][]answer{"GetShardIterator": ok(`{"ShardIterator":"it"}`)})
		it, err := s.Iterator(t.Context(), "a", tc.from)
		if err != nil || it != "it" {
			t.Fatal(it, err)
		}
		tc.want["StreamArn"], tc.want["ShardId"] = testARN, "a"
		if !reflect.DeepEqual(script.calls[0].in, tc.want) {
			t.Errorf("%v: asked %v, want %v", tc.from.Kind, script.calls[0].in, tc.want)
		}
	}
	s, script := open(t, nil)
	if it, err := s.Iterator(t.Context(), "a", source.Start{Kind: source.ShardEnd}); err != nil || it != "" || len(script.calls) != 0 {
		t.Errorf("at the shard's end: %q, %v, calls %v", it, err, script.calls)
	}
	if _, err := s.Iterator(t.Context(), "a", source.Start{}); event.ClassOf(err) != event.Permanent {
		t.Errorf("no start at all: %v", err)
	}
}

func TestReadLimits(t *testing.T) {
	for limit, want := range map[int]float64{-1: 1, 0: 1, 1: 1, 250: 250, 1000: 1000, 5000: 1000} {
		s, script := open(t, map[string][]answer{"GetRecords": ok(records("next"))})
		if _, err := s.Read(t.Context(), "it", limit); err != nil {
			t.Fatal(err)
		}
		if got := script.calls[0].in["Limit"]; got != want {
			t.Errorf("limit %d asks for %v, want %v", limit, got, want)
		}
	}
	s, script := open(t, nil)
	if page, err := s.Read(t.Context(), "", 10); err != nil || !reflect.DeepEqual(page, source.Page{}) || len(script.calls) != 0 {
		t.Errorf("after the end: %v, %v", page, err)
	}
}

// TestFault06_FinalPageThroughTheAPI: records, and no next iterator.
func TestFault06_FinalPageThroughTheAPI(t *testing.T) {
	s, _ := open(t, map[string][]answer{
		"GetShardIterator": ok(`{"ShardIterator":"it"}`),
		"GetRecords":       {{body: records("next", inserted(1, `{"pk":{"S":"a"}}`))}, {body: records("", inserted(2, `{"pk":{"S":"a"}}`))}},
	})
	c, err := source.NewCursor(s, "a", source.Start{Kind: source.TrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	var got []event.SequenceNumber
	for !c.Ended() {
		page, err := c.Read(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			got = append(got, r.Sequence)
		}
	}
	if !slices.Equal(got, []event.SequenceNumber{"1", "2"}) {
		t.Errorf("read %v", got)
	}
}

// TestAnEmptyAnswerIsNotTheEndOfAShard: an endpoint that is no DynamoDB may
// answer 200 and nothing, and the shard goes on where it was.
func TestAnEmptyAnswerIsNotTheEndOfAShard(t *testing.T) {
	s, _ := open(t, map[string][]answer{
		"GetShardIterator": ok(`{"ShardIterator":"it"}`),
		"GetRecords":       {{body: `{}`}, {body: ""}, {body: records("next", inserted(1, `{"pk":{"S":"a"}}`))}},
	})
	c, err := source.NewCursor(s, "a", source.Start{Kind: source.TrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Read(t.Context(), 1000); event.ClassOf(err) != event.Permanent || c.Ended() {
			t.Fatalf("%v, ended %v", err, c.Ended())
		}
	}
	if page, err := c.Read(t.Context(), 1000); err != nil || len(page.Records) != 1 {
		t.Errorf("%d records, %v", len(page.Records), err)
	}
}

func TestRecordAsTheStreamGaveIt(t *testing.T) {
	ttl := `{"eventID":"e2","eventName":"REMOVE","userIdentity":{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"},` +
		`"dynamodb":{"ApproximateCreationDateTime":1772366400,"Keys":{"pk":{"S":"a"}},"OldImage":{"pk":{"S":"a"},"n":{"N":"1"}},"SequenceNumber":"2"}}`
	s, _ := open(t, map[string][]answer{"GetRecords": ok(records("next", inserted(1, `{"pk":{"S":"a"},"empty":{"S":""}}`), ttl))})
	page, err := s.Read(t.Context(), "it", 10)
	if err != nil {
		t.Fatal(err)
	}
	first, second := page.Records[0], page.Records[1]
	if first.ID != "e1" || first.Change != event.Insert || first.Sequence != "1" || first.Service || !first.Old.Absent() || first.New.Absent() {
		t.Errorf("first: %+v", first)
	}
	if want := time.Unix(1772366400, 0); !first.Created.Equal(want) {
		t.Errorf("created %v, want %v", first.Created, want)
	}
	if v, err := first.New.Get("empty"); err != nil || v != event.String("") {
		t.Errorf("an empty text is %v, %v", v, err)
	}
	if v, err := first.New.Get("absent"); err != nil || v != nil {
		t.Errorf("an absent attribute is %v, %v", v, err)
	}
	if second.Change != event.Remove || !second.Service || !second.New.Absent() || !second.Keys.Equal(event.Item{"pk": event.String("a")}) {
		t.Errorf("second: %+v", second)
	}
	if page.Next != "next" {
		t.Errorf("next %q", page.Next)
	}
}

func TestServiceIsOnlyTTL(t *testing.T) {
	for _, identity := range []string{`{"Type":"Service","PrincipalId":"somebody"}`, `{"Type":"AssumedRole","PrincipalId":"dynamodb.amazonaws.com"}`, `{}`, `null`} {
		r := strings.Replace(inserted(1, `{}`), `{"eventID"`, `{"userIdentity":`+identity+`,"eventID"`, 1)
		s, _ := open(t, map[string][]answer{"GetRecords": ok(records("next", r))})
		page, err := s.Read(t.Context(), "it", 10)
		if err != nil {
			t.Fatal(err)
		}
		if page.Records[0].Service {
			t.Errorf("%s counts as TTL", identity)
		}
	}
}

// TestBrokenRecordFailsThePage: a record that cannot be placed is no record to
// leave out.
func TestBrokenRecordFailsThePage(t *testing.T) {
	for name, r := range map[string]string{
		"no change":           `{"eventID":"e9","eventName":"INSERT"}`,
		"an unknown change":   strings.Replace(inserted(9, `{}`), "INSERT", "TRUNCATE", 1),
		"no sequence number":  `{"eventID":"e9","eventName":"INSERT","dynamodb":{"Keys":{"pk":{"S":"a"}}}}`,
		"a sequence of words": strings.Replace(inserted(9, `{}`), `"SequenceNumber":"9"`, `"SequenceNumber":"nine"`, 1),
		"a key of a new type": strings.Replace(inserted(9, `{}`), `{"S":"a"}`, `{"XX":"a"}`, 1),
	} {
		s, _ := open(t, map[string][]answer{"GetRecords": ok(records("next", inserted(8, `{}`), r))})
		_, err := s.Read(t.Context(), "it", 10)
		if event.ClassOf(err) != event.Permanent || !strings.Contains(err.Error(), "record 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImageOfANewTypeFailsWhenAsked, and not its page: one attribute that this
// client cannot decode concerns those who want it.
func TestImageOfANewTypeFailsWhenAsked(t *testing.T) {
	r, err := convertRecord(types.Record{EventName: types.OperationTypeInsert, Dynamodb: &types.StreamRecord{
		SequenceNumber: aws.String("1"),
		NewImage: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "a"}, "odd": &types.UnknownUnionMember{Tag: "XX"},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.New.Get("pk"); err != nil || v != event.String("a") {
		t.Errorf("pk: %v, %v", v, err)
	}
	var classed *event.Error
	if _, err := r.New.Get("odd"); !errors.As(err, &classed) || classed.Class != event.Permanent || !strings.Contains(err.Error(), "odd") {
		t.Errorf("odd: %v", err)
	}
	if _, err := r.New.Item(); event.ClassOf(err) != event.Permanent {
		t.Errorf("all: %v", err)
	}
}

// TestImagesAreSafeForConcurrentUse and give equal answers each time.
func TestImagesAreSafeForConcurrentUse(t *testing.T) {
	s, _ := open(t, map[string][]answer{"GetRecords": ok(records("next", inserted(1, `{"pk":{"S":"a"},"m":{"M":{"l":{"L":[{"N":"1"},{"NULL":true}]}}}}`)))})
	page, err := s.Read(t.Context(), "it", 10)
	if err != nil {
		t.Fatal(err)
	}
	image := page.Records[0].New
	want := event.Item{"pk": event.String("a"), "m": event.Map{"l": event.List{event.Number("1"), event.Null{}}}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				item, err := image.Item()
				if err != nil || !item.Equal(want) {
					t.Errorf("all: %v, %v", item, err)
				}
				if v, err := image.Get("m"); err != nil || !event.Equal(v, want["m"]) {
					t.Errorf("one: %v, %v", v, err)
				}
			}
		})
	}
	wg.Wait()
}
