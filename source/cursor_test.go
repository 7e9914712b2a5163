package source

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func cursor(t *testing.T, f *fakeStream, id ShardID, from Start) *Cursor {
	t.Helper()
	c, err := NewCursor(f, id, from)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drain reads to the end of the shard and fails on any error.
func drain(t *testing.T, c *Cursor) (out []int) {
	t.Helper()
	for range 1000 {
		if c.Ended() {
			return out
		}
		page, err := c.Read(t.Context(), MaxPageRecords)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, numbers(page)...)
	}
	t.Fatal("the shard does not end")
	return nil
}

// TestFault06_RecordsOnTheFinalPage: the page without a next iterator carries
// records.
func TestFault06_RecordsOnTheFinalPage(t *testing.T) {
	f := newFake(2, shard("s").closed().with(1, 2, 3))
	c := cursor(t, f, "s", Start{Kind: TrimHorizon})
	for _, want := range [][]int{{1, 2}, {3}} {
		if c.Ended() {
			t.Fatal("ended before its last page")
		}
		page, err := c.Read(t.Context(), 10)
		if err != nil || !slices.Equal(numbers(page), want) {
			t.Fatalf("got %v, %v; want %v", numbers(page), err, want)
		}
	}
	if !c.Ended() || c.At().Kind != ShardEnd {
		t.Errorf("ended %v at %v", c.Ended(), c.At())
	}
	calls := len(f.calls)
	if page, err := c.Read(t.Context(), 10); err != nil || len(page.Records) != 0 || len(f.calls) != calls {
		t.Errorf("after the end: %v, %v, calls %q", page, err, f.calls[calls:])
	}
}

// TestFault07_NeverLatest: what is written between opening a shard at latest
// and its first record would be lost with the first expiry.
func TestFault07_NeverLatest(t *testing.T) {
	if _, err := NewCursor(newFake(1), "s", Start{Kind: Latest}); !errors.Is(err, errLatest) {
		t.Errorf("latest: %v", err)
	}
	f := newFake(10, shard("s").closed().with(10, 20, 30))
	f.fail["read"] = []error{nil, ErrIteratorExpired}
	c := cursor(t, f, "s", Start{Kind: AtTime, Time: epoch.Add(15e9)})
	if got := drain(t, c); !slices.Equal(got, []int{20, 30}) {
		t.Errorf("read %v", got)
	}
}

// TestFault08_ExpiredIterator takes a new one after the last record read, else
// at the start it began with, and never at latest.
func TestFault08_ExpiredIterator(t *testing.T) {
	for _, tc := range []struct {
		name  string
		start Start
		fail  []error // of the reads, in order
		calls []string
		want  []int
	}{
		{
			"before the first record, at the horizon",
			Start{Kind: TrimHorizon},
			[]error{ErrIteratorExpired},
			[]string{"iterator s trim-horizon", "read", "iterator s trim-horizon", "read", "read"},
			[]int{3, 5, 7},
		},
		{
			"before the first record, at a checkpoint",
			Start{Kind: AfterSequence, Sequence: "3"},
			[]error{ErrIteratorExpired},
			[]string{"iterator s after-sequence 3", "read", "iterator s after-sequence 3", "read"},
			[]int{5, 7},
		},
		{
			"before the first record, at the pinned time",
			Start{Kind: AtTime, Time: epoch.Add(5e9)},
			[]error{ErrIteratorExpired},
			[]string{"iterator s at-time", "read", "iterator s at-time", "read"},
			[]int{5, 7},
		},
		{
			"after a record",
			Start{Kind: TrimHorizon},
			[]error{nil, ErrIteratorExpired},
			[]string{"iterator s trim-horizon", "read", "read", "iterator s after-sequence 5", "read"},
			[]int{3, 5, 7},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(2, shard("s").closed().with(3, 5, 7))
			// The first iterator must be in use for its expiry to be seen.
			f.fail["read"] = tc.fail
			c := cursor(t, f, "s", tc.start)
			var got []int
			for !c.Ended() {
				page, err := c.Read(t.Context(), 10)
				if err != nil && !errors.Is(err, ErrIteratorExpired) {
					t.Fatal(err)
				}
				got = append(got, numbers(page)...)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("read %v, want %v", got, tc.want)
			}
			for i, call := range f.calls {
				if strings.HasPrefix(call, "read ") {
					f.calls[i] = "read"
				}
			}
			if !reflect.DeepEqual(f.calls, tc.calls) {
				t.Errorf("calls %q, want %q", f.calls, tc.calls)
			}
		})
	}
}

