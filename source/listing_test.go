package source

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// errHang makes the fake's listing wait for the end of its context.
var errHang = errors.New("hang")

// TestFault01_MoreThanOnePageOfShards lists past the first 100 shards, and does
// not turn round for ever where a cursor comes back.
func TestFault01_MoreThanOnePageOfShards(t *testing.T) {
	f := newFake(100)
	for i := range 730 {
		s := shard(ShardID([]byte{'s', byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)}))
		f.shards[s.ID] = s
	}
	var l Listing
	mustDiscover(t, f, &l)
	if got := len(l.Shards()); got != 730 || !l.Complete() {
		t.Errorf("%d shards listed, complete %v; want 730, true", got, l.Complete())
	}
	if got := f.count("shards"); got != 8 {
		t.Errorf("%d calls, want 8", got)
	}

	for _, tc := range []struct {
		name    string
		cursors []ShardID
	}{
		{"the same one", []ShardID{"a", "a"}},
		{"an earlier one", []ShardID{"a", "b", "a"}},
	} {
		t.Run("repeats "+tc.name, func(t *testing.T) {
			var l Listing
			for i, next := range tc.cursors {
				err := l.Add([]Shard{{ID: "p" + next}}, next)
				if last := i == len(tc.cursors)-1; errors.Is(err, ErrCursorRepeated) != last {
					t.Fatalf("page %d: %v", i, err)
				}
			}
			if l.Complete() || l.Cursor() != "" || len(l.Shards()) != len(tc.cursors)-1 {
				t.Errorf("complete %v, cursor %q, shards %v", l.Complete(), l.Cursor(), ids(l.Shards()))
			}
			if err := l.Add(nil, ""); err != nil || !l.Complete() {
				t.Errorf("the next pass: %v, complete %v", err, l.Complete())
			}
		})
	}
}

// TestFault11_FailingPageKeepsTheOthers: page 2 is throttled; page 1 stays, and
// the next call goes on with page 2.
func TestFault11_FailingPageKeepsTheOthers(t *testing.T) {
	f := newFake(2, shard("a"), shard("b"), shard("c"), shard("d"), shard("e"))
	f.fail["shards"] = []error{nil, ErrThrottled}
	var l Listing
	err := Discover(t.Context(), f, &l, Budget{})
	if !errors.Is(err, ErrThrottled) {
		t.Fatalf("got %v, want the page's error", err)
	}
	if got := ids(l.Shards()); !reflect.DeepEqual(got, []ShardID{"a", "b"}) || l.Complete() {
		t.Fatalf("kept %v, complete %v", got, l.Complete())
	}
	mustDiscover(t, f, &l)
	if got := ids(l.Shards()); len(got) != 5 || !l.Complete() {
		t.Errorf("listed %v, complete %v", got, l.Complete())
	}
	if want := []string{"shards", "shards b", "shards b", "shards d"}; !reflect.DeepEqual(f.calls, want) {
		t.Errorf("calls %q, want %q", f.calls, want)
	}
}

func TestFault11_HangingPageMeetsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2, shard("a"), shard("b"), shard("c"))
		f.fail["shards"] = []error{nil, errHang}
		var l Listing
		begun := time.Now()
		err := Discover(t.Context(), f, &l, Budget{Each: 3 * time.Second})
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		if len(l.Shards()) != 2 {
			t.Errorf("kept %v", ids(l.Shards()))
		}
	})
}

func TestDiscoverStaysInItsBudget(t *testing.T) {
	f := newFake(1, shard("a"), shard("b"), shard("c"), shard("d"), shard("e"))
	var l Listing
	for _, want := range []int{2, 4, 5} {
		if err := Discover(t.Context(), f, &l, Budget{Calls: 2}); err != nil {
			t.Fatal(err)
		}
		if got := len(l.Shards()); got != want || l.Complete() != (want == 5) {
			t.Errorf("%d shards, complete %v; want %d", got, l.Complete(), want)
		}
	}
	if got := f.count("shards"); got != 5 {
		t.Errorf("%d calls, want 5", got)
	}
}

func TestTrimmedCursorStartsThePassAnew(t *testing.T) {
	f := newFake(1, shard("a"), shard("b"))
	f.fail["shards"] = []error{nil, ErrShardGone}
	var l Listing
	if err := Discover(t.Context(), f, &l, Budget{}); !errors.Is(err, ErrShardGone) {
		t.Fatal(err)
	}
	mustDiscover(t, f, &l)
	if want := []string{"shards", "shards a", "shards", "shards a"}; !reflect.DeepEqual(f.calls, want) {
		t.Errorf("calls %q, want %q", f.calls, want)
	}
}

