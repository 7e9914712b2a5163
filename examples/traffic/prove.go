package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"millrace/service"
)

// counters are those of a worker's last line that the proof looks at.
type counters struct {
	Records uint64 `json:"records,string"` // of the stream, whatever they are
	Applied uint64 `json:"applied,string"`
}

// prove appends beside a worker process and compares what the worker made with
// what was appended.
func (f flags) prove(ctx context.Context, s *service.Service) error {
	if err := s.EnsureTables(ctx); err != nil {
		return err
	}
	before, err := s.Verify(ctx, 0)
	if err != nil {
		return err
	}
	for _, v := range before {
		if v.Aggregates > 0 {
			return fmt.Errorf("table %s has %d aggregates already: the proof counts, and needs new tables", v.Table, v.Aggregates)
		}
	}
	var out, log bytes.Buffer
	worker := exec.CommandContext(ctx, f.Worker, "run", "-c", f.Config, "--progress", "100ms") //nolint:gosec // it is the caller's
	worker.Stdout, worker.Stderr = &out, &log
	// It drains when told, and is killed only when it does not.
	worker.Cancel = func() error { return worker.Process.Signal(syscall.SIGTERM) }
	worker.WaitDelay = 30 * time.Second
	if err := worker.Start(); err != nil {
		return fmt.Errorf("starting the worker: %w", err)
	}
	appended, verified, err := f.compare(ctx, s)
	stopped := worker.Process.Signal(syscall.SIGTERM)
	if err := errors.Join(err, stopped, worker.Wait()); err != nil {
		return fmt.Errorf("%w; the worker said:\n%s", err, log.String())
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var last counters
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
		return fmt.Errorf("reading the worker's counters: %w", err)
	}
	events := uint64(appended.events.Load()) //nolint:gosec // a count
	fmt.Println(appended)
	if verified != events || last.Applied != events || last.Records < events {
		return fmt.Errorf("not proved: %d events in effect, %d applied, %d records", verified, last.Applied, last.Records)
	}
	fmt.Printf("proved: all %d events took effect, each once and in order; %d more records of the stream were no events\n", events, last.Records-events)
	return nil
}

// compare appends, and returns how many events are in effect once every item is
// the fold of its events.
func (f flags) compare(ctx context.Context, s *service.Service) (appended *done, events uint64, err error) {
	if appended, err = f.append(ctx, s.Events()); err != nil {
		return nil, 0, err
	}
	all, err := s.Verify(ctx, time.Minute)
	if err != nil {
		return nil, 0, err
	}
	for _, v := range all {
		if v.Found() > 0 {
			fmt.Fprintf(os.Stderr, "%s: %v\n", v.Sink, v.Findings)
			return nil, 0, fmt.Errorf("%d things in table %s are not as they should be", v.Found(), v.Table)
		}
		events += v.Events
	}
	return appended, events, nil
}
