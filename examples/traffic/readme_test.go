package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReadmes runs what each example's README tells the reader to type, on an
// engine of its own.
func TestReadmes(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "shard-reader")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../../cmd/shard-reader").CombinedOutput(); err != nil { //nolint:gosec // the test's own
		t.Fatalf("building: %v\n%s", err, out)
	}
	for _, c := range []struct{ name, noEvents string }{
		{"orders", "; 0 more records"}, {"bank", " more records"}, {"maintenance", " more records"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			blocks := shellBlocks(t, "../"+c.name+"/README.md")
			proof := strings.TrimPrefix(blocks[0], "make build\n")
			out := sh(t, strings.ReplaceAll(proof, "bin/shard-reader", bin))
			if !strings.Contains(out, "proved: all ") || !strings.Contains(out, c.noEvents) {
				t.Errorf("the proof's lines are %q", out)
			}
			if c.name != "orders" && strings.Contains(out, "; 0 more records") {
				t.Errorf("the stream shows nothing but events: %q", out)
			}
			worker, rest, _ := strings.Cut(blocks[1], "#")
			_, rest, _ = strings.Cut(rest, "\n")
			// The worker is not killed before verify has found its work.
			script := "set -e\n" + worker + "& worker=$!\n" + rest + "kill $worker\nwait $worker\n"
			steps := filepath.Join(t.TempDir(), "steps.sh")
			if err := os.WriteFile(steps, []byte(strings.ReplaceAll(script, "bin/shard-reader", bin)), 0o600); err != nil {
				t.Fatal(err)
			}
			if out := sh(t, bin+" local -- sh "+steps); !strings.Contains(out, "appended 50") {
				t.Errorf("the steps' lines are %q", out)
			}
		})
	}
}

// shellBlocks are the shell commands of a page, block by block.
func shellBlocks(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) < 2 {
		t.Fatalf("%s has %d blocks of shell commands", path, len(blocks))
	}
	return blocks
}

// sh runs a script in the project's root and returns its stdout.
func sh(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script) //nolint:gosec // what the README says
	var out, log bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = "../..", &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s\n%v\n%s%s", script, err, out.String(), log.String())
	}
	return out.String()
}

// TestUsage: what is wrong with a flag is told, and nothing is appended.
func TestUsage(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "go build -o \"$0\" . && \"$0\" bank --events 0; test $? = 2", //nolint:gosec // the test's own
		filepath.Join(t.TempDir(), "traffic")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--events is 0") {
		t.Errorf("%v: %q", err, out)
	}
}
