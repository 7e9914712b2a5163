package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"millrace/failure"
	"millrace/internal/cli"
	"millrace/pipeline"
	"millrace/service"
)

type runCommand struct {
	cli.Pipeline
	Latest         bool           `help:"A group that has never read this stream starts at its end, not at its oldest record."`
	CreateTables   bool           `help:"Create tables that are not there, on demand."`
	Queue          string         `help:"On-failure queue, name or URL, that is told of each blocked aggregate. Default: none; what is to be told stays in the control table." placeholder:"QUEUE"`
	Lease          *time.Duration `help:"How long a lease stands without a renewal. Default: 10s." placeholder:"DURATION"`
	Drain          *time.Duration `help:"Time from SIGTERM to the end, at most. Default: 25s." placeholder:"DURATION"`
	ReadsPerSecond *float64       `help:"Reads of one shard per second; 0 means no limit. Default: 5." placeholder:"N"`
	Parallel       *int           `help:"Writes to the read model at a time. Default: 64." placeholder:"N"`
	Progress       time.Duration  `help:"Print a JSON line of counters to stdout at this interval. Default: never." placeholder:"DURATION"`
	HTTP           string         `name:"http" help:"Address and port of /metrics, /healthz and /readyz, such as 127.0.0.1:9464. Default: none." placeholder:"ADDRESS"`
	LogLevel       string         `help:"debug, info, warn or error. Default: info." enum:",debug,info,warn,error" default:"" placeholder:"LEVEL"`
}

// Help goes on where the verb's one line ends.
func (runCommand) Help() string {
	return `One worker of a consumer group; a second one takes shards that nobody holds, and stands by for the rest: shards are not shared out evenly yet. What a worker leaves behind, however it ends, its successor goes on with.

An event that cannot be applied blocks its aggregate: it is put on record in the control table, everything else goes on, and dlq-redriver brings it back after the fix.

SIGTERM or SIGINT drains: nothing more is fetched, what is under way is finished, leases are handed back, exit code 0; 1 if some could not be, and are left to expire. A second signal stops at once, exit code 130.

Exit code 2 means that it cannot work as it is configured: no credentials, no such table, a stream without new images.`
}

func (r runCommand) check() error {
	given := r.Latest || r.Queue != "" || r.Lease != nil || r.Drain != nil || r.ReadsPerSecond != nil || r.Parallel != nil || r.LogLevel != "" || r.HTTP != ""
	switch {
	case r.File != "" && given:
		return errors.New("--config says how the worker works: of its own flags it takes --create-tables, --progress, and those that say where the services are")
	case r.Lease != nil && *r.Lease < time.Second:
		return fmt.Errorf("--lease is %v and must be at least 1s", *r.Lease)
	case r.Drain != nil && *r.Drain < 0:
		return fmt.Errorf("--drain is %v and must not be negative", *r.Drain)
	case r.ReadsPerSecond != nil && !(*r.ReadsPerSecond >= 0):
		return fmt.Errorf("--reads-per-second is %v and must not be negative; 0 means no limit", *r.ReadsPerSecond)
	case r.Parallel != nil && *r.Parallel < 1:
		return fmt.Errorf("--parallel is %d and must be at least 1", *r.Parallel)
	case r.Progress < 0:
		return fmt.Errorf("--progress is %v and must not be negative", r.Progress)
	}
	return nil
}

// config is the configuration with the verb's own flags.
func (r runCommand) config() (service.Config, error) {
	c, err := r.Config()
	if err != nil || r.File != "" {
		c.CreateTables = r.CreateTables
		return c, err
	}
	c.Latest, c.CreateTables, c.Queue, c.LogLevel, c.HTTP = r.Latest, r.CreateTables, r.Queue, r.LogLevel, r.HTTP
	c.Drain = 25 * time.Second
	set(&c.Lease, r.Lease)
	set(&c.Drain, r.Drain)
	set(&c.Sinks[0].Parallel, r.Parallel)
	if set(&c.ReadsPerSecond, r.ReadsPerSecond); r.ReadsPerSecond != nil && *r.ReadsPerSecond == 0 {
		c.ReadsPerSecond = -1
	}
	return c, nil
}

// set takes a flag's value if it was given.
func set[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}

// Run runs a worker until it is told to stop.
func (r runCommand) Run(c cli.Console, s cli.Stop) error {
	if err := r.check(); err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: err}
	}
	// Whoever reads the progress or the log may go away, and a write to a closed
	// pipe would then kill the worker without a drain.
	signal.Ignore(syscall.SIGPIPE)
	config, err := r.config()
	if err != nil {
		return err
	}
	level, err := zerolog.ParseLevel(cmp.Or(config.LogLevel, "info"))
	if err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: err}
	}
	zerolog.TimeFieldFormat = time.RFC3339Nano
	log := zerolog.New(c.Err).Level(level).With().Timestamp().Logger()
	config.Build, config.Log = version, log
	wired, err := cli.Wire(s.Drain, config)
	if err != nil {
		return err
	}
	defer context.AfterFunc(s.Drain, func() {
		log.Info().Dur("atMost", config.Drain).Msg("stopping: what is under way is finished; a second signal stops at once")
	})()
	started := false
	err = wired.Workers(s.Drain, func(worker *pipeline.Worker) error {
		started = true
		r.tellStart(log, wired, config)
		return r.work(c, s, wired, worker, log)
	})
	switch {
	case !started:
		return cli.Configured(err)
	case errors.Is(err, pipeline.ErrLeasesLeft) && s.Abort.Err() != nil:
		return &cli.ExitError{Code: cli.Interrupted, Cause: errors.New("stopped at once; the leases expire by themselves, and what was under way is read again")}
	}
	return err
}

