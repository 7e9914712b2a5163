package dynamodbstreams

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"millrace/event"
	"millrace/source"
)

// operations is one call of each kind, by the API operation that it makes.
var operations = []struct {
	name, api string
	shard     bool // it names a shard
	call      func(context.Context, *Stream) error
}{
	{"describe", "DescribeStream", false, func(ctx context.Context, s *Stream) error { _, err := s.Describe(ctx); return err }},
	{"first page", "DescribeStream", false, func(ctx context.Context, s *Stream) error { _, _, err := s.Shards(ctx, ""); return err }},
	{"later page", "DescribeStream", true, func(ctx context.Context, s *Stream) error { _, _, err := s.Shards(ctx, "a"); return err }},
	{"children", "DescribeStream", true, func(ctx context.Context, s *Stream) error { _, err := s.Children(ctx, "a"); return err }},
	{"iterator", "GetShardIterator", true, func(ctx context.Context, s *Stream) error {
		_, err := s.Iterator(ctx, "a", source.Start{Kind: source.TrimHorizon})
		return err
	}},
	{"read", "GetRecords", true, func(ctx context.Context, s *Stream) error { _, err := s.Read(ctx, "it", 10); return err }},
}

var names = []error{source.ErrIteratorExpired, source.ErrTrimmed, source.ErrShardGone, source.ErrStreamGone, source.ErrThrottled}

