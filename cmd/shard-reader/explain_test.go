package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/cli"
	"millrace/internal/localaws"
	"millrace/projection/ordersview"
)

// TestExplain: an aggregate that no worker has come to, as it was at a version
// and at a time; one that was removed; one that never was.
func TestExplain(t *testing.T) {
	engine, url := serve(t, localaws.Options{Shards: 1, KeepHistory: true})
	pipeline := wired(t, url)
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for i, kind := range []string{ordersview.OrderPlaced, ordersview.ItemAdded, "Nonsense"} {
		_, err := pipeline.Events().Append(t.Context(), "order-1", uint64(i), eventstore.NewEvent{
			Type: kind, Time: noon.Add(time.Duration(i) * time.Hour), Attributes: event.Item{"customer": event.String("Ada"), "amount": event.Number("2.50")},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	explain := func(args ...string) (int, explainResult, string) {
		t.Helper()
		code, out, stderr := call(t, append([]string{"explain", "order-1", "--local", "--endpoint-url", url, "--output", "json"}, args...)...)
		var r explainResult
		if err := json.Unmarshal([]byte(out), &r); out != "" && (err != nil || r.Schema != "millrace.explain/v1") {
			t.Fatalf("stdout %q: %v", out, err)
		}
		return code, r, stderr
	}
	code, r, stderr := explain()
	if code != cli.Done || stderr != "" || r.Head != 3 || r.HeadType != "Nonsense" || !r.HeadTime.Equal(noon.Add(2*time.Hour)) || len(r.Sinks) != 1 || r.Sinks[0].Behind != 3 || r.Sinks[0].State != "live" || r.Folded != nil {
		t.Errorf("code %d, %+v, stderr %q", code, r, stderr)
	}
	for _, tc := range []struct {
		args    []string
		code    int
		version uint64
		item    string // a part of it
		failed  string
	}{
		{[]string{"--at-version", "1"}, cli.Done, 1, `"total":{"N":"2.5"}`, ""},
		{[]string{"--at-version", "2"}, cli.Done, 2, `"total":{"N":"5"}`, ""},
		{[]string{"--at", "2026-01-02T13:00:00Z"}, cli.Done, 2, `"total":{"N":"5"}`, ""},
		{[]string{"--at", "2026-01-02T12:59:59Z"}, cli.Done, 1, `"total":{"N":"2.5"}`, ""},
		{[]string{"--at", "2026-01-02T14:59:59+02:00"}, cli.Done, 1, `"total":{"N":"2.5"}`, ""},
		{[]string{"--at", "2025-01-01T00:00:00Z"}, cli.Done, 0, "", ""},
		{[]string{"--state"}, cli.Failed, 2, "", "Nonsense"},
	} {
		code, r, stderr := explain(tc.args...)
		if code != tc.code || len(r.Folded) != 1 {
			t.Errorf("%v: code %d, %+v, stderr %q", tc.args, code, r, stderr)
			continue
		}
		f := r.Folded[0]
		if f.Version != tc.version || !strings.Contains(string(f.Item), tc.item) || !strings.Contains(f.Error, tc.failed) || (f.Error == "") != (tc.failed == "") {
			t.Errorf("%v: %+v, item %s", tc.args, f, f.Item)
		}
	}
	if code, _, stderr := explain("--at-version", "4"); code != cli.Failed || !strings.Contains(stderr, "the newest one is 3") {
		t.Errorf("beyond the head: code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := explain("--at", "noon"); code != cli.Usage || !strings.Contains(stderr, "is no time such as") {
		t.Errorf("no time: code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := explain("--state", "--at-version", "1"); code != cli.Usage || !strings.Contains(stderr, "give one of") {
		t.Errorf("two states: code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := call(t, "explain", "order-2", "--local", "--endpoint-url", url); code != cli.Failed || !strings.Contains(stderr, "is unknown") {
		t.Errorf("an unknown one: code %d, stderr %q", code, stderr)
	}
	if code, out, _ := call(t, "explain", "order-1", "--at-version", "2", "--local", "--endpoint-url", url); code != cli.Done ||
		!strings.Contains(out, "position 0, 3 behind") || !strings.Contains(out, "orders-view at version 2, 2026-01-02T13:00:00Z") || !strings.Contains(out, "customer              Ada\n") {
		t.Errorf("code %d, stdout\n%s", code, out)
	}
	if n := len(engine.History("orders-view")); n != 0 {
		t.Errorf("it has written %d times", n)
	}
}
