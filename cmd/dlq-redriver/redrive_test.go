package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"millrace/internal/cli"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
)

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// TestDryRun says what would come of it, by folding, and changes nothing.
func TestDryRun(t *testing.T) {
	w := incident(t, 3, 1)
	before, writes := w.control(), len(w.engine.History(""))
	out := w.expect(cli.Partly, "redrive --all")
	for _, want := range []string{
		"A dry run: nothing is changed. 4 aggregates are selected, 8 versions wait.", "would release          3", "would fail             1",
		"AGGREGATES  WAITING  CLASS", "surprise-000  2", "With --execute it is done for 3 of 4; the others would fail again.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	for line, want := range map[string]string{
		"redrive gift-000":     "\nWith --execute it is done.\n",
		"redrive surprise-000": "\nWith --execute all of it would fail again: what it fails on is not fixed in this build or its configuration.\n",
	} {
		if _, out, _ := w.call(line); !strings.HasSuffix(out, want) {
			t.Errorf("%s ends otherwise than %q:\n%s", line, want, out)
		}
	}
	result := lines[redriveResult](t, w.expect(cli.Done, "redrive gift-000 gift-002 --output json"), "millrace.redrive/v1")[0]
	if result.Executed || result.Selected != 2 || result.WouldRelease != 2 || result.Waiting != 4 || len(result.Aggregates) != 2 {
		t.Errorf("it is %+v", result)
	}
	if a := result.Aggregates[1]; a != (aggregateLine{Sink: "orders-view", Aggregate: "gift-002", Outcome: "would-release", From: 1, To: 3}) {
		t.Errorf("an aggregate is %+v", a)
	}
	if after := w.control(); after != before || len(w.engine.History("")) != writes {
		t.Errorf("a dry run wrote: the control table was\n%s\nand is\n%s", before, after)
	}
}

// TestExecute: one group, then one by name with its limits, then what cannot be
// brought back; verify and exit codes say so.
func TestExecute(t *testing.T) {
	w := incident(t, 3, 1)
	groups := lines[groupLine](t, w.expect(cli.Done, "groups --output json"), "millrace.groups/v1")
	result := func(code int, line string, stderr ...string) redriveResult {
		t.Helper()
		return lines[redriveResult](t, w.expect(code, line+" --output json", stderr...), "millrace.redrive/v1")[0]
	}
	if out := w.expect(cli.Unhealthy, "verify --wait 0s"); !strings.Contains(out, "blocked                4") || !strings.Contains(out, "behind                 0") {
		t.Errorf("verify prints\n%s", out)
	}
	one := result(cli.Done, "redrive --fingerprint "+groups[0].Fingerprint+" --limit 1 --execute", "redriving 1 aggregates, 2 versions wait, at most 50 a second")
	if !one.Executed || one.Selected != 1 || one.Beyond != 2 || one.Released != 1 || one.Aggregates[0].Outcome != "released" || one.Aggregates[0].To != 3 {
		t.Errorf("with a limit it ended %+v", one)
	}
	if out := w.expect(cli.Done, "redrive --execute --rate 0 --fingerprint "+groups[0].Fingerprint, "without a limit"); !strings.Contains(out, "2 of 2 aggregates are released.") {
		t.Errorf("the group ended\n%s", out)
	}
	w.releasedOnce(3)
	failed := result(cli.Partly, "redrive --all --execute", "surprise-000 failed: ")
	if failed.Failed != 1 || failed.Released != 0 || !strings.Contains(failed.Aggregates[0].Error, "Surprise") {
		t.Errorf("the surprise ended %+v", failed)
	}
	list := lines[listLine](t, w.expect(cli.Done, "list --output json"), "millrace.list/v1")
	if len(list) != 1 || list[0].State != "blocked" || list[0].Fingerprint != groups[1].Fingerprint {
		t.Errorf("left are %+v", list)
	}
	w.expect(cli.Unhealthy, "verify --wait 0s")
}

// TestStops: the sample fails, the rest is left alone.
func TestStops(t *testing.T) {
	w := incident(t, 0, 12)
	out := w.expect(cli.Partly, "redrive --all --execute --rate 0", "surprise-")
	for _, want := range []string{"0 of 12 aggregates are released.", "failed                10", "untouched              2", "Stopped: 10 of 10 could not be released."} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
}

// TestFaults: a claim's answer is lost, the control table is throttled.
func TestFaults(t *testing.T) {
	w := incident(t, 4, 0)
	control := func(c localaws.Call) bool { return c.Table == w.flags.Control }
	w.engine.Inject(localaws.Fault{Do: localaws.LoseAnswer, Times: 1, Match: func(c localaws.Call) bool { return control(c) && c.Operation == "UpdateItem" }})
	w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Times: 60, Share: 0.25, Match: control})
	w.expect(cli.Done, "redrive --all --execute --rate 0", "redriving 4")
	w.releasedOnce(4)
	w.expect(cli.Done, "verify --wait 0s")
}

