// Command shard-reader reads an event store's DynamoDB stream and keeps read
// models, in order and once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker.
var version = "dev"

// The exit codes, the same for both of the project's commands.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnhealthy   = 5
	exitInterrupted = 130
)

const description = `Reads the DynamoDB stream of an event store, puts every aggregate's events in order, and keeps read models.

stdout is data, stderr is everything else. Exit codes: 0 done, 1 failed, 2 usage or configuration, 5 verify found differences, 130 interrupted.`

// exitError ends the program with a code of its own. Without a cause nothing
// is printed: the command has said it all.
type exitError struct {
	code  int
	cause error
}

func (e *exitError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.cause.Error()
}

func (e *exitError) Unwrap() error { return e.cause }

// commandLine is every verb that works.
type commandLine struct {
	Run     runCommand     `cmd:"" help:"Read the stream of an event table into a read model, until stopped."`
	Verify  verifyCommand  `cmd:"" help:"Compare every item of a read model with the fold of its events."`
	Demo    demoCommand    `cmd:"" help:"The whole way on this machine, with a worker killed on the way, and a proof at the end."`
	Local   localCommand   `cmd:"" help:"Run the embedded stand-in for DynamoDB in the foreground."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// console is where a command writes: data to out, everything else to err.
type console struct {
	out, err io.Writer
}

// stop tells a command to end: first gracefully, then at once.
type stop struct {
	drain, abort context.Context //nolint:containedctx // the two are handed down together, from main on
}

func main() { os.Exit(execute(os.Args[1:], console{out: os.Stdout, err: os.Stderr})) }

func execute(args []string, c console) int {
	var commands commandLine
	exited := -1
	parser, err := kong.New(&commands,
		kong.Name("shard-reader"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(c.out, c.err),
		kong.Exit(func(code int) { exited = code }),
	)
	if err != nil {
		fmt.Fprintln(c.err, "shard-reader:", err)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // help was asked for and printed
		return exited
	}
	if err != nil {
		fmt.Fprintf(c.err, "shard-reader: %v\n%s\n", err, advice(err))
		return exitUsage
	}
	drain, abort, done := signals()
	defer done()
	err = parsed.Run(c, stop{drain: drain, abort: abort})
	var coded *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &coded):
		if coded.cause != nil {
			fmt.Fprintln(c.err, "shard-reader:", coded.cause)
		}
		return coded.code
	case drain.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(c.err, "shard-reader: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(c.err, "shard-reader:", err)
	return exitFailed
}

// advice names the help that fits a command line that cannot be read.
func advice(err error) string {
	var unread *kong.ParseError
	if errors.As(err, &unread) {
		if verb := unread.Context.Selected(); verb != nil {
			return "Try shard-reader " + verb.Name + " --help."
		}
	}
	return "Try shard-reader --help."
}

// signals returns contexts that end with the first and the second SIGINT or
// SIGTERM.
func signals() (drain, abort context.Context, done func()) {
	drain, endDrain := context.WithCancel(context.Background())
	abort, endAbort := context.WithCancel(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, syscall.SIGINT, syscall.SIGTERM)
	finished := make(chan struct{})
	go func() {
		for _, end := range []context.CancelFunc{endDrain, endAbort} {
			select {
			case <-received:
				end()
			case <-finished:
				return
			}
		}
	}()
	return drain, abort, func() {
		signal.Stop(received)
		close(finished)
		endDrain()
		endAbort()
	}
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(c console) error {
	return printText(c.out, version+"\n")
}
