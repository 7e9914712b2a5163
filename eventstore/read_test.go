package eventstore

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
)

// TestRangePages: pages end at 1000 events and at 1 MB; nothing is lost or
// repeated between them.
func TestRangePages(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	fill(t, s, "many", 2100, 1)
	fill(t, s, "large", 5, 300<<10)
	for _, tc := range []struct {
		aggregate string
		from, to  uint64
		first     uint64 // what is expected to come
		count     int
		pages     int
	}{
		{"many", 1, Newest, 1, 2100, 3},
		{"many", 0, 1000, 1, 1000, 1},
		{"many", 999, 2001, 999, 1003, 2},
		{"many", 2100, 2100, 2100, 1, 1},
		{"many", 2101, Newest, 0, 0, 0},
		{"many", 7, 6, 0, 0, 0},
		{"large", 1, Newest, 1, 5, 2},
		{"none", 1, Newest, 0, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s %d to %d", tc.aggregate, tc.from, tc.to), func(t *testing.T) {
			var versions []uint64
			pages := 0
			err := s.Range(t.Context(), tc.aggregate, tc.from, tc.to, func(page []event.Event) error {
				pages++
				bytes := 0
				for _, e := range page {
					versions = append(versions, e.Version)
					item, err := e.Image.Item()
					if err != nil {
						return err
					}
					bytes += ItemBytes(item)
				}
				if len(page) > MaxPage || bytes > 1<<20+MaxItemBytes {
					t.Errorf("a page of %d events and %d bytes", len(page), bytes)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(versions) != tc.count || pages < tc.pages || pages > tc.pages+1 {
				t.Errorf("%d versions in %d pages, want %d in %d", len(versions), pages, tc.count, tc.pages)
			}
			for i, v := range versions {
				if v != tc.first+uint64(i) {
					t.Fatalf("version %d stands at place %d", v, i)
				}
			}
		})
	}
	enough := errors.New("enough")
	if err := s.Range(t.Context(), "many", 1, Newest, func([]event.Event) error { return enough }); err != enough { //nolint:errorlint // it must come back as it is
		t.Errorf("got %v", err)
	}
}

// put writes an item past the store.
func put(t *testing.T, s *Store, item event.Item) {
	t.Helper()
	if _, err := s.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: awsvalue.ToItem(item)}); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsNoEventIsSkipped: other items of the partition are not in a range,
// and are no head.
func TestWhatIsNoEventIsSkipped(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	s.layout = &event.Layout{
		Aggregate: "pk", Version: "sk", Digits: 12, Type: "type", Time: "createdAt", Only: event.Only{Attribute: "kind", Equals: "event"},
	}
	if _, err := s.Append(t.Context(), "42", 0, placed("1"), placed("2")); err != nil {
		t.Fatal(err)
	}
	put(t, s, event.Item{"pk": event.String("42"), "sk": event.String("stream-head"), "kind": event.String("head")})
	put(t, s, event.Item{"pk": event.String("42"), "sk": event.String("000000000003"), "kind": event.String("note")})
	put(t, s, event.Item{"pk": event.String("42"), "sk": event.String("000000000004"), "kind": event.String("note")})
	events, err := all(t.Context(), s, "42")
	if err != nil || len(events) != 2 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if head, err := s.Head(t.Context(), "42"); head != 2 || err != nil {
		t.Errorf("head %d, %v", head, err)
	}
	if present, err := s.Confirm(t.Context(), "42", []uint64{1, 3}); err != nil || len(present) != 1 {
		t.Errorf("%d confirmed, %v", len(present), err)
	}
}

// TestReadsAreConsistent: on a table whose other reads lag, everything just
// written is seen.
func TestReadsAreConsistent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := opened(t, localaws.Options{StaleReads: time.Minute})
		if _, err := s.Append(t.Context(), "42", 0, placed("1")); err != nil {
			t.Fatal(err)
		}
		if events, err := all(t.Context(), s, "42"); err != nil || len(events) != 1 {
			t.Errorf("range: %d events, %v", len(events), err)
		}
		if head, err := s.Head(t.Context(), "42"); err != nil || head != 1 {
			t.Errorf("head: %d, %v", head, err)
		}
		scanned := 0
		err := s.Scan(t.Context(), 0, 1, func(items []event.Item) error {
			scanned += len(items)
			return nil
		})
		if err != nil || scanned != 1 {
			t.Errorf("scan: %d items, %v", scanned, err)
		}
	})
}

func TestHead(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	if head, err := s.Head(t.Context(), "42"); head != 0 || err != nil {
		t.Errorf("head of nothing: %d, %v", head, err)
	}
	fill(t, s, "42", 101, 1)
	if head, err := s.Head(t.Context(), "42"); head != 101 || err != nil {
		t.Errorf("head %d, %v", head, err)
	}
}

func TestConfirm(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	fill(t, s, "42", 5, 1)
	present, err := s.Confirm(t.Context(), "42", []uint64{4, 9, 2})
	if err != nil || len(present) != 2 || present[0].Version != 4 || present[1].Version != 2 {
		t.Errorf("got %v, %v", present, err)
	}
	if present, err := s.Confirm(t.Context(), "42", nil); len(present) != 0 || err != nil {
		t.Errorf("nothing confirmed as %v, %v", present, err)
	}
	var limit *LimitError
	if _, err := s.Confirm(t.Context(), "42", make([]uint64, 101)); !errors.As(err, &limit) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Confirm(t.Context(), "42", []uint64{0}); event.ClassOf(err) != event.Permanent {
		t.Errorf("got %v", err)
	}
}

