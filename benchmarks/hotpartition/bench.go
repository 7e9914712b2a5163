package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"

	"millrace/projection"
	"millrace/projection/ordersview"
)

// bench runs contenders in turn, round by round, so that what else the machine
// does meets all of them.
type bench struct {
	options options
	remote  remote
	view    projection.Projection
	notes   io.Writer // what is under way
}

// contest is one contender on one workload.
type contest struct {
	backlog backlog
	who     contender
	events  int
}

// contests are those of one round, in their order. What a drain does is the
// same whatever the records say, so it runs on the hot backlog only.
func (o options) contests() []contest {
	var all []contest
	for _, b := range o.backlogs() {
		all = append(all, contest{b, product, b.Events}, contest{b, projector, min(o.ProjectorEvents, b.Events)})
		if b.Workload == hot {
			all = append(all, contest{b, drain, b.Events})
		}
	}
	return all
}

// measure returns the results of all rounds.
func (b *bench) measure(ctx context.Context) ([]result, error) {
	var err error
	if b.view, err = ordersview.Projection(); err != nil {
		return nil, err
	}
	var results []result
	for round := 1; round <= b.options.Runs; round++ {
		for _, c := range b.options.contests() {
			fmt.Fprintf(b.notes, "round %d of %d: %s, %s\n", round, b.options.Runs, c.backlog.Workload, c.who)
			done, err := b.once(ctx, c, round)
			if err != nil {
				return nil, err
			}
			results = append(results, b.result(c, round, done))
		}
	}
	return results, nil
}

// once makes one run and has it judged.
func (b *bench) once(ctx context.Context, c contest, round int) (run, error) {
	w := &world{
		remote: b.remote, backlog: c.backlog, view: b.view, latency: b.options.Latency,
		name: fmt.Sprintf("%s-%s-%d", c.backlog.Workload, c.who, round), meter: &meter{engine: b.remote.pid},
	}
	plain, err := w.sink(ctx, false)
	if err != nil {
		return run{}, err
	}
	if err := plain.EnsureTable(ctx); err != nil {
		return run{}, err
	}
	contend := func() error { return w.contend(ctx, c.who, c.events) }
	// What earlier runs left to collect is not this one's cost.
	runtime.GC()
	if b.options.Profile != "" && c.who == product && round == 1 && c.backlog.Workload == b.options.Workload[0] {
		err = profiled(b.options.Profile, contend)
	} else {
		err = contend()
	}
	if err != nil {
		return run{}, fmt.Errorf("running %s on %s: %w", c.who, c.backlog.Workload, err)
	}
	if c.who != drain {
		if err := w.judge(ctx, plain, c.events); err != nil {
			return run{}, fmt.Errorf("judging %s on %s: %w", c.who, c.backlog.Workload, err)
		}
	}
	return w.meter.run(c.events), nil
}

// profiled writes a CPU profile of what f does.
func profiled(name string, f func() error) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	defer pprof.StopCPUProfile()
	return f()
}

// result is one run as it is reported. What is not known is absent.
type result struct {
	Round    int       `json:"round"`
	Workload string    `json:"workload"`
	Size     int       `json:"size"`    // bytes of an event's item
	Latency  string    `json:"latency"` // of each call to the store
	Baseline contender `json:"baseline"`
	Events   int       `json:"events"`
	Seconds  float64   `json:"seconds"`

	EventsPerSecond      float64  `json:"eventsPerSecond"`
	CPUSecondsPerMillion *float64 `json:"cpuSecondsPerMillion,omitempty"` // events; this process only
	WritesPerEvent       *float64 `json:"writesPerEvent,omitempty"`       // to the read model

	EngineCores  *float64 `json:"engineCores,omitempty"`  // the local engine's CPU time a second
	ForeignCores *float64 `json:"foreignCores,omitempty"` // everybody else's
}

func (b *bench) result(c contest, round int, r run) result {
	seconds := r.end.at.Sub(r.start.at).Seconds()
	out := result{
		Round: round, Workload: c.backlog.Workload, Size: c.backlog.Size, Latency: b.options.Latency.String(), Baseline: c.who,
		Events: r.events, Seconds: rounded(seconds), EventsPerSecond: rounded(float64(r.events) / seconds),
	}
	per := func(d time.Duration, n float64) *float64 {
		v := rounded(d.Seconds() / n)
		return &v
	}
	process := r.end.process - r.start.process
	if r.start.timed && r.end.timed {
		out.CPUSecondsPerMillion = per(process, float64(r.events)/1e6)
	}
	if c.who != drain {
		writes := rounded(float64(r.writes) / float64(r.events))
		out.WritesPerEvent = &writes
	}
	if r.start.loaded && r.end.loaded {
		engine := r.end.engine - r.start.engine
		out.EngineCores = per(engine, seconds)
		out.ForeignCores = per(max(0, r.end.machine-r.start.machine-engine-process), seconds)
	}
	return out
}

// rounded keeps four digits: no figure here has more.
func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// median of a non-empty list.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
