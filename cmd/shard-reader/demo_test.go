package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/cli"
	"millrace/internal/localaws"
	"millrace/status"
)

// TestDemos plays two demos at once, on the same machine and with the same
// seed.
func TestDemos(t *testing.T) {
	t.Parallel()
	var demos []*proc
	for range 2 {
		demos = append(demos, spawn(t, environment(t), append(strings.Fields("demo --output json --events 600 --aggregates 20 --hot 0.5 --shards 3 --seed 7 --quiet --redriver"), redriver(t))...))
	}
	for _, p := range demos {
		if code := p.wait(); code != cli.Done || p.err.String() != "" {
			t.Fatalf("code %d, stdout %q, stderr %q", code, p.out.String(), p.err.String())
		}
		if strings.Count(p.out.String(), "\n") != 1 {
			t.Errorf("stdout is not one line: %q", p.out.String())
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(p.out.String()), &got); err != nil {
			t.Fatal(err)
		}
		fields := []string{
			"appended", "applied", "blocked", "duplicates", "eventsPerSecond", "gapsFilled", "letters", "mismatches",
			"readModelWrites", "redriven", "schema", "seconds", "seed", "verified",
		}
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, fields) {
			t.Errorf("fields %v, want %v", names, fields)
		}
		for name, want := range map[string]any{
			"schema": "millrace.demo/v1", "appended": 600.0, "applied": 600.0, "verified": true, "mismatches": 0.0,
			"blocked": 3.0, "letters": 3.0, "redriven": 3.0, "seed": "7",
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if gaps, _ := got["gapsFilled"].(float64); gaps < 1 {
			t.Errorf("no gap was filled: %s", p.out.String())
		}
		writes, _ := got["readModelWrites"].(float64)
		seconds, _ := got["seconds"].(float64)
		rate, _ := got["eventsPerSecond"].(float64)
		if writes < 20 || writes > 600 || seconds <= 0 || rate < 0.99*600/seconds || rate > 1.01*600/seconds {
			t.Errorf("%v writes, %v s, %v events a second", writes, seconds, rate)
		}
	}
}

// TestDemoInterrupted leaves no process behind, wherever it is.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	started := regexp.MustCompile(`\(process (\d+)\)`)
	for _, moment := range []string{"worker 1 starts", "a shard rolls over", "worker 2 starts", "$ dlq-redriver groups", "$ dlq-redriver redrive"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			p := spawn(t, environment(t), "demo", "--events", "6000", "--redriver", redriver(t))
			p.until(moment, func() bool { return strings.Contains(p.err.String(), moment) })
			p.signal(os.Interrupt)
			if code := p.wait(); code != cli.Interrupted || p.out.String() != "" {
				t.Errorf("code %d, stdout %q", code, p.out.String())
			}
			if !strings.HasSuffix(p.err.String(), "shard-reader: interrupted; nothing was kept, and no process is left\n") {
				t.Errorf("stderr %q", p.err.String())
			}
			processes := started.FindAllStringSubmatch(p.err.String(), -1)
			if len(processes) == 0 {
				t.Fatalf("no process is named: %q", p.err.String())
			}
			for _, process := range processes {
				if alive(t, process[1]) {
					t.Errorf("process %s is left", process[1])
				}
			}
		})
	}
}

// TestSummary is what a person reads, on 80 columns.
func TestSummary(t *testing.T) {
	good := demoResult{
		Appended: 20000, Applied: 20000, Duplicates: 101, GapsFilled: 2, ReadModelWrites: 5200, Verified: true,
		Seconds: 12.5, EventsPerSecond: 1600, Seed: 7,
		Blocked: 3, Letters: 3, Redriven: 3, poison: 3, followed: 5312, recovered: 1940 * time.Millisecond,
		aggregates: 200, shards: 12, restarts: 1, takeover: 3400 * time.Millisecond,
		changes: []string{"a shard rolls over: it is closed, a child goes on"},
	}
	bad := good
	bad.Verified, bad.Applied, bad.Mismatches, bad.backward = false, 19999, 2, 1
	bad.report = status.Report{Findings: []status.Finding{{Kind: "behind", Aggregate: "order-00001", Position: 4, Head: 5, Text: "1 versions are not in effect"}}}
	unblocked, unreleased, unsent := good, good, good
	unblocked.Blocked, unblocked.Redriven, unreleased.Redriven, unsent.Letters = 2, 2, 2, 1
	for _, tc := range []struct {
		name   string
		result demoResult
		want   []string
	}{
		{"verified", good, []string{
			"\nVERIFIED: all 20,000 events of 200 aggregates took effect, each once and in order.\n",
			"  read-model writes      5,200   3.8 events a write\n",
			"  workers killed             1   the successor went on after 3.4 s\n",
			"  aggregates blocked         3   5,312 of their events waited by reference\n",
			"  letters sent               3   to the on-failure queue\n",
			"  redriven                   3   the last one was back 1.9 s after the fix was started\n",
			"the same events and incidents again, in a timing of their own:\n  shard-reader demo --seed 7\n",
		}},
		{"not verified", bad, []string{
			"\nNOT VERIFIED: 19,999 of 20,000 events are in effect, and 2 things are not as they should be.\n",
			"1 writes moved a position by something else than forward.",
			"  behind order-00001: position 4 of 5: 1 versions are not in effect\n",
		}},
		{"not blocked", unblocked, []string{"\nAggregates with poison: 3; ever blocked: 2.\n"}},
		{"not released", unreleased, []string{"\nAggregates blocked: 3; released: 2.\n"}},
		{"not told", unsent, []string{"\nAggregates blocked: 3; letters in the on-failure queue: 1.\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			if err := tc.result.write(&b); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("it lacks %q:\n%s", want, b.String())
				}
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if len(line) > 96 {
					t.Errorf("a long line: %q", line)
				}
			}
		})
	}
}

