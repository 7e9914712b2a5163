package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/alecthomas/kong"
)

// version is set by the build.
var version = "dev"

// The workloads.
const (
	hot     = "hot"
	uniform = "uniform"
)

// history is what both processes must agree on.
type history struct {
	Workload   []string `default:"hot,uniform" enum:"hot,uniform" help:"Backlogs to measure: hot has all events on one aggregate, uniform spreads them. Default: both."`
	Events     int      `default:"100000" help:"Events of each backlog, from 1 on (${default})."`
	Size       int      `default:"300" help:"Bytes of an event's item, as DynamoDB counts them (${default})."`
	Aggregates int      `default:"10000" help:"Aggregates of the uniform backlog, from 1 on (${default})."`
}

func (h history) backlogs() []backlog {
	var all []backlog
	for _, w := range h.Workload {
		b := backlog{Workload: w, Events: h.Events, Size: h.Size, Aggregates: 1}
		if w == uniform {
			b.Aggregates = h.Aggregates
		}
		all = append(all, b)
	}
	return all
}

// Validate is called by kong.
func (h history) Validate() error {
	if h.Events < 1 || h.Aggregates < 1 {
		return errors.New("--events and --aggregates start at 1")
	}
	if least := (backlog{Events: h.Events}).least(); h.Size < least || h.Size > 100<<10 {
		return fmt.Errorf("--size is from %d, what the attributes need, to %d bytes", least, 100<<10)
	}
	return nil
}

// options of a measurement.
type options struct {
	history

	ProjectorEvents int           `default:"200" help:"Events the per-event projector takes: it is too slow for a backlog (${default})."`
	Latency         time.Duration `default:"5ms" help:"Of each call to a table, slept in the client; reading the stream has none (${default})."`
	Runs            int           `default:"3" help:"Rounds; each runs every contender once, and medians over the rounds are shown (${default})."`
	Output          string        `default:"table" enum:"table,json" help:"Form of the results: table or json (${default})."`
	Save            string        `type:"path" placeholder:"DIR" help:"Also write the results with their environment into this folder, as JSON and Markdown."`
	Profile         string        `type:"path" placeholder:"FILE" help:"Write a CPU profile of the worker's first run."`
}

// Validate is called by kong.
func (o options) Validate() error {
	if o.ProjectorEvents < 1 || o.Runs < 1 || o.Latency < 0 {
		return errors.New("--projector-events and --runs start at 1, --latency at 0s")
	}
	return nil
}

type command struct {
	Measure options `cmd:"" default:"withargs" help:"Measure and report."`
	Engine  history `cmd:"" hidden:"" help:"Fill the backlogs and serve them: the other process of a measurement."`
}

func main() {
	var c command
	parsed := kong.Parse(&c, kong.Name("hotpartition"), kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true}),
		kong.Description("Measures one hot partition: the product's worker against a per-event projector, and against a reader that throws every record away. Everything runs on this machine."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if parsed.Command() == "engine" {
		err = serveEngine(ctx, os.Stdin, os.Stdout, c.Engine.backlogs())
	} else {
		err = measure(ctx, c.Measure, startEngine, os.Stdout, os.Stderr)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hotpartition:", err)
		os.Exit(1)
	}
}

// measure starts an engine, runs the contests and reports.
func measure(ctx context.Context, o options, start func(context.Context, options) (remote, error), out, notes io.Writer) (err error) {
	began := time.Now()
	fmt.Fprintf(notes, "writing backlogs of %d events\n", o.Events)
	engine, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.end()) }()
	b := &bench{options: o, remote: engine, notes: notes}
	results, err := b.measure(ctx)
	if err != nil {
		return err
	}
	r := newReport(ctx, began, results)
	if o.Save != "" {
		if err := r.save(o.Save); err != nil {
			return err
		}
	}
	if o.Output == "json" {
		return r.json(out)
	}
	return r.table(out)
}