// TestListingRepairs: pages are read at different moments.
func TestListingRepairs(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pages [][]Shard
		want  []Shard
	}{
		{
			"a parent listed as open while its child is listed",
			[][]Shard{{{ID: "p"}, {ID: "q"}}, {{ID: "c", Parents: []ShardID{"p"}}}},
			[]Shard{{ID: "p", Closed: true}, {ID: "c", Parents: []ShardID{"p"}}, {ID: "q"}},
		},
		{
			"a closed shard listed as open by a later, older page",
			[][]Shard{{{ID: "a", Closed: true}}, {{ID: "a"}}},
			[]Shard{{ID: "a", Closed: true}},
		},
		{
			"a page that forgets the parents",
			[][]Shard{{{ID: "c", Parents: []ShardID{"p"}}}, {{ID: "c"}}},
			[]Shard{{ID: "c", Parents: []ShardID{"p"}}},
		},
		{
			"a child listed before its parents",
			[][]Shard{{{ID: "a", Parents: []ShardID{"y", "z"}}}, {{ID: "y", Closed: true}, {ID: "z", Parents: []ShardID{"y"}}}},
			[]Shard{{ID: "y", Closed: true}, {ID: "z", Parents: []ShardID{"y"}, Closed: true}, {ID: "a", Parents: []ShardID{"y", "z"}}},
		},
		{
			"shards that name each other",
			[][]Shard{{{ID: "a", Parents: []ShardID{"b"}}}, {{ID: "b", Parents: []ShardID{"a"}}}},
			[]Shard{{ID: "b", Parents: []ShardID{"a"}, Closed: true}, {ID: "a", Parents: []ShardID{"b"}, Closed: true}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var l Listing
			for i, page := range tc.pages {
				if err := l.Add(page, ShardID([]byte{'0' + byte(i)})); err != nil {
					t.Fatal(err)
				}
			}
			if got := l.Shards(); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFoundOutlivesThePassUnderWay(t *testing.T) {
	f := newFake(1, shard("m").closed(), shard("n"))
	var l Listing
	if err := Discover(t.Context(), f, &l, Budget{Calls: 1}); err != nil {
		t.Fatal(err)
	}
	f.shards["a"] = shard("a", "m")
	children, err := f.Children(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	l.Found(children...)
	f.shards["a"].hidden = true // the listing lags behind the filter
	mustDiscover(t, f, &l)
	if !l.Has("a") {
		t.Error("a pass that was past its place has forgotten the child")
	}
	mustDiscover(t, f, &l)
	if l.Has("a") {
		t.Error("a whole later pass did not show the shard, and it is still listed")
	}
}

// TestH11_FinishedRowsOutliveTheStaleListing: rows of finished shards stay
// until the shard was missing from every whole listing for 24 hours.
func TestH11_FinishedRowsOutliveTheStaleListing(t *testing.T) {
	f := newFake(10, shard("a").closed(), shard("b", "a"))
	var (
		l Listing
		a Absence
	)
	observe := func(after time.Duration) []ShardID {
		t.Helper()
		mustDiscover(t, f, &l)
		return a.Observe(epoch.Add(after), &l, []ShardID{"a"})
	}
	if got := observe(0); got != nil {
		t.Fatalf("listed, and deleted: %v", got)
	}
	f.shards["a"].hidden = true
	for _, tc := range []struct {
		after time.Duration
		show  bool
		want  bool
	}{
		{after: 30 * time.Hour}, // missing for the first time
		{after: 53*time.Hour + 59*time.Minute},
		{after: 53*time.Hour + 59*time.Minute, show: true}, // a stale page shows it once more
		{after: 54 * time.Hour},
		{after: 78*time.Hour - time.Second},
		{after: 78 * time.Hour, want: true},
	} {
		f.shards["a"].hidden = !tc.show
		if got := slices.Contains(observe(tc.after), "a"); got != tc.want {
			t.Errorf("after %v: deletable %v, want %v", tc.after, got, tc.want)
		}
	}
	if got := a.Observe(epoch.Add(200*time.Hour), &l, []ShardID{"a"}); got != nil {
		t.Errorf("without a new listing: %v", got)
	}
}