// spawn starts a command in a process of its own, which does not outlive the
// test.
func (w *world) spawn(line string) *process {
	w.t.Helper()
	program, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{cmd: exec.Command(program, w.args(line)...)} //nolint:noctx // it is killed at the test's end
	p.cmd.Env = []string{asCommand + "=1", "HOME=" + w.t.TempDir(), "AWS_EC2_METADATA_DISABLED=true"}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	wait := sync.OnceFunc(func() { _ = p.cmd.Wait() }) // the code is looked at
	p.wait = func() int {
		wait()
		return p.cmd.ProcessState.ExitCode()
	}
	w.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		wait()
	})
	return p
}

type process struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer // to be read after wait alone
	wait     func() int
}

// released waits until at least n aggregates are.
func (w *world) released(n int) {
	w.t.Helper()
	for range 3000 {
		if len(w.releases()) >= n {
			return
		}
		if err := jitter.Sleep(w.t.Context(), within/3000); err != nil {
			w.t.Fatal(err)
		}
	}
	w.t.Fatalf("only %d aggregates are released", len(w.releases()))
}

// TestTwoAtOnce: two operators, two processes, and each aggregate is released
// once.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := incident(t, 12, 0)
	line := "redrive --all --execute --rate 0 --output json"
	both := []*process{w.spawn(line), w.spawn(line)}
	sum := 0
	for _, p := range both {
		code := p.wait()
		result := lines[redriveResult](t, p.out.String(), "millrace.redrive/v1")[0]
		sum += result.Released
		if want := map[bool]int{true: cli.Done, false: cli.Partly}[result.Released == result.Selected]; code != want || result.Released+result.Left != result.Selected {
			t.Errorf("code %d, want %d: %s\n%s", code, want, p.out.String(), p.err.String())
		}
	}
	if sum != 12 {
		t.Errorf("the two say that they released %d", sum)
	}
	w.releasedOnce(12)
	w.expect(cli.Done, "verify --wait 0s")
}

// TestKillNine kills the redriver in the middle, twice, one of the times with a
// claim in its hand; the next one goes on.
func TestKillNine(t *testing.T) {
	t.Parallel()
	w := incident(t, 12, 0)
	p := w.spawn("redrive --all --execute --rate 20")
	w.released(3)
	_ = p.cmd.Process.Kill()
	if code := p.wait(); code != -1 {
		t.Fatalf("it had ended by itself, with code %d:\n%s", code, p.err.String())
	}

	remove := w.engine.Inject(localaws.Fault{Do: localaws.TimeOut, Match: func(c localaws.Call) bool { return c.Operation == "UpdateItem" && c.Table == w.flags.View }})
	p = w.spawn("redrive --all --execute --rate 0")
	claimed := func() int {
		n := 0
		for _, line := range lines[listLine](t, w.expect(cli.Done, "list --output json"), "millrace.list/v1") {
			if line.State == "redriving" {
				n++
			}
		}
		return n
	}
	for range 3000 {
		if claimed() > 0 {
			break
		}
		_ = jitter.Sleep(t.Context(), within/3000)
	}
	_ = p.cmd.Process.Kill()
	p.wait()
	remove()
	if claimed() == 0 {
		t.Fatal("no claim is left behind")
	}
	w.expect(cli.Done, "redrive --all --execute --rate 0", "redriving")
	w.releasedOnce(12)
	w.expect(cli.Done, "verify --wait 0s")
}

// TestInterrupted finishes what is under way and says how to go on.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := incident(t, 12, 0)
	p := w.spawn("redrive --all --execute --rate 5 --output json")
	w.released(2)
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != cli.Interrupted || !strings.Contains(p.err.String(), "the same command goes on with it") {
		t.Errorf("code %d, stderr %q", code, p.err.String())
	}
	result := lines[redriveResult](t, p.out.String(), "millrace.redrive/v1")[0]
	if result.Released < 2 || result.Untouched != 12-result.Released || len(w.releases()) != result.Released {
		t.Errorf("%d are released, and it says %+v", len(w.releases()), result)
	}
	for _, line := range lines[listLine](t, w.expect(cli.Done, "list --output json"), "millrace.list/v1") {
		if line.State != "blocked" {
			t.Errorf("a claim is left behind: %+v", line)
		}
	}
	w.expect(cli.Done, "redrive --all --execute --rate 0", "redriving")
	w.releasedOnce(12)
}
