package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"millrace/internal/cli"
)

// workers are the demo's worker processes, one after the other.
type workers struct {
	flags   cli.Pipeline // the fold's name changes with a release
	queue   string       // the on-failure queue; empty: none
	show    *stage
	verbose bool

	mu        sync.Mutex
	processes []*process
	kills     int
	killed    time.Time
	resumed   time.Time // when the successor first held a shard
}

// process is one worker: this very program with the verb run.
type process struct {
	number  int
	started time.Time
	cmd     *exec.Cmd
	last    progress      // its newest line
	heard   chan struct{} // it has written a line
	ended   chan struct{}
	err     error
	logs    tail
}

// start starts a worker.
func (w *workers) start() error {
	program, err := executable()
	if err != nil {
		return err
	}
	w.mu.Lock()
	number := len(w.processes) + 1
	w.mu.Unlock()
	cmd := exec.Command(program, "run", "--local", //nolint:noctx // it is killed by name, and by killAll at the end
		"--endpoint-url", w.flags.EndpointURL, "--group", w.flags.Group,
		"--events", w.flags.Events, "--view", w.flags.View, "--control", w.flags.Control,
		"--fold", w.flags.Fold, "--queue", w.queue,
		// A short lease, so that the successor need not wait for long.
		"--lease", "3s", "--drain", "10s", "--reads-per-second", "0", "--progress", "100ms")
	cmd.Env = append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true")
	p := &process{number: number, started: time.Now(), cmd: cmd, heard: make(chan struct{}), ended: make(chan struct{})}
	if w.verbose {
		p.logs.copy = os.Stderr
	}
	cmd.Stderr = &p.logs
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting worker %d: %w", number, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting worker %d: %w", number, err)
	}
	w.mu.Lock()
	w.processes = append(w.processes, p)
	w.mu.Unlock()
	w.show.say("worker %d starts (process %d)", number, cmd.Process.Pid)
	go func() {
		defer close(p.ended)
		w.follow(p, lines)
		p.err = cmd.Wait()
	}()
	return nil
}

// follow reads a worker's progress until it ends.
func (w *workers) follow(p *process, lines io.Reader) {
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() {
		var line progress
		if json.Unmarshal(scanner.Bytes(), &line) != nil {
			continue // a line cut short by a kill
		}
		w.mu.Lock()
		if p.last.Schema == "" {
			close(p.heard)
		}
		if !w.killed.IsZero() && p.started.After(w.killed) && line.Shards > 0 && w.resumed.IsZero() {
			w.resumed = time.Now()
		}
		p.last = line
		w.mu.Unlock()
	}
}

// totals sums up what the workers told; what a killed one did in its last
// tenth of a second nobody heard.
func (w *workers) totals() progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum progress
	for _, p := range w.processes {
		sum.Duplicates += p.last.Duplicates
		sum.GapsFilled += p.last.GapsFilled
		sum.Applied += p.last.Applied
	}
	return sum
}

func (w *workers) current() *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.processes[len(w.processes)-1]
}

// works tells whether the worker that was started last holds a shard.
func (w *workers) works() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.processes[len(w.processes)-1].last.Shards > 0
}

// kill ends the worker as a crash does.
func (w *workers) kill() error {
	p := w.current()
	if err := p.cmd.Process.Kill(); err != nil {
		return p.failed(fmt.Errorf("killing it: %w", err))
	}
	<-p.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kills++
	w.killed = time.Now()
	return nil
}

// alive says why the worker has ended by itself, if it has.
func (w *workers) alive() error {
	p := w.current()
	select {
	case <-p.ended:
		return p.failed(p.err)
	default:
		return nil
	}
}

// drain stops the worker gently and expects it to end well.
func (w *workers) drain(ctx context.Context) error {
	p := w.current()
	select {
	case <-p.heard: // before its first line a signal could meet a program that is still starting, and kill it
	case <-p.ended:
		return p.failed(p.err)
	case <-ctx.Done():
		return fmt.Errorf("waiting for worker %d to start: %w", p.number, context.Cause(ctx))
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return p.failed(fmt.Errorf("stopping it: %w", err))
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		return fmt.Errorf("waiting for worker %d to stop: %w", p.number, context.Cause(ctx))
	}
	if p.err != nil {
		return p.failed(p.err)
	}
	w.show.say("worker %d has drained and stopped", p.number)
	return nil
}

// takeover is how long the shards stood still after the kill.
func (w *workers) takeover() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killed.IsZero() || w.resumed.IsZero() {
		return 0
	}
	return w.resumed.Sub(w.killed)
}

// killAll leaves no process behind, however the demo ends.
func (w *workers) killAll() {
	w.mu.Lock()
	processes := w.processes
	w.mu.Unlock()
	for _, p := range processes {
		_ = p.cmd.Process.Kill() // most have ended
		<-p.ended
	}
}

func (p *process) failed(err error) error {
	if err == nil {
		err = errors.New("it ended by itself")
	}
	return fmt.Errorf("worker %d failed: %w; its last words:\n%s", p.number, err, p.logs.String())
}

// tail keeps the end of what is written to it.
type tail struct {
	copy io.Writer
	mu   sync.Mutex
	kept []byte
}

const tailBytes = 4096

// Write keeps p's end.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.copy != nil {
		if _, err := t.copy.Write(p); err != nil {
			return 0, err
		}
	}
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = t.kept[over:]
		if _, rest, found := bytes.Cut(t.kept, []byte("\n")); found {
			t.kept = rest
		}
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