// TestWhatAnErrorMeans: of every operation, for every code, by the source
// package's name and by class, in one call.
func TestWhatAnErrorMeans(t *testing.T) {
	for _, op := range operations {
		for _, tc := range []struct {
			code  string
			name  error
			class event.Class
		}{
			{"ThrottlingException", source.ErrThrottled, event.Transient}, // in no model of the streams API
			{"LimitExceededException", source.ErrThrottled, event.Transient},
			{"ProvisionedThroughputExceededException", source.ErrThrottled, event.Transient},
			{"ExpiredIteratorException", source.ErrIteratorExpired, event.Transient},
			{"TrimmedDataAccessException", source.ErrTrimmed, event.Permanent},
			{"InternalServerError", nil, event.Transient},
			{"ValidationException", nil, event.Permanent},
			{"AccessDeniedException", nil, event.Unavailable},
		} {
			t.Run(op.name+"/"+tc.code, func(t *testing.T) {
				s, script := open(t, map[string][]answer{op.api: fail(tc.code)})
				err := op.call(t.Context(), s)
				for _, name := range names {
					if got := errors.Is(err, name); got != errors.Is(tc.name, name) {
						t.Errorf("is %v: %v; got %v", name, got, err)
					}
				}
				if got := event.ClassOf(err); got != tc.class {
					t.Errorf("class %v, want %v", got, tc.class)
				}
				if !strings.Contains(err.Error(), tc.code) {
					t.Errorf("the text hides the cause: %v", err)
				}
				if len(script.calls) != 1 {
					t.Errorf("calls %q", script.operations())
				}
			})
		}
		t.Run(op.name+"/cancelled", func(t *testing.T) {
			s, _ := open(t, map[string][]answer{op.api: ok("{}")})
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := op.call(ctx, s); event.ClassOf(err) != event.Stopping {
				t.Errorf("our own stop is %v: %v", event.ClassOf(err), err)
			}
		})
		t.Run(op.name+"/an answer of nothing", func(t *testing.T) {
			s, _ := open(t, map[string][]answer{op.api: ok("{}")})
			if err := op.call(t.Context(), s); op.api != "GetRecords" && event.ClassOf(err) != event.Permanent {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestFault09_ShardGoneOrStreamGone: one code for both, told apart by at most
// one more call.
func TestFault09_ShardGoneOrStreamGone(t *testing.T) {
	const notFound = "ResourceNotFoundException"
	for _, op := range operations {
		for _, tc := range []struct {
			name  string
			ask   answer // the second call's
			want  error  // of calls that name a shard
			class event.Class
		}{
			{"the stream is there", answer{body: described("")}, source.ErrShardGone, event.Permanent},
			{"the stream is gone", answer{code: notFound}, source.ErrStreamGone, event.Permanent},
			{"the question is throttled", answer{code: "ThrottlingException"}, source.ErrThrottled, event.Transient},
			{"the question fails", answer{code: "InternalServerError"}, nil, event.Transient},
		} {
			t.Run(op.name+"/"+tc.name, func(t *testing.T) {
				answers := map[string][]answer{"DescribeStream": {tc.ask}}
				answers[op.api] = append(fail(notFound), answers[op.api]...)
				want, class, calls := tc.want, tc.class, []string{op.api, "DescribeStream"}
				if !op.shard {
					want, class, calls = source.ErrStreamGone, event.Permanent, calls[:1]
				}
				s, script := open(t, answers)
				err := op.call(t.Context(), s)
				for _, name := range names {
					if got := errors.Is(err, name); got != errors.Is(want, name) {
						t.Errorf("is %v: %v; got %v", name, got, err)
					}
				}
				if got := event.ClassOf(err); err == nil || got != class {
					t.Errorf("%v: class %v, want %v", err, got, class)
				}
				if got := script.operations(); !slices.Equal(got, calls) {
					t.Errorf("calls %q, want %q", got, calls)
				}
			})
		}
	}
}

// TestH11_OnlyTheShardsOwnAnswerCountsAsGone through the real errors.
func TestH11_OnlyTheShardsOwnAnswerCountsAsGone(t *testing.T) {
	for _, tc := range []struct {
		name         string
		iterator     answer
		ask          answer
		there, known bool
	}{
		{"there", answer{body: `{"ShardIterator":"it"}`}, answer{}, true, true},
		{"trimmed", answer{code: "TrimmedDataAccessException"}, answer{}, true, true},
		{"shard gone", answer{code: notFound}, answer{body: described("")}, false, true},
		{"stream gone", answer{code: notFound}, answer{code: notFound}, false, false},
		{"throttled", answer{code: "ThrottlingException"}, answer{}, false, false},
		{"gone, and throttled when asked which", answer{code: notFound}, answer{code: "ThrottlingException"}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := open(t, map[string][]answer{"GetShardIterator": {tc.iterator}, "DescribeStream": {tc.ask}})
			there, err := source.Exists(t.Context(), s, "p")
			if there != tc.there || (err == nil) != tc.known {
				t.Errorf("there %v, error %v", there, err)
			}
		})
	}
}

func TestFind(t *testing.T) {
	const table = `{"Table":{"TableName":"events","LatestStreamArn":"` + testARN + `"}}`
	for _, tc := range []struct {
		name   string
		answer answer
		want   error
		class  event.Class
	}{
		{"found", answer{body: table}, nil, event.Unknown},
		{"no such table", answer{code: notFound}, nil, event.Permanent},
		{"no stream", answer{body: `{"Table":{"TableName":"events"}}`}, source.ErrStreamGone, event.Permanent},
		{"throttled", answer{code: "ThrottlingException"}, source.ErrThrottled, event.Transient},
		{"refused", answer{code: "AccessDeniedException"}, nil, event.Unavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, script := scripted(t, map[string][]answer{"DescribeTable": {tc.answer}})
			s, err := c.Find(t.Context(), "events")
			if tc.name == "found" {
				if err != nil || s.ARN() != testARN || s.Label() != "2026-03-01T12:00:00.000" {
					t.Fatal(s, err)
				}
				if got := s.Labelled("2026-02-01T00:00:00.000").ARN(); got != strings.ReplaceAll(testARN, s.Label(), "2026-02-01T00:00:00.000") {
					t.Errorf("the earlier label's ARN is %s", got)
				}
			} else if err == nil || (tc.want != nil && !errors.Is(err, tc.want)) || event.ClassOf(err) != tc.class {
				t.Errorf("got %v of class %v", err, event.ClassOf(err))
			}
			if want := []call{{"DescribeTable", map[string]any{"TableName": "events"}}}; !reflect.DeepEqual(script.calls, want) {
				t.Errorf("calls %v", script.calls)
			}
		})
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no client, and no error")
	}
	c, _ := scripted(t, nil)
	c.options.Tables = nil
	if _, err := c.Find(t.Context(), "events"); err == nil {
		t.Error("no client for tables, and no error")
	}
}
