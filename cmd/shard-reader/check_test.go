package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"millrace/internal/cli"
	"millrace/service"
)

// TestCheckVerb: what a person reads, what a program reads, and the exit codes.
func TestCheckVerb(t *testing.T) {
	url := local(t)
	code, out, stderr := call(t, "check", "--local", "--endpoint-url", url)
	if code != cli.Done || stderr != "" || !strings.Contains(out, "ok    event table") || !strings.Contains(out, "A worker can do its work. Warnings: 1.") {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
	code, out, stderr = call(t, "check", "--local", "--endpoint-url", url, "--view", "no-such-view", "--output", "json")
	var result checkResult
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != cli.Unhealthy || stderr != "" {
		t.Fatalf("code %d, stdout %q, stderr %q, %v", code, out, stderr, err)
	}
	failed := 0
	for _, c := range result.Checks {
		if c.Verdict == service.Failed {
			failed++
			if c.Check != "sink no-such-view" || c.Hint == "" {
				t.Errorf("%+v", c)
			}
		}
	}
	if result.Schema != "millrace.check/v1" || failed != 1 || result.Failed != 1 || result.Warned != 1 {
		t.Errorf("%+v", result)
	}
	if code, _, stderr := call(t, "check", "--local", "--endpoint-url", url, "--view", "millrace"); code != cli.Usage || !strings.Contains(stderr, "the same table") {
		t.Errorf("a configuration that cannot be used: code %d, stderr %q", code, stderr)
	}
}

// TestConfigSchemaVerb prints what the documents have.
func TestConfigSchemaVerb(t *testing.T) {
	for file, args := range map[string][]string{"millrace": {"config", "schema"}, "fold": {"config", "schema", "--fold"}} {
		want, err := os.ReadFile("../../docs/" + file + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		if code, out, stderr := call(t, args...); code != cli.Done || out != string(want) || stderr != "" {
			t.Errorf("%s: code %d, stderr %q, %d bytes, want %d", file, code, stderr, len(out), len(want))
		}
	}
}
