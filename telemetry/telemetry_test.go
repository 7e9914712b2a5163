package telemetry

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/event"
	"millrace/pipeline"
	"millrace/reorder"
)

var update = flag.Bool("update", false, "write generated files anew")

// TestReference holds the page to the declaration; -update writes it anew.
func TestReference(t *testing.T) {
	const file = "../docs/metrics.md"
	if *update {
		if err := os.WriteFile(file, Reference(), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(page, Reference()) {
		t.Errorf("%s is not what the declaration says: run make generate (%v)", file, err)
	}
}

func scrape(t *testing.T, s Snapshot) string {
	t.Helper()
	code, body := get(t, s, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("code %d: %s", code, body)
	}
	return body
}

func get(t *testing.T, s Snapshot, path string) (int, string) {
	t.Helper()
	handler, err := Handler(func() Snapshot { return s })
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(body)
}

// whole is a snapshot in which everything is known.
func whole() Snapshot {
	now := time.Unix(10_000, 0)
	lag, left := 3*time.Second, 23*time.Hour
	h := pipeline.Histogram{Bounds: []float64{1, 10}, Counts: []uint64{2, 1, 1}, Sum: 40}
	return Snapshot{
		Now: now, Pipeline: "orders", Version: "v1",
		Worker: &Worker{
			Lease:    10 * time.Second,
			Health:   pipeline.Health{Listed: now.Add(-time.Second)},
			Troubles: []pipeline.Trouble{{Sink: "view", Aggregate: "a"}},
			Stats: pipeline.Stats{
				Records: 100, Pages: 7, Filtered: 3, Unroutable: 2, Violations: 5, Removed: 1, Trimmed: 1, Shards: 4, Unowned: 2,
				TookFree: 3, TookExpired: 1, Fenced: 1, Retries: 6, Blocked: 8, Healed: 9, ReadLag: &lag, DataLoss: &left,
				Sinks: []pipeline.SinkStats{{
					Name: "view", Stats: reorder.Stats{Applied: 90, Duplicates: 4, GapsArrived: 5, GapsFilled: 6, Resets: 1, Followed: 2, BeforeStart: 3},
					Usage: reorder.Usage{Bytes: 1000, Entries: 10}, Pending: 10, Oldest: now.Add(-2 * time.Second), Paused: true,
					RunEvents: h, ApplyTook: h, ApplyFails: h,
					Standing: &pipeline.Standing{ByClass: map[string]int{event.Permanent.String(): 3}, Oldest: now.Add(-time.Hour)},
				}},
			},
		},
		Letters: &Letters{Sent: 11, Unsent: 2, Oldest: now.Add(-time.Minute)},
		Calls:   []Call{{Service: "DynamoDB", Operation: "UpdateItem", Outcome: "ok", N: 12}},
	}
}

// TestValues: each metric that is declared is told, with the value that is meant.
func TestValues(t *testing.T) {
	body := scrape(t, whole())
	for _, m := range metrics() {
		if !strings.Contains(body, "\n"+prefix+m.name) {
			t.Errorf("%s is declared and not told", m.name)
		}
	}
	for _, want := range []string{
		`millrace_records_read_total{pipeline="orders"} 100`,
		`millrace_event_store_violations_total{kind="modified",pipeline="orders"} 4`,
		`millrace_event_store_violations_total{kind="removed",pipeline="orders"} 1`,
		`millrace_losses_total{pipeline="orders",reason="trimmed"} 1`,
		`millrace_events_applied_total{pipeline="orders",sink="view"} 90`,
		`millrace_events_before_start_total{pipeline="orders",sink="view"} 3`,
		`millrace_gaps_total{outcome="filled",pipeline="orders",sink="view"} 6`,
		`millrace_run_events_bucket{pipeline="orders",sink="view",le="1"} 2`,
		`millrace_run_events_bucket{pipeline="orders",sink="view",le="10"} 3`,
		`millrace_run_events_bucket{pipeline="orders",sink="view",le="+Inf"} 4`,
		`millrace_run_events_sum{pipeline="orders",sink="view"} 40`,
		`millrace_sink_apply_seconds_count{outcome="failed",pipeline="orders",sink="view"} 4`,
		`millrace_read_lag_seconds{pipeline="orders"} 3`,
		`millrace_ack_lag_seconds{pipeline="orders",sink="view"} 2`,
		`millrace_time_to_data_loss_seconds{pipeline="orders"} 82800`,
		`millrace_shards_unowned{pipeline="orders"} 2`,
		`millrace_lease_moves_total{pipeline="orders",reason="expired"} 1`,
		`millrace_blocked_aggregates{class="permanent",pipeline="orders",sink="view"} 3`,
		`millrace_blocked_aggregates{class="gap",pipeline="orders",sink="view"} 0`,
		`millrace_blocked_oldest_seconds{pipeline="orders",sink="view"} 3600`,
		`millrace_stalled_aggregates{pipeline="orders",sink="view"} 1`,
		`millrace_sink_paused{pipeline="orders",reason="failing",sink="view"} 1`,
		`millrace_sink_paused{pipeline="orders",reason="layout",sink="view"} 0`,
		`millrace_letters_sent_total{pipeline="orders"} 11`,
		`millrace_letters_unsent_oldest_seconds{pipeline="orders"} 60`,
		`millrace_aws_calls_total{operation="UpdateItem",outcome="ok",pipeline="orders",service="DynamoDB"} 12`,
		`millrace_build_info{pipeline="orders",version="v1"} 1`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, body)
		}
	}
}

