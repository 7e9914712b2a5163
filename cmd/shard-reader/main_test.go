package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace/internal/cli"
	"millrace/internal/jitter"
)

var update = flag.Bool("update", false, "write the golden files anew")

// asCommand has the test binary be the command itself, so that tests have real
// processes and nothing is built for them.
const asCommand = "MILLRACE_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "1" {
		os.Exit(execute(os.Args[1:], cli.Console{Out: os.Stdout, Err: os.Stderr}))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(redriverFolder())
		os.Exit(code)
	}))
}

// within is how long anything may take that is not itself about time: a busy
// machine of two cores is slow.
const within = 2 * time.Minute

// call runs a command line in this process.
func call(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = execute(args, cli.Console{Out: &stdout, Err: &stderr})
	http.DefaultTransport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	return code, stdout.String(), stderr.String()
}

// proc is a command in a process of its own.
type proc struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   lines
	err   lines
	ended chan struct{}
}

// environment is that of a machine on which nothing is set up for AWS.
func environment(t *testing.T, extra ...string) []string {
	t.Helper()
	nowhere := filepath.Join(t.TempDir(), "none")
	return append([]string{
		asCommand + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + nowhere,
		"AWS_CONFIG_FILE=" + nowhere, "AWS_SHARED_CREDENTIALS_FILE=" + nowhere, "AWS_EC2_METADATA_DISABLED=true",
	}, extra...)
}

// spawn starts a process, which does not outlive the test.
func spawn(t *testing.T, env []string, args ...string) *proc {
	t.Helper()
	return spawnTo(t, env, nil, args...)
}

// spawnTo starts one whose stdout is somebody else's, if out is not nil.
func spawnTo(t *testing.T, env []string, out *os.File, args ...string) *proc {
	t.Helper()
	program, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &proc{t: t, cmd: exec.Command(program, args...), ended: make(chan struct{})} //nolint:noctx // it is killed at the test's end
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, &p.out, &p.err
	if out != nil {
		p.cmd.Stdout = out
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the code is looked at
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *proc) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

func (p *proc) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signalling the process: %v\n%s", err, p.err.String())
	}
}

// wait returns the exit code.
func (p *proc) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		p.t.Fatalf("it does not end:\n%s", p.err.String())
		return -1
	}
}

// until polls for a condition that the process brings about.
func (p *proc) until(what string, condition func() bool) {
	p.t.Helper()
	err := eventually(p.t.Context(), func() (bool, error) {
		if condition() {
			return true, nil
		}
		select {
		case <-p.ended:
			return condition(), errors.New("the process has ended")
		default:
			return false, nil
		}
	})
	if err != nil {
		p.t.Fatalf("waiting until %s: %v\nstdout:\n%s\nstderr:\n%s", what, err, p.out.String(), p.err.String())
	}
}

// eventually polls until a condition holds.
func eventually(ctx context.Context, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it has not come within %v", within))
	defer cancel()
	for {
		if done, err := condition(); done || err != nil {
			return err
		}
		if err := jitter.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// lines is what a process has printed so far.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// whole are the lines that are complete.
func (l *lines) whole() []string {
	text := l.String()
	var all []string
	for scanner := bufio.NewScanner(strings.NewReader(text[:strings.LastIndex(text, "\n")+1])); scanner.Scan(); {
		all = append(all, scanner.Text())
	}
	return all
}
