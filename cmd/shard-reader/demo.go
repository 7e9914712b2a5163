package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"millrace/event"
	"millrace/internal/cli"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/service"
	"millrace/status"
)

type demoCommand struct {
	Events     int     `help:"Events to append." default:"20000"`
	Aggregates int     `help:"Aggregates they belong to." default:"200"`
	Hot        float64 `help:"Share of the events that belong to one hot aggregate, 0 to 1." default:"0.5"`
	Poison     *int    `help:"Aggregates with an event that the first release of the fold cannot apply, the hot one among them. Default: 3, or all if there are fewer." placeholder:"K"`
	Shards     int     `help:"Shards of the stream at the start." default:"4"`
	Seed       uint64  `help:"Seed of every random choice. Default: a random one, which is printed." placeholder:"N"`
	Output     string  `help:"table or json." enum:"table,json" default:"table"`
	Quiet      bool    `help:"No progress on stderr."`
	Verbose    bool    `help:"Show the workers' own logs."`
	Redriver   string  `hidden:"" help:"The dlq-redriver program. Default: the one beside this program."`
}

// demoLimit ends a demo that hangs: it is to be finite whatever happens.
const demoLimit = 10 * time.Minute

func (d demoCommand) check() error {
	switch {
	case d.Events < 1:
		return fmt.Errorf("--events is %d and must be at least 1", d.Events)
	case d.Aggregates < 1 || d.Aggregates > d.Events:
		return fmt.Errorf("--aggregates is %d and must be between 1 and the number of --events, %d", d.Aggregates, d.Events)
	case !(d.Hot >= 0 && d.Hot <= 1):
		return fmt.Errorf("--hot is %v and must be a share between 0 and 1", d.Hot)
	case d.poison() < 0 || d.poison() > d.Aggregates:
		return fmt.Errorf("--poison is %d and must be between 0 and the number of --aggregates, %d", d.poison(), d.Aggregates)
	case d.Shards < 1 || d.Shards > 1000:
		return fmt.Errorf("--shards is %d and must be between 1 and 1000", d.Shards)
	}
	return nil
}

// poison is how many aggregates get an event that the first release cannot
// apply.
func (d demoCommand) poison() int {
	if d.Poison != nil {
		return *d.Poison
	}
	return min(3, d.Aggregates)
}

// Help goes on where the verb's one line ends.
func (demoCommand) Help() string {
	return `It needs no AWS account and leaves nothing behind: an embedded stand-in for DynamoDB on a free port, writers, and a worker in a process of its own that is killed on the way.

The worker's first release has a fold that does not know one type of event. Its aggregates are blocked, letters go to an on-failure queue, and all others go on; then the next release starts, and dlq-redriver brings the blocked ones back beside live traffic.

Exit code 0 if all events took effect, each once and in order, else 1.`
}

// Run plays the demo and exits with 1 unless the proof holds.
func (d demoCommand) Run(c cli.Console, s cli.Stop) error {
	if err := d.check(); err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: err}
	}
	if d.Seed == 0 {
		d.Seed = rand.Uint64N(1_000_000) + 1
	}
	redriver, err := d.redriver()
	if err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: err}
	}
	ctx, cancel := context.WithTimeoutCause(s.Drain, demoLimit, fmt.Errorf("the demo has not come to its end within %v", demoLimit))
	defer cancel()
	result, err := d.play(ctx, newStage(c.Err, d.Quiet), redriver)
	if err != nil {
		if s.Drain.Err() != nil {
			return &cli.ExitError{Code: cli.Interrupted, Cause: errors.New("interrupted; nothing was kept, and no process is left")}
		}
		return err
	}
	if d.Output == "json" {
		err = cli.PrintJSON(c.Out, result)
	} else {
		err = result.write(c.Out)
	}
	if err == nil && !result.Verified {
		err = &cli.ExitError{Code: cli.Failed}
	}
	return err
}

// play is the demo: an engine with a port, a worker in a process of its own,
// an appender, a stream that changes shape, and a kill.
func (d demoCommand) play(ctx context.Context, show *stage, redriver string) (*demoResult, error) {
	engine := localaws.New(localaws.Options{Shards: d.Shards, Seed: d.Seed, Permute: 8, KeepHistory: true})
	defer engine.Close()                        //nolint:errcheck // it returns nil
	server, err := engine.Listen("127.0.0.1:0") //nolint:contextcheck // it is closed when the demo ends
	if err != nil {
		return nil, err
	}
	defer server.Close() //nolint:errcheck // the process ends
	flags := cli.Defaults(server.URL)
	flags.Group = "demo"
	if err := createTables(ctx, flags); err != nil {
		return nil, err
	}
	pipeline, err := cli.Look{Pipeline: flags}.Service(ctx)
	if err != nil {
		return nil, err
	}
	show.say("%s events of %s aggregates, %.0f%% of them on one, over %d shards; seed %d",
		cli.Grouped(d.Events), cli.Grouped(d.Aggregates), 100*d.Hot, d.Shards, d.Seed)
	show.say("an embedded stand-in for DynamoDB, and workers in processes of their own")

	traffic := newTraffic(d, pipeline.Events())
	workers := &workers{flags: flags, show: show, verbose: d.Verbose}
	var blocked *incident
	if d.poison() > 0 {
		if blocked, err = newIncident(ctx, engine, redriver, flags, show); err != nil {
			return nil, err
		}
		workers.flags.Fold, workers.queue = cli.BeforeGifts, blocked.queue
	}
	defer workers.killAll()
	if err := workers.start(); err != nil {
		return nil, err
	}
	r := &run{demo: d, engine: engine, pipeline: pipeline, traffic: traffic, workers: workers, show: show, blocked: blocked}
	return r.finish(ctx)
}

