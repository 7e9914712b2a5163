package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"millrace/internal/cli"
)

// localEnvironment points any AWS client at an engine.
func localEnvironment(url string) []string {
	return []string{
		"AWS_ENDPOINT_URL=" + url, "AWS_REGION=eu-central-1", "AWS_DEFAULT_REGION=eu-central-1",
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
	}
}

// runOn runs a command on an engine and ends with its exit code, or with 128
// and the number of the signal that killed it, as a shell does.
func runOn(url string, command []string, c cli.Console, s cli.Stop) error {
	cmd := exec.CommandContext(s.Abort, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.Out, c.Err
	// What the shell says of AWS, such as a profile or the address of one
	// service, could lead some of the calls to a real account.
	outside := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	cmd.Env = append(append(outside, localEnvironment(url)...), "AWS_EC2_METADATA_DISABLED=true")
	// An interrupt is not passed on: Ctrl-C reaches all processes of a terminal,
	// and a worker that gets it twice stops at once.
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	defer signal.Stop(terminated)
	if err := cmd.Start(); err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: fmt.Errorf("starting the command: %w", err)}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case received := <-terminated:
			_ = cmd.Process.Signal(received) // it may have ended
		case err := <-ended:
			return exitOf(err)
		}
	}
}

// exitOf makes a command's end one's own.
func exitOf(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return &cli.ExitError{Code: code}
}
