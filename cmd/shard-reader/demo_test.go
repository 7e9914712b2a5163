package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/cli"
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
	started := regexp.MustCompile(`worker \d+ starts \(process (\d+)\)`)
	for _, moment := range []string{"worker 1 starts", "a shard rolls over", "worker 2 starts"} {
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
			workers := started.FindAllStringSubmatch(p.err.String(), -1)
			if len(workers) == 0 {
				t.Fatalf("no worker is named: %q", p.err.String())
			}
			for _, worker := range workers {
				if alive(t, worker[1]) {
					t.Errorf("process %s is left", worker[1])
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
		aggregates: 200, shards: 12, restarts: 1, takeover: 3400 * time.Millisecond,
		changes: []string{"a shard rolls over: it is closed, a child goes on"},
	}
	bad := good
	bad.Verified, bad.Applied, bad.Mismatches, bad.backward = false, 19999, 2, 1
	bad.report = status.Report{Findings: []status.Finding{{Kind: "behind", Aggregate: "order-00001", Position: 4, Head: 5, Text: "1 versions are not in effect"}}}
	for _, tc := range []struct {
		name   string
		result demoResult
		want   []string
	}{
		{"verified", good, []string{
			"\nVERIFIED: all 20,000 events of 200 aggregates took effect, each once and in order.\n",
			"  read-model writes      5,200   3.8 events a write\n",
			"  workers killed             1   the successor went on after 3.4 s\n",
			"the same events and incidents again, in a timing of their own:\n  shard-reader demo --seed 7\n",
		}},
		{"not verified", bad, []string{
			"\nNOT VERIFIED: 19,999 of 20,000 events are in effect, and 2 things are not as they should be.\n",
			"1 writes moved a position by something else than forward.",
			"  behind order-00001: position 4 of 5: 1 versions are not in effect\n",
		}},
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
	for _, want := range []string{"$ dlq-redriver groups", "GiftWrapped", "the next release starts", "3 of 3 aggregates are released", "of their events wait by reference"} {
		if !strings.Contains(p.err.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, p.err.String())
		}
	}
	if !regexp.MustCompile(`aggregates blocked +3 `).MatchString(p.out.String()) {
		t.Errorf("stdout is %s", p.out.String())
	}
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

var buildRedriver = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "millrace")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "dlq-redriver")
	out, err := exec.Command("go", "build", "-o", path, "millrace/cmd/dlq-redriver").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building dlq-redriver: %w\n%s", err, out)
	}
	return path, nil
})