// TestDemoExtremes: the smallest and the most lopsided demos end, and end well.
func TestDemoExtremes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args    string
		blocked string
	}{
		{"--events 1 --aggregates 1 --poison 1", `"blocked":1,"letters":1,"redriven":1,`},
		{"--events 2 --aggregates 1", `"blocked":1,"letters":1,"redriven":1,`}, // the default is no more than there are
		{"--events 1 --aggregates 1 --poison 0", `"blocked":0,"letters":0,"redriven":0,`},
		{"--events 12 --aggregates 12 --poison 12 --hot 0", `"blocked":12,"letters":12,"redriven":12,`},
		{"--events 300 --aggregates 1 --poison 1 --hot 1 --shards 1", `"blocked":1,"letters":1,"redriven":1,`},
		{"--events 200 --aggregates 10 --poison 2 --hot 0.95", `"blocked":2,"letters":2,"redriven":2,`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			p := spawn(t, environment(t), append(strings.Fields("demo --output json --quiet "+tc.args+" --redriver"), redriver(t))...)
			if code := p.wait(); code != cli.Done || !strings.Contains(p.out.String(), tc.blocked) || !strings.Contains(p.out.String(), `"verified":true`) {
				t.Errorf("code %d, %s%s", code, p.out.String(), p.err.String())
			}
		})
	}
}

// TestDemoTellsItsStory: what a person sees of the incident.
func TestDemoTellsItsStory(t *testing.T) {
	t.Parallel()
	p := spawn(t, environment(t), "demo", "--events", "3000", "--redriver", redriver(t))
	if code := p.wait(); code != cli.Done {
		t.Fatalf("code %d, %s%s", code, p.out.String(), p.err.String())
	}
	for _, want := range []string{"$ dlq-redriver groups", "GiftWrapped", "the next release starts", "3 of 3 aggregates are released", "events wait by reference"} {
		if !strings.Contains(p.err.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, p.err.String())
		}
	}
	if !regexp.MustCompile(`aggregates blocked +3 `).MatchString(p.out.String()) {
		t.Errorf("stdout is %s", p.out.String())
	}
}

// TestPatience: what does not come ends the demo, and says how far it came.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := localaws.New(localaws.Options{KeepHistory: true})
		defer engine.Close() //nolint:errcheck // it returns nil
		i := &incident{engine: engine, queue: "none", flags: cli.Defaults("")}
		workers := &workers{processes: []*process{{number: 1, ended: make(chan struct{})}}}
		never := func() bool { return false }
		began := time.Now()
		err := i.until(t.Context(), workers, "it has come", never)
		if err == nil || time.Since(began) != incidentPatience || err.Error() != "after 1m0s it is still not so that it has come: 0 aggregates blocked, 0 letters accepted" {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		reason := errors.New("appending has failed")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(reason)
		if err := i.until(ctx, workers, "it has come", never); !errors.Is(err, reason) {
			t.Errorf("stopped, it says %v", err)
		}
		close(workers.processes[0].ended)
		if err := i.until(t.Context(), workers, "it has come", never); err == nil || !strings.Contains(err.Error(), "it ended by itself") {
			t.Errorf("with no worker left it says %v", err)
		}
	})
}

// TestDemoWithoutRedriver says what is missing before anything is started.
func TestDemoWithoutRedriver(t *testing.T) {
	t.Parallel()
	code, out, stderr := call(t, "demo")
	if code != cli.Usage || out != "" || !strings.Contains(stderr, "make build") || !strings.Contains(stderr, "--poison 0") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
}

// redriver builds the other program, once for all tests.
func redriver(t *testing.T) string {
	t.Helper()
	path, err := buildRedriver()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// redriverFolder is this process's own, and TestMain removes it.
func redriverFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("millrace-%d", os.Getpid()))
}

var buildRedriver = sync.OnceValues(func() (string, error) {
	path := filepath.Join(redriverFolder(), "dlq-redriver")
	build := []string{"build", "-buildvcs=false", "-o", path}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		build = append(build, "-race") // its packages are compiled already
	}
	out, err := exec.Command("go", append(build, "millrace/cmd/dlq-redriver")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building dlq-redriver: %w\n%s", err, out)
	}
	return path, nil
})
