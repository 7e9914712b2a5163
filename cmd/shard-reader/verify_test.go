package main

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"millrace/eventstore"
	"millrace/internal/cli"
	"millrace/internal/localaws"
)

func TestVerify(t *testing.T) {
	_, url := serve(t, localaws.Options{Shards: 1})
	args := []string{"verify", "--local", "--endpoint-url", url, "--wait", "0s"}
	code, out, stderr := call(t, args...)
	if code != cli.Done || stderr != "" || !strings.HasPrefix(out, "0 events: nothing to compare. orders-events has no event, and orders-view no item.\n") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
	var events []eventstore.NewEvent
	for v := range uint64(3) {
		events = append(events, orderEvent(v+1, "a", 0))
	}
	if _, err := wired(t, url).Events().Append(t.Context(), "a", 0, events...); err != nil {
		t.Fatal(err)
	}
	code, out, stderr = call(t, args...)
	if code != cli.Unhealthy || stderr != "" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{"orders-view is NOT the fold of orders-events.", "3 versions are not in effect"} {
		if !strings.Contains(out, want) {
			t.Errorf("stdout %q, want %q", out, want)
		}
	}
	code, out, stderr = call(t, append(args, "--output", "json")...)
	if code != cli.Unhealthy || stderr != "" || strings.Count(out, "\n") != 1 {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got["schema"] != "millrace.verify/v1" || got["verified"] != false || got["behind"] != 1.0 || got["aggregates"] != 1.0 {
		t.Errorf("it prints %s", out)
	}
	for _, name := range []string{"ahead", "blocked", "skipped", "mismatches", "missing", "unroutable"} {
		if got[name] != 0.0 {
			t.Errorf("%s is %v in %s", name, got[name], out)
		}
	}
}

// TestVerifyGivesUp: half a comparison is no result.
func TestVerifyGivesUp(t *testing.T) {
	engine, url := serve(t, localaws.Options{Shards: 1})
	args := []string{"verify", "--local", "--endpoint-url", url}
	if code, out, stderr := call(t, append(args, "--events", "none")...); code != cli.Usage || out != "" || !strings.Contains(stderr, "none") {
		t.Errorf("no table: code %d, stdout %q, stderr %q", code, out, stderr)
	}
	var scans atomic.Int64
	engine.Inject(localaws.Fault{Do: localaws.TimeOut, Match: func(c localaws.Call) bool {
		if c.Operation != "Scan" {
			return false
		}
		scans.Add(1)
		return true
	}})
	code, out, stderr := call(t, append(args, "--timeout", "300ms")...)
	if code != cli.Failed || out != "" || !strings.Contains(stderr, "gave up after --timeout 300ms") {
		t.Errorf("a time-out: code %d, stdout %q, stderr %q", code, out, stderr)
	}
	before := scans.Load()
	p := spawn(t, environment(t), args...)
	p.until("verify reads", func() bool { return scans.Load() > before })
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != cli.Interrupted || p.out.String() != "" || p.err.String() != "shard-reader: interrupted\n" {
		t.Errorf("an interrupt: code %d, stdout %q, stderr %q", code, p.out.String(), p.err.String())
	}
}

// TestVerifyWithWrongNames: what concerns every item is said once, and the
// control table's absence takes nothing else away.
func TestVerifyWithWrongNames(t *testing.T) {
	t.Parallel()
	_, url := serve(t, localaws.Options{Shards: 1})
	store := wired(t, url).Events()
	for _, name := range []string{"a", "b", "c"} {
		if _, err := store.Append(t.Context(), name, 0, orderEvent(1, name, 0), orderEvent(2, name, 0)); err != nil {
			t.Fatal(err)
		}
	}
	p := work(t, url)
	p.until("it is applied", func() bool { return p.counters().Applied == 6 })
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != cli.Done {
		t.Fatalf("code %d:\n%s", code, p.err.String())
	}
	verify := func(args ...string) string {
		t.Helper()
		code, out, stderr := call(t, append([]string{"verify", "--local", "--endpoint-url", url, "--wait", "0s"}, args...)...)
		if code != cli.Unhealthy || stderr != "" {
			t.Errorf("%v: code %d, stderr %q", args, code, stderr)
		}
		return out
	}
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"--group", "typo"}, []string{"mismatches             3", "behind                 0", "In all likelihood the group, the event table", `belongs to "orders|orders-events|orders-view@1", not to "typo|`}},
		{[]string{"-c", "../../examples/orders/millrace.yaml"}, []string{"mismatches             3", "In all likelihood the fold is not the one that wrote the read model: another --fold or configuration file"}},
	} {
		out := verify(tc.args...)
		for _, want := range tc.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v lacks %q:\n%s", tc.args, want, out)
			}
		}
	}
	code, _, stderr := call(t, "run", "--local", "--endpoint-url", url, "--group", "typo")
	if code != cli.Usage || strings.Contains(stderr, "worker starts") || !strings.Contains(stderr, `belongs to "orders|orders-events|orders-view@1", not to "typo|`) {
		t.Errorf("run: code %d, stderr %q", code, stderr)
	}
	if _, err := store.Append(t.Context(), "a", 2, orderEvent(3, "a", 0)); err != nil {
		t.Fatal(err)
	}
	if out := verify("--control", "gone"); !strings.Contains(out, `blocked          unknown   and among those behind: finding its tables: the control table "gone" does not exist`) ||
		!strings.Contains(out, "aggregates             3") || !strings.Contains(out, "behind                 1") {
		t.Errorf("without a control table it prints\n%s", out)
	}
	if out := verify("--control", "gone", "--output", "json"); !strings.Contains(out, `"blocked":null`) || !strings.Contains(out, `"blockedUnknown":"finding its tables`) {
		t.Errorf("it prints %s", out)
	}
}
