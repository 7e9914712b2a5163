package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/cli"
	"millrace/internal/localaws"
)

// TestHealthcheckOfAWorker: of one that runs, and of one that does not run any
// more.
func TestHealthcheckOfAWorker(t *testing.T) {
	t.Parallel()
	_, url := serve(t, localaws.Options{Shards: 1})
	writer := write(t, wired(t, url).Events(), 3)
	worker := work(t, url, "--http", "127.0.0.1:0")
	served := regexp.MustCompile(`"address":"http://([^"]+)"`)
	worker.until("it serves", func() bool { return served.MatchString(worker.err.String()) })
	address := served.FindStringSubmatch(worker.err.String())[1]
	worker.until("it is healthy", func() bool {
		code, _, _ := call(t, "healthcheck", "--http", address)
		return code == cli.Done
	})
	worker.applies() // a stop before it works is an interruption
	writer.end()
	worker.signal(syscall.SIGTERM)
	if code := worker.wait(); code != cli.Done {
		t.Errorf("the worker's code %d", code)
	}
	if code, _, stderr := call(t, "healthcheck", "--http", address); code != cli.Unhealthy || !strings.Contains(stderr, "asking the worker on "+address) {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
}

// TestHealthcheckAnswers: what it makes of an answer, and of its own flags.
func TestHealthcheckAnswers(t *testing.T) {
	body, code := "", http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, body)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "millrace.yaml")
	text := "group: g\npipelines:\n  - name: p\n    stream: { table: e }\n    sinks: [{ name: v, readmodel: { table: v, fold: { go: orders } } }]\n"
	if err := os.WriteFile(file, []byte(text+"http: { listen: \":"+port+"\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	portless := filepath.Join(t.TempDir(), "portless.yaml")
	if err := os.WriteFile(portless, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const healthy, stuck = `{"schema":"millrace.health/v1","ok":true,"reasons":[]}`, `{"schema":"millrace.health/v1","ok":false,"reasons":["the reader of x has made no step for 2m"]}`
	for _, tc := range []struct {
		name   string
		body   string
		status int
		args   []string
		code   int
		says   string
	}{
		{"healthy", healthy, 200, []string{"--http", address}, cli.Done, ""},
		{"everywhere means here", healthy, 200, []string{"--http", "0.0.0.0:" + port}, cli.Done, ""},
		{"of a file", healthy, 200, []string{"-c", file}, cli.Done, ""},
		{"stuck", stuck, 503, []string{"--http", address}, cli.Unhealthy, "the reader of x has made no step"},
		{"somebody else", "hello", 200, []string{"--http", address}, cli.Unhealthy, "something else answers there (200 OK)"},
		{"a file without a port", healthy, 200, []string{"-c", portless}, cli.Usage, "has no http.listen"},
		{"nowhere", healthy, 200, nil, cli.Usage, "say where to ask"},
		{"twice", healthy, 200, []string{"-c", file, "--http", address}, cli.Usage, "only one of the two"},
		{"no address", healthy, 200, []string{"--http", "9464"}, cli.Usage, "no address and port"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body, code = tc.body, tc.status
			got, out, stderr := call(t, append([]string{"healthcheck"}, tc.args...)...)
			if got != tc.code || out != "" || !strings.Contains(stderr, tc.says) || (tc.says == "") != (stderr == "") {
				t.Errorf("code %d, stdout %q, stderr %q", got, out, stderr)
			}
		})
	}
}
