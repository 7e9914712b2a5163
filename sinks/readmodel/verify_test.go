package readmodel_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/projection"
	"millrace/sinks"
	"millrace/sinks/readmodel"
	"millrace/sinks/sinktest"
)

// TestAnEmptyAnswerIsNoEmptyTable: an endpoint that is no DynamoDB may answer
// 200 and nothing.
func TestAnEmptyAnswerIsNoEmptyTable(t *testing.T) {
	b := newBench(t)
	s := b.sink(func(o *readmodel.Options) {
		o.Client = dynamodb.NewFromConfig(b.Config("worker"), func(o *dynamodb.Options) { o.HTTPClient = silent{} })
	})
	if _, err := s.Scan(t.Context(), 0, 1, nil); event.ClassOf(err) != event.Permanent {
		t.Errorf("an answer without items: %v", err)
	}
}

// silent answers every call with success and nothing else.
type silent struct{}

func (silent) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
}

func TestCompare(t *testing.T) {
	b := newBench(t)
	s := b.sink(b.folding(words(t)), func(o *readmodel.Options) {
		o.Stamp = "written"
		o.Now = func() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC) }
	})
	alive, gone := story("a", 0, "set x", "set y"), story("b", 0, "set x", "close")
	b.must(s, alive)
	b.must(s, gone)
	if got := b.item("a")["written"]; got != event.String("2026-05-04T03:02:01Z") {
		t.Errorf("the stamp is %v", got)
	}
	for _, tc := range []struct {
		name string
		run  event.Run
		edit func(event.Item)
		want []readmodel.Difference
	}{
		{name: "the same", run: alive},
		{name: "a foreign attribute", run: alive, edit: func(i event.Item) { i["note"] = event.String("VIP") }},
		{name: "the stamp", run: alive, edit: func(i event.Item) { i["written"] = event.String("never") }},
		{name: "another value", run: alive, edit: func(i event.Item) { i["w_x"] = event.Number("9") }, want: []readmodel.Difference{
			{Attribute: "w_x", Want: event.Number("1"), Got: event.Number("9")},
		}},
		{name: "one too many, one missing", run: alive, edit: func(i event.Item) { i["w_a"] = event.Bool(true); delete(i, "w_y") }, want: []readmodel.Difference{
			{Attribute: "w_a", Got: event.Bool(true)}, {Attribute: "w_y", Want: event.Number("2")},
		}},
		{name: "deleted", run: gone},
		{name: "not deleted", run: gone, edit: func(i event.Item) { delete(i, projection.DeletedAt) }, want: []readmodel.Difference{
			{Attribute: projection.DeletedAt, Want: event.String("2026-01-01T00:00:02Z")},
		}},
		{name: "something left on a deleted item", run: gone, edit: func(i event.Item) { i["w_x"] = event.Number("1") }, want: []readmodel.Difference{
			{Attribute: "w_x", Got: event.Number("1")},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kept := b.item(tc.run.Aggregate)
			if tc.edit != nil {
				b.edit(tc.run.Aggregate, tc.edit)
				defer b.edit(tc.run.Aggregate, func(i event.Item) {
					clear(i)
					for name, v := range kept {
						i[name] = v
					}
				})
			}
			stored, err := s.Item(t.Context(), tc.run.Aggregate)
			if err != nil || stored.Err != nil || stored.Position.Version != 2 {
				t.Fatalf("%+v, %v", stored, err)
			}
			want, err := projection.Replay(words(t), tc.run.Events)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Compare(want, stored)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("differences %v, want %v", got, tc.want)
			}
		})
	}
}

// TestCompareSpellings: a fold's spelling of a number is not DynamoDB's.
func TestCompareSpellings(t *testing.T) {
	b := newBench(t)
	s := b.sink(b.folding(fold(t, projection.Fold[int]{
		Apply: func(n int, _ event.Event) (int, error) { return n, nil },
		Encode: func(int) (event.Item, error) {
			return event.Item{
				"n": event.Number("1.50"), "set": event.NumberSet{"1e1", "2.0"},
				"deep": event.List{event.Map{"n": event.Number("-0")}},
			}, nil
		},
		Decode: func(event.Item) (int, error) { return 0, nil },
	})))
	b.must(s, run("a", 0, 1))
	stored, err := s.Item(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	want := event.Item{
		"n": event.Number("15e-1"), "set": event.NumberSet{"2", "10"}, "deep": event.List{event.Map{"n": event.Number("0")}},
	}
	if got, err := s.Compare(want, stored); err != nil || len(got) != 0 {
		t.Errorf("differences %v, %v", got, err)
	}
	want["n"] = event.Number("1.51")
	if got, err := s.Compare(want, stored); err != nil || len(got) != 1 {
		t.Errorf("differences %v, %v, want one", got, err)
	}
}

func TestItemThatIsNotThere(t *testing.T) {
	b := newBench(t)
	stored, err := b.sink().Item(t.Context(), "nobody")
	if err != nil || stored.Item != nil || stored.Position.Version != 0 || stored.Err != nil {
		t.Errorf("%+v, %v", stored, err)
	}
	differences, err := b.sink().Compare(event.Item{"versions": event.String("1")}, stored)
	if err != nil || len(differences) != 1 || differences[0].Got != nil {
		t.Errorf("differences %v, %v, want the one attribute", differences, err)
	}
}

// TestScan meets every item of this sink once over all segments and pages,
// says which are not its own, and leaves out what has no position.
func TestScan(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	const items = 16
	for n := range items {
		b.must(s, run(fmt.Sprintf("a%02d", n), 0, uint64(n+1)))
	}
	// Enough bytes for several pages of 1 MB.
	for n := range items {
		b.edit(fmt.Sprintf("a%02d", n), func(i event.Item) { i["ballast"] = event.Binary(make([]byte, 150<<10)) })
	}
	b.edit("passer-by", func(i event.Item) { i["note"] = event.String("no read model's") })
	b.must(b.sink(as(func(i *sinks.Identity) { i.Sink = "other" })), run("taken", 0, 1))

	var seen []string
	pages := 0
	for segment := range 2 {
		var after event.Item
		for {
			page, err := s.Scan(t.Context(), segment, 2, after)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, stored := range page.Items {
				seen = append(seen, stored.Aggregate)
				if stored.Aggregate == "taken" {
					if event.ClassOf(stored.Err) != event.Foreign {
						t.Errorf("another sink's item: %+v", stored)
					}
					continue
				}
				versions, err := sinktest.VersionsOf(stored.Item)
				if err != nil || stored.Err != nil || uint64(len(versions)) != stored.Position.Version {
					t.Errorf("%s at %d has versions %v: %v, %v", stored.Aggregate, stored.Position.Version, versions, err, stored.Err)
				}
			}
			if after = page.Next; after == nil {
				break
			}
		}
	}
	slices.Sort(seen)
	if len(seen) != items+1 || len(slices.Compact(seen)) != items+1 {
		t.Errorf("%d aggregates seen: %v, want %d", len(seen), seen, items+1)
	}
	if pages <= 2 {
		t.Errorf("%d pages: too few to prove anything about paging", pages)
	}
}
