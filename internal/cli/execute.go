package cli

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

// The exit codes, the same for all commands.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2 // or configuration
	Partly      = 3 // some of what was asked for is not done
	Refused     = 4 // a guard stands against it
	Unhealthy   = 5 // what was looked at is not as it should be
	Interrupted = 130
)

// ExitError ends the program with a code of its own. Without a cause nothing
// is printed: the command has said it all.
type ExitError struct {
	Code  int
	Cause error
}

// Error tells the cause.
func (e *ExitError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Cause.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Cause }

// Program is one of the commands.
type Program struct {
	Name        string
	Description string
	Version     string // of the build
}

// Console is where a command writes: data to Out, everything else to Err.
type Console struct {
	Out, Err io.Writer
}

// Stop tells a command to end: first gracefully, then at once.
type Stop struct {
	Drain, Abort context.Context //nolint:containedctx // the two are handed down together, from main on
}

// Execute reads a command line into commands, a pointer to a struct of verbs as
// kong describes them, runs the verb and returns the exit code. A verb's Run
// can ask for a Program, a Console and a Stop.
func Execute(p Program, commands any, args []string, c Console) int {
	exited := -1
	parser, err := kong.New(commands,
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": p.Version},
		kong.Writers(c.Out, c.Err),
		kong.Exit(func(code int) { exited = code }),
	)
	if err != nil {
		fmt.Fprintf(c.Err, "%s: %v\n", p.Name, err)
		return Usage
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // help or the version was asked for and printed
		return exited
	}
	if err != nil {
		fmt.Fprintf(c.Err, "%s: %v\n%s\n", p.Name, err, advice(p.Name, err))
		return Usage
	}
	drain, abort, done := signals()
	defer done()
	err = parsed.Run(p, c, Stop{Drain: drain, Abort: abort})
	var coded *ExitError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &coded):
		if coded.Cause != nil {
			fmt.Fprintf(c.Err, "%s: %v\n", p.Name, coded.Cause)
		}
		return coded.Code
	case drain.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintf(c.Err, "%s: interrupted\n", p.Name)
		return Interrupted
	}
	fmt.Fprintf(c.Err, "%s: %v\n", p.Name, err)
	return Failed
}

// advice names the help that fits a command line that cannot be read.
func advice(program string, err error) string {
	var unread *kong.ParseError
	if errors.As(err, &unread) {
		if verb := unread.Context.Selected(); verb != nil {
			return "Try " + program + " " + verb.Name + " --help."
		}
	}
	return "Try " + program + " --help."
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