// TestUnknownIsAbsent, and never 0.
func TestUnknownIsAbsent(t *testing.T) {
	for _, tc := range []struct {
		name   string
		forget func(*Snapshot)
		absent []string
	}{
		{"no worker", func(s *Snapshot) { s.Worker = nil }, []string{"records_read_total", "read_lag_seconds", "ack_lag_seconds", "shards_held", "blocked_aggregates", "sink_paused"}},
		{"no page yet", func(s *Snapshot) { s.Worker.Stats.ReadLag, s.Worker.Stats.DataLoss = nil, nil }, []string{"read_lag_seconds", "time_to_data_loss_seconds"}},
		{"no lease rows yet", func(s *Snapshot) { s.Worker.Stats.Unowned = -1 }, []string{"shards_unowned"}},
		{"no sweep yet", func(s *Snapshot) { s.Worker.Stats.Sinks[0].Standing = nil }, []string{"blocked_aggregates", "blocked_oldest_seconds"}},
		{"no queue", func(s *Snapshot) { s.Letters = nil }, []string{"letters_sent_total", "letters_unsent", "letters_unsent_oldest_seconds"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := whole()
			tc.forget(&s)
			body := scrape(t, s)
			for _, name := range tc.absent {
				if strings.Contains(body, prefix+name) {
					t.Errorf("%s is told", name)
				}
			}
			if !strings.Contains(body, "millrace_build_info") {
				t.Error("nothing is told")
			}
		})
	}
}

// TestAliveAndReady: what asks for another process, what keeps a worker from its
// work, and what a person should know.
func TestAliveAndReady(t *testing.T) {
	for _, tc := range []struct {
		name         string
		make         func(*Snapshot)
		alive, ready bool
		reasons      string // a part of those of /readyz
	}{
		{"healthy", func(s *Snapshot) { s.Worker.Stats.Sinks[0].Paused, s.Worker.Troubles = false, nil }, true, true, ""},
		{"no worker yet", func(s *Snapshot) { s.Worker = nil }, true, false, "no worker runs yet"},
		{"a sink that fails for everybody", func(s *Snapshot) { s.Worker.Stats.PausedSinks = []string{"view"} }, true, true, "sink view fails for everybody"},
		{"an aggregate that fails", func(*Snapshot) {}, true, true, "1 aggregates fail and are tried again, such as a"},
		{"a loop that stands still", func(s *Snapshot) { s.Worker.Health.Stuck = []string{"the reader of x"} }, false, true, ""},
		{"lease rows not read yet", func(s *Snapshot) { s.Worker.Health.Listed = time.Time{} }, true, false, "the lease rows were not read yet"},
		{"lease rows not read for long", func(s *Snapshot) { s.Worker.Health.Listed = s.Now.Add(-time.Minute) }, true, false, "not read since"},
		{"the wrong layout", func(s *Snapshot) { s.Worker.Stats.PausedReason = pipeline.PausedForLayout }, true, false, "layout"},
		{"letters that wait", func(s *Snapshot) { s.Letters.Oldest = s.Now.Add(-time.Hour) }, true, true, "2 letters wait"},
		{"little time left", func(s *Snapshot) { left := time.Hour; s.Worker.Stats.DataLoss = &left }, true, true, "the stream forgets"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := whole()
			tc.make(&s)
			for path, want := range map[string]bool{"/healthz": tc.alive, "/readyz": tc.ready} {
				code, body := get(t, s, path)
				var h Health
				if err := json.Unmarshal([]byte(body), &h); err != nil {
					t.Fatal(err)
				}
				if h.OK != want || (code == http.StatusOK) != want || h.Schema != HealthSchema {
					t.Errorf("%s answers %d %s", path, code, body)
				}
				if path == "/readyz" && !slices.ContainsFunc(append(h.Reasons, ""), func(r string) bool { return strings.Contains(r, tc.reasons) }) {
					t.Errorf("the reasons are %q, want %q", h.Reasons, tc.reasons)
				}
				if path == "/healthz" && !want && len(h.Reasons) == 0 {
					t.Error("no reason is told")
				}
			}
		})
	}
}

// TestNothingElseIsServed, and nothing can be written.
func TestNothingElseIsServed(t *testing.T) {
	if code, _ := get(t, whole(), "/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("code %d", code)
	}
	handler, err := Handler(whole)
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/healthz", nil))
	if answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("code %d", answer.Code)
	}
}