// TestFault08_ExpiredForEver: a service that calls every iterator expired gets
// two calls a Read, and the caller decides when to try again.
func TestFault08_ExpiredForEver(t *testing.T) {
	f := newFake(2, shard("s").with(1))
	c := cursor(t, f, "s", Start{Kind: TrimHorizon})
	if _, err := c.Read(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	f.fail["read"] = slices.Repeat([]error{ErrIteratorExpired}, 100)
	for range 3 {
		before := f.count("read")
		if _, err := c.Read(t.Context(), 10); !errors.Is(err, ErrIteratorExpired) {
			t.Fatal(err)
		}
		if got := f.count("read") - before; got > 2 {
			t.Errorf("%d calls in one Read", got)
		}
	}
	f.fail["read"] = nil
	f.shards["s"].with(1, 2).closed()
	if got := drain(t, c); !slices.Equal(got, []int{2}) {
		t.Errorf("read %v after it recovered", got)
	}
}

// TestFault09_ShardGoneIsTerminal: no refresh can bring the shard back.
func TestFault09_ShardGoneIsTerminal(t *testing.T) {
	for _, op := range []string{"iterator", "read"} {
		t.Run(op, func(t *testing.T) {
			f := newFake(2, shard("s").with(1, 2, 3))
			f.fail[op] = []error{ErrShardGone}
			c := cursor(t, f, "s", Start{Kind: AfterSequence, Sequence: "1"})
			if _, err := c.Read(t.Context(), 10); !errors.Is(err, ErrShardGone) {
				t.Fatal(err)
			}
			calls := len(f.calls)
			if _, err := c.Read(t.Context(), 10); !errors.Is(err, ErrShardGone) || len(f.calls) != calls {
				t.Errorf("again: %v, calls %q", err, f.calls)
			}
			if want := (Start{Kind: AfterSequence, Sequence: "1"}); c.Ended() || c.At() != want {
				t.Errorf("ended %v at %v: a shard that is gone was not read to its end", c.Ended(), c.At())
			}
		})
	}
}

// TestFault10_TrimmedPosition tells the lost range once and goes on at the
// horizon.
func TestFault10_TrimmedPosition(t *testing.T) {
	for _, tc := range []struct {
		name  string
		start Start
		pages int // read before the trim
		want  Trimmed
	}{
		{"a checkpoint", Start{Kind: AfterSequence, Sequence: "2"}, 0, Trimmed{From: Start{Kind: AfterSequence, Sequence: "2"}}},
		{"after records", Start{Kind: TrimHorizon}, 1, Trimmed{From: Start{Kind: AfterSequence, Sequence: "2"}, Since: epoch.Add(2e9)}},
		{"a time", Start{Kind: AtTime, Time: epoch.Add(1e9)}, 0, Trimmed{From: Start{Kind: AtTime, Time: epoch.Add(1e9)}, Since: epoch.Add(1e9)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(2, shard("s").closed().with(1, 2, 3, 4, 5, 6))
			c := cursor(t, f, "s", tc.start)
			for range tc.pages {
				if _, err := c.Read(t.Context(), 10); err != nil {
					t.Fatal(err)
				}
			}
			f.trimmed = 5
			f.fail["read"] = []error{ErrTrimmed} // an iterator that was good, its data trimmed since
			_, err := c.Read(t.Context(), 10)
			var lost *Trimmed
			if !errors.As(err, &lost) || !errors.Is(err, ErrTrimmed) {
				t.Fatalf("got %v, want a *Trimmed", err)
			}
			if lost.Shard != "s" || lost.From != tc.want.From || !lost.Since.Equal(tc.want.Since) {
				t.Errorf("lost %+v, want %+v", lost, tc.want)
			}
			if !strings.Contains(err.Error(), "shard s from "+tc.want.From.Kind.String()) {
				t.Errorf("the text names no range: %v", err)
			}
			f.fail["read"] = nil
			if got := drain(t, c); !slices.Equal(got, []int{5, 6}) {
				t.Errorf("after the loss: %v", got)
			}
		})
	}
}

// TestFault21_PartialReadIsNotTheEnd: failures and empty pages never end a
// shard, only a missing next iterator does.
func TestFault21_PartialReadIsNotTheEnd(t *testing.T) {
	s := shard("s").with()
	f := newFake(2, s)
	c := cursor(t, f, "s", Start{Kind: TrimHorizon})
	f.fail["iterator"] = []error{ErrThrottled}
	f.fail["read"] = []error{ErrThrottled, nil, ErrThrottled}
	for i := range 5 {
		page, err := c.Read(t.Context(), 10)
		if wantErr := i == 0 || i == 1 || i == 3; (err != nil) != wantErr || (err != nil && !errors.Is(err, ErrThrottled)) {
			t.Fatalf("read %d: %v", i, err)
		}
		if c.Ended() || len(page.Records) != 0 {
			t.Fatalf("read %d: ended %v, records %v", i, c.Ended(), numbers(page))
		}
	}
	s.with(1, 2, 3).closed()
	if got := drain(t, c); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("read %v", got)
	}
}

