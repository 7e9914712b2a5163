package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/cli"
)

// TestHelp holds the help texts to testdata; -update writes them anew.
func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"root": {"--help"}, "run": {"run", "--help"}, "verify": {"verify", "--help"},
		"demo": {"demo", "--help"}, "local": {"local", "--help"}, "check": {"check", "--help"}, "explain": {"explain", "--help"}, "config": {"config", "schema", "--help"}, "healthcheck": {"healthcheck", "--help"}, "version": {"version", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := call(t, args...)
			if code != cli.Done || stderr != "" {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			for _, line := range strings.Split(out, "\n") {
				if len(line) > 80 {
					t.Errorf("wider than 80 columns: %q", line)
				}
			}
			file := filepath.Join("testdata", "help-"+name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if out != string(want) {
				t.Errorf("help is\n%s\nwant\n%s", out, want)
			}
		})
	}
}

// TestVersion: as a verb, and for those who look for a flag.
func TestVersion(t *testing.T) {
	for _, line := range []string{"version", "--version", "run --version"} {
		if code, out, stderr := call(t, strings.Fields(line)...); code != cli.Done || out != version+"\n" || stderr != "" {
			t.Errorf("%s: code %d, stdout %q, stderr %q", line, code, out, stderr)
		}
	}
}
