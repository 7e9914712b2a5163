package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace/internal/cli"
	"millrace/internal/jitter"
)

// TestKillNineAtRandom kills the worker again and again, at moments drawn from
// a seed: some of them while it starts or waits for the leases of the one before,
// the others after it has gone on where that one had stopped. Whatever it was about, the read model is at no time
// anything but the fold of a prefix of its events.
func TestKillNineAtRandom(t *testing.T) {
	t.Parallel()
	const seed = 11
	kills := 20
	if testing.Short() {
		kills = 4
	}
	random := rand.New(rand.NewPCG(seed, 2))
	url := local(t)
	file := hasty(t)
	pipeline, err := cli.Look{Pipeline: cli.Pipeline{File: file, EndpointURL: url, Local: true}}.Service(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writer := write(t, pipeline.Events(), seed)
	worker := func() *proc { return work(t, url, "-c", file) }
	for n := range kills {
		p := worker()
		moment := time.Duration(random.IntN(1000)) * time.Millisecond
		if n%5 < 2 || n == kills-1 {
			p.applies()
			moment /= 5
		}
		if err := jitter.Sleep(t.Context(), moment); err != nil {
			t.Fatal(err)
		}
		p.kill()
		if code := p.cmd.ProcessState.ExitCode(); code != -1 {
			t.Fatalf("the worker had ended by itself before kill %d, with code %d:\n%s", n+1, code, p.err.String())
		}
		report, err := one(pipeline.Verify(t.Context(), 0))
		if err != nil {
			t.Fatal(err)
		}
		if report.Mismatches+report.Ahead+report.Missing > 0 {
			t.Fatalf("after kill %d: %+v", n+1, report)
		}
	}
	// So many that vanished have their successors read event by event; one that
	// stops gently ends that.
	gentle := worker()
	gentle.applies()
	gentle.signal(syscall.SIGTERM)
	gentle.wait()
	last := worker()
	last.applies()
	appended := writer.end()
	proof := spawn(t, environment(t), "verify", "-c", file, "--local", "--endpoint-url", url, "--wait", (within / 2).String(), "--output", "json")
	if code := proof.wait(); code != cli.Done {
		t.Fatalf("verify ends with code %d:\n%s%s", code, proof.out.String(), proof.err.String())
	}
	var report cli.VerifyResult
	if err := json.Unmarshal([]byte(proof.out.String()), &report); err != nil {
		t.Fatal(err)
	}
	if report.Schema != "millrace.verify/v1" || !report.Verified || report.Events != appended {
		t.Errorf("%d events were appended, verify says %s", appended, proof.out.String())
	}
	last.signal(syscall.SIGTERM)
	if code := last.wait(); code != cli.Done {
		t.Errorf("the last worker ends with code %d:\n%s", code, last.err.String())
	}
}

// local starts an engine in a process of its own, as its user does.
func local(t *testing.T) (url string) {
	t.Helper()
	p := spawn(t, environment(t), "local", "--listen", "127.0.0.1:0")
	p.until("the engine serves", func() bool { return len(p.out.whole()) >= 4 })
	name, url, _ := strings.Cut(p.out.whole()[0], "=")
	if name != "export AWS_ENDPOINT_URL" {
		t.Fatalf("it prints %q", p.out.String())
	}
	return url
}

// TestLocal: what it prints sets up a shell in which run and verify need no
// flag at all.
func TestLocal(t *testing.T) {
	t.Parallel()
	p := spawn(t, environment(t), "local", "--listen", "127.0.0.1:0", "--seed", "5", "--queue", "orders-failures")
	p.until("the engine serves", func() bool { return strings.Contains(p.err.String(), "shard-reader verify") })
	shell := environment(t)
	exports := p.out.whole()
	if len(exports) != 5 {
		t.Fatalf("stdout is %q", p.out.String())
	}
	for i, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		assignment, isExport := strings.CutPrefix(exports[i], "export ")
		got, value, _ := strings.Cut(assignment, "=")
		if !isExport || got != name || value == "" || strings.ContainsAny(value, " '\"$`;&|()<>\\*?") {
			t.Errorf("line %d is %q, want an export of %s that needs no quotes", i+1, exports[i], name)
		}
		shell = append(shell, assignment)
	}
	if !strings.Contains(p.err.String(), "seed 5") || !strings.Contains(p.err.String(), "never use it in production") {
		t.Errorf("stderr is %q", p.err.String())
	}
	verify := spawn(t, shell, "verify")
	if code := verify.wait(); code != cli.Done || !strings.Contains(verify.out.String(), "0 events: nothing to compare.") {
		t.Errorf("verify: code %d, stdout %q, stderr %q", code, verify.out.String(), verify.err.String())
	}
	run := spawn(t, shell, "run", "--queue", "orders-failures")
	run.until("a worker runs", func() bool { return strings.Contains(run.err.String(), "worker starts") })
	for _, want := range []string{
		`"group":"orders"`, `"events":"orders-events"`, `"sinks":[{"sink":"orders-view","version":1,"table":"orders-view","fold":"orders"}]`, `"control":"millrace"`,
		`"region":"eu-central-1"`, `"endpoint":"http://127.0.0.1:`, `"queue":"orders-failures"`,
	} {
		if !strings.Contains(run.err.String(), want) {
			t.Errorf("the first line lacks %s:\n%s", want, run.err.String())
		}
	}
	for _, process := range []*proc{run, p} {
		process.signal(os.Interrupt)
		if code := process.wait(); code != cli.Done {
			t.Errorf("code %d after an interrupt:\n%s", code, process.err.String())
		}
	}
	if run.out.String() != "" {
		t.Errorf("without --progress run prints %q", run.out.String())
	}
}

// alive reports whether a process is there.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(number)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

// hasty is the orders example's configuration with a short lease, so that a
// killed worker's shards are free soon.
func hasty(t *testing.T) string {
	t.Helper()
	example, err := os.ReadFile("../../examples/orders/millrace.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fold, err := filepath.Abs("../../examples/orders/fold.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("fold.yaml", fold, "duration: 10s, renew: 3s", "duration: 1s, renew: 300ms",
		"max_reads_per_second: 5", "max_reads_per_second: 0", "level: info", "level: warn").Replace(string(example))
	path := filepath.Join(t.TempDir(), "millrace.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
