package main

import (
	"strings"
	"syscall"
	"testing"

	"millrace/internal/cli"
)

// TestLocalCommand: the engine serves the command, and ends with its exit code.
func TestLocalCommand(t *testing.T) {
	t.Parallel()
	program, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	outside := environment(t, "AWS_PROFILE=production", "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1")
	for _, c := range []struct {
		name    string
		command []string
		code    int
		out     string
	}{
		{"a verb", []string{program, "verify", "--output", "table"}, cli.Done, "0 events: nothing to compare."},
		{"no profile from outside", []string{"sh", "-c", `echo "$AWS_ENDPOINT_URL,$AWS_PROFILE,$AWS_REGION"`}, cli.Done, ",,eu-central-1"},
		{"its code", []string{"sh", "-c", "exit 7"}, 7, ""},
		{"its signal", []string{"sh", "-c", "kill -9 $$"}, 128 + int(syscall.SIGKILL), ""},
		{"no such command", []string{"./no-such-command"}, cli.Usage, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := spawn(t, outside, append([]string{"local", "--"}, c.command...)...)
			if code := p.wait(); code != c.code || !strings.Contains(p.out.String(), c.out) {
				t.Errorf("code %d, want %d; stdout %q; stderr %q", code, c.code, p.out.String(), p.err.String())
			}
		})
	}
}

// TestLocalCommandSignal: the command is told to stop, and nobody is killed.
func TestLocalCommandSignal(t *testing.T) {
	t.Parallel()
	p := spawn(t, environment(t), "local", "--", "sh", "-c", `trap 'echo told; exit 9' TERM; echo ready; while :; do read line; done`)
	p.until("the command runs", func() bool { return strings.Contains(p.out.String(), "ready") })
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 9 || !strings.Contains(p.out.String(), "told") {
		t.Errorf("code %d, stdout %q", code, p.out.String())
	}
}