// tellStart says what works on what: of a wrong name or place nothing else tells
// as soon.
func (r runCommand) tellStart(log zerolog.Logger, wired *service.Service, config service.Config) {
	region, endpoint := wired.Place()
	list := zerolog.Arr()
	for _, sink := range wired.Sinks() {
		told := zerolog.Dict().Str("sink", sink.Name).Int("version", sink.Version)
		if m := sink.ReadModel; m != nil {
			told = told.Str("table", m.Table)
			if m.Fold != "" { // else it is the file's
				told = told.Str("fold", m.Fold)
			}
		}
		list.Dict(told)
	}
	line := log.With().Str("version", version).Str("group", config.Group).Str("events", config.Events).Array("sinks", list).
		Str("control", config.Control).Str("region", region).
		Str("endpoint", cmp.Or(endpoint, "AWS")).Str("queue", cmp.Or(config.Queue, "none"))
	if r.File != "" {
		line = line.Str("config", r.File)
	}
	started := line.Logger()
	started.Info().Msg("worker starts")
}

// work runs one worker from its first line of the log to its last.
func (r runCommand) work(c cli.Console, s cli.Stop, wired *service.Service, worker *pipeline.Worker, log zerolog.Logger) error {
	report := func() {}
	if r.Progress > 0 {
		report = startProgress(c.Out, func() progress { return progressOf(wired, worker) }, r.Progress)
	}
	err := wired.Work(s.Drain, s.Abort, worker)
	report()
	stats := worker.Stats()
	log.Info().Uint64("records", stats.Records).Uint64("applied", stats.Applied).Uint64("duplicates", stats.Duplicates).
		Uint64("gapsFilled", stats.GapsFilled).Uint64("blocked", stats.Blocked).Int("pending", stats.Pending).Msg("worker ends")
	return err
}

// progress is one line of counters. 64-bit numbers are text: many readers of
// JSON keep 53 bits.
type progress struct {
	Schema      string `json:"schema"`
	Records     uint64 `json:"records,string"`
	Applied     uint64 `json:"applied,string"`
	Duplicates  uint64 `json:"duplicates,string"`
	GapsArrived uint64 `json:"gapsArrived,string"`
	GapsFilled  uint64 `json:"gapsFilled,string"`
	Runs        uint64 `json:"runs,string"`
	Retries     uint64 `json:"retries,string"`
	Trimmed     uint64 `json:"trimmed,string"`
	Violations  uint64 `json:"violations,string"`
	Unroutable  uint64 `json:"unroutable,string"`
	Blocked     uint64 `json:"blocked,string"` // aggregates, by this worker since its start; dlq-redriver has those of all
	Shards      int    `json:"shards"`
	Pending     int    `json:"pending"`
	Troubles    int    `json:"troubles"`
	// Paused names the sinks that are paused, an empty list when none is; "*" is
	// all of them, and PausedReason says why: layout.
	Paused       []string `json:"paused"`
	PausedReason string   `json:"pausedReason,omitempty"`
	lettersProgress
}

func progressOf(wired *service.Service, w *pipeline.Worker) progress {
	s := w.Stats()
	return progress{
		lettersProgress: lettersOf(wired),
		Schema:          "millrace.progress/v1", Records: s.Records, Applied: s.Applied, Duplicates: s.Duplicates,
		GapsArrived: s.GapsArrived, GapsFilled: s.GapsFilled, Runs: s.Runs, Retries: s.Retries, Trimmed: s.Trimmed,
		Violations: s.Violations, Unroutable: s.Unroutable, Blocked: s.Blocked, Shards: s.Shards, Pending: s.Pending, Troubles: len(w.Troubles()),
		Paused: pausedOf(s), PausedReason: s.PausedReason,
	}
}

// pausedOf are the sinks that take nothing at present.
func pausedOf(s pipeline.Stats) []string {
	if s.PausedReason != "" {
		return []string{failure.EverySink}
	}
	return append([]string{}, s.PausedSinks...)
}

// startProgress prints a line at each interval, and a last one when the
// function it returns is called.
func startProgress(out io.Writer, now func() progress, every time.Duration) (end func()) {
	encoder := json.NewEncoder(out)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				_ = encoder.Encode(now()) // whoever reads may be gone by now
				return
			}
			if encoder.Encode(now()) != nil {
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