// run is one demo under way.
type run struct {
	demo     demoCommand
	engine   *localaws.Engine
	pipeline *service.Service
	traffic  *traffic
	workers  *workers
	show     *stage
	blocked  *incident // nil without poison
	changes  []string  // what happened to the stream
	held     string    // the shard whose records are held back; empty: none
}

// finish appends everything, waits until it is in effect, stops the worker
// gently and proves the result.
func (r *run) finish(ctx context.Context) (*demoResult, error) {
	began := time.Now()
	ticker := r.show.every(time.Second, func() {
		totals := r.workers.totals()
		r.show.status("appended %s  in effect %s  duplicates dropped %s  gaps filled %s  shards %d",
			cli.Grouped(r.traffic.appended.Load()), cli.Grouped(r.inEffect()), cli.Grouped(totals.Duplicates), cli.Grouped(totals.GapsFilled), len(r.engine.Shards("orders-events")))
	})
	defer ticker()
	appending := make(chan error, 1)
	trafficCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		err := r.traffic.append(trafficCtx)
		if err != nil {
			err = fmt.Errorf("appending: %w", err)
			stop(err) // no incident waits for events that do not come
		}
		appending <- err
	}()

	if err := r.incidents(trafficCtx); err != nil {
		stop(err)
		<-appending //nolint:errcheck // it was stopped for the incident, or is its reason
		return nil, err
	}
	if err := <-appending; err != nil {
		return nil, err
	}
	r.show.say("everything is appended; waiting until it is in effect")
	last, err := r.settled(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.workers.drain(ctx); err != nil {
		return nil, err
	}
	ticker()
	r.show.say("verifying: every item against the fold of its events")
	compared, err := r.pipeline.Verify(ctx, 0)
	if err != nil {
		return nil, err
	}
	return r.result(compared[0].Report, last.Sub(began)), nil
}

// inEffect is the sum of all positions in the read model.
func (r *run) inEffect() uint64 {
	var sum uint64
	for _, item := range r.engine.Items("orders-view") {
		sum += positionOf(item)
	}
	return sum
}

// settled waits until every version is in effect and says when that was. It
// gives up when nothing has moved for long.
func (r *run) settled(ctx context.Context) (time.Time, error) {
	const patience = time.Minute
	var sum uint64
	moved := time.Now()
	for {
		now := r.inEffect()
		if now >= uint64(r.demo.Events) {
			return r.lastWrite(), nil
		}
		if now != sum {
			sum, moved = now, time.Now()
		}
		if time.Since(moved) > patience {
			r.show.say("nothing has moved for %v; the proof will tell what is missing", patience)
			return r.lastWrite(), nil
		}
		if err := r.workers.alive(); err != nil {
			return time.Time{}, err
		}
		if err := jitter.Sleep(ctx, 20*time.Millisecond); err != nil {
			return time.Time{}, fmt.Errorf("waiting for the read model: %w", err)
		}
	}
}

func (r *run) lastWrite() time.Time {
	history := r.engine.History("orders-view")
	if len(history) == 0 {
		return time.Now()
	}
	return history[len(history)-1].At
}

// result judges: the items must be the folds, and no write may have moved a
// position by anything but forward.
func (r *run) result(report status.Report, took time.Duration) *demoResult {
	totals := r.workers.totals()
	writes := r.engine.History("orders-view")
	backward := 0
	for _, w := range writes {
		if positionOf(w.New) <= positionOf(w.Old) {
			backward++
		}
	}
	mismatches := report.Found() - report.Blocked + backward
	result := &demoResult{
		Schema: "millrace.demo/v1", Appended: r.traffic.appended.Load(), Applied: report.Events,
		Duplicates: totals.Duplicates, GapsFilled: totals.GapsFilled, ReadModelWrites: len(writes),
		Mismatches: mismatches, Seconds: took.Seconds(), Seed: r.demo.Seed,
		poison: r.demo.poison(), aggregates: report.Aggregates, changes: r.changes, report: report, backward: backward,
		shards: len(r.engine.Shards("orders-events")), restarts: r.workers.kills, takeover: r.workers.takeover(),
	}
	if r.blocked != nil {
		r.blocked.tell(result)
	}
	result.Verified = mismatches == 0 && result.Applied == result.Appended && report.Aggregates == r.traffic.aggregates && result.lack() == ""
	if took > 0 {
		result.EventsPerSecond = float64(result.Applied) / took.Seconds()
	}
	return result
}

func positionOf(item event.Item) uint64 {
	number, ok := item["lastProcessedVersion"].(event.Number)
	if !ok {
		return 0
	}
	var v uint64
	if _, err := fmt.Sscan(string(number), &v); err != nil {
		return 0
	}
	return v
}

// executable is this very program, which the workers run.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program to start workers with: %w", err)
	}
	return path, nil
}