func TestCursorOfAFinishedShardMakesNoCall(t *testing.T) {
	f := newFake(2, shard("s"))
	c := cursor(t, f, "s", Start{Kind: ShardEnd})
	if _, err := c.Read(t.Context(), 10); err != nil || !c.Ended() || len(f.calls) != 0 {
		t.Errorf("%v, ended %v, calls %q", err, c.Ended(), f.calls)
	}
}

// TestCursorReadsEachRecordOnce, in order and without a hole, whatever fails
// in between. Only trimming loses records, and never without telling.
func TestCursorReadsEachRecordOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 40).Draw(t, "records")
		s := shard("s")
		for n := range total {
			s.records = append(s.records, n+1)
		}
		f := newFake(rapid.IntRange(1, 7).Draw(t, "page"), s.closed())
		f.lifetime = rapid.IntRange(0, 3).Draw(t, "lifetime")
		failures := rapid.SampledFrom([]error{nil, nil, ErrThrottled, ErrIteratorExpired, errHang})
		f.fail["read"] = rapid.SliceOfN(failures, 0, 60).Draw(t, "read failures")
		f.fail["iterator"] = rapid.SliceOfN(rapid.SampledFrom([]error{nil, ErrThrottled}), 0, 20).Draw(t, "iterator failures")
		trimAt := rapid.IntRange(0, 20).Draw(t, "trim at")
		c, err := NewCursor(f, "s", Start{Kind: TrimHorizon})
		if err != nil {
			t.Fatal(err)
		}
		next, told := 1, true // the horizon is wherever the first read finds it
		for step := range 400 {
			if step == trimAt && f.trimmed == 0 {
				f.trimmed = rapid.IntRange(0, total).Draw(t, "trim to")
			}
			if c.Ended() {
				break
			}
			page, err := c.Read(t.Context(), 1000)
			if errors.Is(err, ErrTrimmed) {
				told = true
			}
			for _, n := range numbers(page) {
				if n < next || (n > next && (n != f.trimmed || !told)) {
					t.Fatalf("read %d, wanted %d (trimmed below %d, told %v)", n, next, f.trimmed, told)
				}
				next, told = n+1, false
			}
		}
		if !c.Ended() || next != total+1 {
			t.Fatalf("ended %v at %d of %d", c.Ended(), next, total)
		}
	})
}
