// Command interop runs the local engine's conformance suite against moto, an
// independent implementation of the same AWS interfaces, so that the suite is
// not merely a mirror of the engine. Then it runs the orders example against it,
// with one event that the AWS command line appends.
//
// It starts moto_server on a free loopback port, runs the suite and stops the
// server. Where moto is not installed it says so and succeeds: moto is a second
// opinion, not a dependency.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// startTimeout bounds the wait for moto's first answer. It imports most of
// Python's AWS library first: seconds on an idle machine, much more on a busy one.
const startTimeout = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	moto, err := exec.LookPath("moto_server")
	if err != nil {
		fmt.Println(`SKIPPED: moto_server is not installed (pip install "moto[server]"). Nothing was compared.`)
		return nil
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return fmt.Errorf("looking for a free port: %w", err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("splitting %s: %w", address, err)
	}

	// The context ends the server on every way out of this function.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var output bytes.Buffer
	server := exec.CommandContext(ctx, moto, "-H", host, "-p", port)
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		return fmt.Errorf("starting moto: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = server.Wait() // the state below says the same, and success too
		cancel(fmt.Errorf("moto ended early: %s", server.ProcessState))
	}()
	defer func() {
		cancel(nil)
		<-exited
	}()

	if err := awaitAnswer(ctx, address); err != nil {
		cancel(nil)
		<-exited // output is moto's until it has ended
		return fmt.Errorf("waiting for moto: %w\n%s", err, output.Bytes())
	}
	suite := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=30m", "-run=^TestMoto$", "./internal/localaws/conformance")
	suite.Env = append(os.Environ(), "MILLRACE_MOTO_ENDPOINT=http://"+address)
	suite.Stdout, suite.Stderr = os.Stdout, os.Stderr
	if err := suite.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause // it killed the suite
		}
		return fmt.Errorf("running the suite: %w", err)
	}
	if err := orders(ctx, "http://"+address); err != nil {
		return fmt.Errorf("running the orders example against moto: %w", err)
	}
	return nil
}

// freeAddress asks the system for a loopback port. Another process may take it
// before moto does; moto then ends and the run fails, which a second run mends.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("closing the listener: %w", err)
	}
	return address, nil
}

// awaitAnswer returns when address accepts connections, or with the reason why
// it will not.
func awaitAnswer(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer on %s within %s", address, startTimeout))
	defer cancel()
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close() // nothing was sent
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-retry.C:
		}
	}
}
