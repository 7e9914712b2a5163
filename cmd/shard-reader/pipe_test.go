package main

import (
	"os"
	"syscall"
	"testing"

	"millrace/internal/cli"
	"millrace/internal/localaws"
)

// TestNobodyReadsTheProgress: whoever read the progress has gone, as head does
// after its lines. The worker works on, and drains when it is told to.
func TestNobodyReadsTheProgress(t *testing.T) {
	t.Parallel()
	_, url := serve(t, localaws.Options{Shards: 2})
	writer := write(t, wired(t, url).Events(), 5)
	reader, progress, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := spawnTo(t, environment(t), progress, "run", "--local", "--endpoint-url", url, "--progress", "20ms")
	for _, end := range []*os.File{reader, progress} {
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// A healthy report over no events at all would say nothing of the worker.
	p.until("events are appended", func() bool { return writer.appended.Load() > 50 })
	appended := writer.end()
	report, err := one(wired(t, url).Verify(t.Context(), within))
	if err != nil || !report.Healthy() || report.Events != appended {
		t.Errorf("%d events were appended: %+v, %v\n%s", appended, report, err, p.err.String())
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != cli.Done {
		t.Errorf("it ends with code %d:\n%s", code, p.err.String())
	}
}
