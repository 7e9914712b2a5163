package dynamodbstreams

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"millrace/source"
)

func TestDescribeTellsTheServicesClock(t *testing.T) {
	const body = `{"StreamDescription":{"TableName":"events","StreamStatus":%q,"StreamViewType":"KEYS_ONLY","Shards":[]}}`
	for _, tc := range []struct {
		status, date string
		want         source.StreamInfo
	}{
		{"ENABLED", "Sun, 01 Mar 2026 12:00:05 GMT", source.StreamInfo{Status: source.Enabled, Now: time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)}},
		{"DISABLED", "", source.StreamInfo{Status: source.Disabled}},
		{"DISABLING", "yesterday", source.StreamInfo{Status: source.Disabling}},
		{"ENABLING", "", source.StreamInfo{Status: source.Enabling}},
	} {
		s, script := open(t, map[string][]answer{"DescribeStream": {{body: fmt.Sprintf(body, tc.status), date: tc.date}}})
		got, err := s.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tc.want.ARN, tc.want.Label, tc.want.Table = testARN, "2026-03-01T12:00:00.000", "events"
		tc.want.View = "KEYS_ONLY"
		if !got.Now.Equal(tc.want.Now) || got.Now.IsZero() != tc.want.Now.IsZero() {
			t.Errorf("now %v, want %v", got.Now, tc.want.Now)
		}
		got.Now, tc.want.Now = time.Time{}, time.Time{}
		if got != tc.want {
			t.Errorf("got %+v, want %+v", got, tc.want)
		}
		if want := []call{{"DescribeStream", map[string]any{"StreamArn": testARN, "Limit": 1.0}}}; !reflect.DeepEqual(script.calls, want) {
			t.Errorf("calls %v", script.calls)
		}
	}
}

// TestFault01_ListingPagesToTheEnd through the API's own cursor.
func TestFault01_ListingPagesToTheEnd(t *testing.T) {
	s, script := open(t, map[string][]answer{"DescribeStream": {
		{body: described("b", listed("a", "", "200"), listed("b", "trimmed", "300"))},
		{body: described("", listed("c", "a", ""))},
	}})
	var l source.Listing
	for range 2 {
		if err := source.Discover(t.Context(), s, &l, source.Budget{Calls: 1}); err != nil {
			t.Fatal(err)
		}
	}
	want := []source.Shard{
		{ID: "a", Closed: true}, {ID: "b", Parents: []source.ShardID{"trimmed"}, Closed: true}, {ID: "c", Parents: []source.ShardID{"a"}},
	}
	if got := l.Shards(); !reflect.DeepEqual(got, want) || !l.Complete() {
		t.Errorf("listed %v, complete %v", got, l.Complete())
	}
	for i, in := range []map[string]any{
		{"StreamArn": testARN, "Limit": 100.0},
		{"StreamArn": testARN, "Limit": 100.0, "ExclusiveStartShardId": "b"},
	} {
		if !reflect.DeepEqual(script.calls[i].in, in) {
			t.Errorf("call %d asks %v, want %v", i, script.calls[i].in, in)
		}
	}
}

func TestChildren(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pages []string
		want  []source.ShardID
		err   error
		calls int
	}{
		{"none yet", []string{described("")}, nil, nil, 1},
		{"a split over two pages", []string{described("b", listed("b", "p", "")), described("", listed("c", "p", "400"))}, []source.ShardID{"b", "c"}, nil, 2},
		{
			"an endpoint that does not know the filter",
			[]string{described("", listed("p", "", "200"), listed("b", "p", ""), listed("x", "q", ""))},
			[]source.ShardID{"b"},
			nil, 1,
		},
		{"a cursor that repeats", []string{described("b"), described("c"), described("b")}, nil, source.ErrCursorRepeated, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var answers []answer
			for _, p := range tc.pages {
				answers = append(answers, answer{body: p})
			}
			s, script := open(t, map[string][]answer{"DescribeStream": answers})
			got, err := s.Children(t.Context(), "p")
			if !errors.Is(err, tc.err) || len(script.calls) != tc.calls {
				t.Fatalf("%v after %d calls", err, len(script.calls))
			}
			var ids []source.ShardID
			for _, shard := range got {
				ids = append(ids, shard.ID)
			}
			if !slices.Equal(ids, tc.want) {
				t.Errorf("got %v, want %v", ids, tc.want)
			}
			for _, c := range script.calls {
				if want := map[string]any{"Type": "CHILD_SHARDS", "ShardId": "p"}; !reflect.DeepEqual(c.in["ShardFilter"], want) {
					t.Errorf("asked with filter %v", c.in["ShardFilter"])
				}
			}
		})
	}
}