// TestConfirmRetries: a read transaction is cancelled by a write transaction
// on its items, and that says nothing about them.
func TestConfirmRetries(t *testing.T) {
	for _, tc := range []struct {
		reason string
		calls  int
		class  event.Class
	}{
		{"TransactionConflict", 2, event.Unknown},
		{"ProvisionedThroughputExceeded", 2, event.Unknown},
		{"ValidationError", 1, event.Permanent},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, w := scripted(t, Budget{}, cancelled(tc.reason, "None"))
			w.script = append(w.script, func(request) (*http.Response, error) { return respond(200, `{"Responses":[{},{}]}`) })
			present, err := s.Confirm(t.Context(), "42", []uint64{1, 2})
			if event.ClassOf(err) != tc.class || len(present) != 0 || len(w.sent) != tc.calls {
				t.Errorf("%s: %d calls, %v, %v", tc.reason, len(w.sent), present, err)
			}
		})
	}
}

// TestScan: the segments together hold every item once.
func TestScan(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	want := map[string]int{}
	for i := range 12 {
		aggregate := fmt.Sprint("order-", i)
		want[aggregate] = 1 + i%3
		fill(t, s, aggregate, want[aggregate], 100<<10)
	}
	got := map[string][]string{}
	pages := 0
	for segment := range 3 {
		err := s.Scan(t.Context(), segment, 3, func(items []event.Item) error {
			pages++
			for _, item := range items {
				aggregate := string(item["pk"].(event.String))
				got[aggregate] = append(got[aggregate], string(item["sk"].(event.String)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != len(want) || pages < 4 {
		t.Errorf("%d aggregates in %d pages", len(got), pages)
	}
	for aggregate, count := range want {
		if versions := got[aggregate]; len(versions) != count || !slices.IsSorted(versions) {
			t.Errorf("%s: %v, want %d", aggregate, versions, count)
		}
	}
	if err := s.Scan(t.Context(), 3, 3, nil); event.ClassOf(err) != event.Permanent {
		t.Errorf("segment 3 of 3: %v", err)
	}
}

// tally is a fold over what placed makes; it refuses a version that is not the
// next.
type tally struct{ events, last uint64 }

func add(s tally, e event.Event) (tally, error) {
	if e.Version != s.last+1 {
		return s, fmt.Errorf("version %d after %d", e.Version, s.last)
	}
	return tally{events: s.events + 1, last: e.Version}, nil
}

func TestLoad(t *testing.T) {
	s, _ := opened(t, localaws.Options{})
	fill(t, s, "42", 1234, 1)
	state, version, err := Load(t.Context(), s, "42", add)
	if err != nil || version != 1234 || state.events != 1234 {
		t.Errorf("%d events to version %d, %v", state.events, version, err)
	}
	if state, version, err := Load(t.Context(), s, "none", add); err != nil || version != 0 || state.events != 0 {
		t.Errorf("nothing loaded as %v at %d, %v", state, version, err)
	}
}

// TestLoadSeesATransactionWhole: a query may see an append's last item before
// its first (H17); a state without the first would be wrong for ever.
func TestLoadSeesATransactionWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := opened(t, localaws.Options{TornTransactions: time.Second})
		if _, err := s.Append(t.Context(), "42", 0, placed("1"), placed("2"), placed("3")); err != nil {
			t.Fatal(err)
		}
		torn, err := all(t.Context(), s, "42")
		if err != nil || len(torn) == 3 {
			t.Fatalf("the query sees %d events, %v: nothing is torn", len(torn), err)
		}
		state, version, err := Load(t.Context(), s, "42", add)
		if err != nil || version != 3 || state.events != 3 {
			t.Errorf("%d events to version %d, %v", state.events, version, err)
		}
	})
}

// TestLoadDemandsEveryVersion: a version that is missing below the newest
// gives no state, however far the newest is away.
func TestLoadDemandsEveryVersion(t *testing.T) {
	for _, tc := range []struct{ missing, newest uint64 }{{1, 5}, {3, 5}, {4, 5}, {6, 999_999_999_999}} {
		t.Run(fmt.Sprint(tc.missing, " below ", tc.newest), func(t *testing.T) {
			s, _ := opened(t, localaws.Options{})
			fill(t, s, "42", 5, 1)
			if tc.newest > 5 {
				if _, err := s.Append(t.Context(), "42", tc.newest-1, placed("1")); err != nil {
					t.Fatal(err)
				}
			} else {
				partition := event.String("42")
				if _, err := s.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
					TableName: aws.String(s.table), Key: awsvalue.ToItem(s.key(partition, tc.missing)),
				}); err != nil {
					t.Fatal(err)
				}
			}
			state, version, err := Load(t.Context(), s, "42", add)
			var hole *Hole
			if !errors.As(err, &hole) || hole.Version != tc.missing || event.ClassOf(err) != event.Gap {
				t.Errorf("got %v", err)
			}
			if state != (tally{}) || version != 0 {
				t.Errorf("a state came with it: %v at %d", state, version)
			}
		})
	}
}
