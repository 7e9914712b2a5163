package sim

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"millrace/failure"
	markers "millrace/failure/dynamodb"
	"millrace/failure/redrive"
	"millrace/sinks"
)

// job is a redrive of everything that is blocked, by a process of its own that
// may meet its end, or stand still, at one of its calls.
type job struct {
	id     string
	old    bool // of the old build, whatever the time
	crash  int  // at which call; 0 for never
	lands  bool // the last call takes effect
	freeze time.Duration
	events int // of a run: the fewer, the longer it takes
	slow   time.Duration
}

// redrives are one job or two at once.
func (p *Plan) redrives(r *rand.Rand, n int, at time.Duration) []Step {
	var steps []Step
	for k := range pick(r, 1, 1, 2) {
		j := job{id: fmt.Sprintf("r%d%c", n, 'a'+k), old: r.IntN(4) == 0, events: pick(r, 1, 3, 1000)}
		j.slow = pick[time.Duration](r, 0, 1, 1) * time.Duration(r.Int64N(int64(500*time.Millisecond)))
		what := fmt.Sprintf("redriver %s starts, with runs of up to %d and calls that take %v", j.id, j.events, j.slow.Round(time.Millisecond))
		if j.old {
			what += ", of build 1"
		}
		switch r.IntN(4) {
		case 0:
			j.crash, j.lands = redriverCall(r), r.IntN(2) == 0
			what += fmt.Sprintf(", crashes at its call %d (which takes effect: %v) and starts again", j.crash, j.lands)
		case 1:
			j.crash, j.freeze = redriverCall(r), p.last(r, at, 25*time.Second)
			what += fmt.Sprintf(", freezes at its call %d for %v", j.crash, j.freeze.Round(time.Millisecond))
		}
		steps = append(steps, Step{min(at+time.Duration(k)*time.Duration(r.Int64N(int64(2*time.Second))), p.Quiet), what, func(w *world) {
			w.jobs.Go(func() { w.redrive(j) })
		}})
	}
	return steps
}

// redriverCall draws one of the calls on markers, store and target that follow
// the listings of both sinks' markers, which take 64 calls each.
func redriverCall(r *rand.Rand) int { return 1 + 2*64 + r.IntN(15) }

// redrive is one job to its end. One that crashed is started again.
func (w *world) redrive(j job) {
	for n := 1; w.life.Err() == nil; n++ {
		b := w.newest()
		if j.old {
			b = broken
		}
		p := w.newProcess(fmt.Sprintf("%s.%d", j.id, n), b)
		p.slow = j.slow
		if n == 1 && time.Since(w.began) < w.plan.Quiet {
			p.failAt(j.crash, j.lands, j.freeze)
		}
		p.redrive(j.events)
		if !p.hasCrashed() {
			return
		}
		pause(w.life, chance(w.plan.Seed).between(100*time.Millisecond, 5*time.Second, "redrive again", j.id, n))
	}
}

// redrive works on everything that is blocked, both sinks at once. What it
// cannot do is left for the next one.
func (p *process) redrive(events int) {
	defer p.kill()
	defer p.end()
	lists := map[string][]failure.Marker{}
	for _, sink := range []string{viewSink, logSink} {
		var err error
		if lists[sink], err = p.blocked(sink); err != nil {
			return
		}
	}
	var both sync.WaitGroup
	for sink, list := range lists {
		both.Go(func() { p.redriveSink(sink, list, events) })
	}
	both.Wait()
}

func (p *process) redriveSink(name string, list []failure.Marker, events int) {
	w := p.w
	store, err := w.eventStore(p.app)
	if err != nil {
		w.note("stop", p.id, "%v", err)
		return
	}
	target, err := p.open(name)
	if err != nil {
		w.note("stop", p.id, "%v", err)
		return
	}
	r := redrive.Redriver{
		Markers: p.markers(), Events: store, Sink: target, Job: p.id + "/" + name, RunEvents: events, Jitter: w.jitter("redrive", p.id+"/"+name),
	}
	for _, marker := range list {
		if _, err := r.Redrive(p.ctx, marker); err != nil {
			return // the process ends
		}
	}
}

// blocked lists what is blocked, as a command does: again while that fails.
func (p *process) blocked(sink string) (list []failure.Marker, err error) {
	store := p.w.markerStore(p.app)
	for try := range 5 {
		list, _, err = store.Standing(p.ctx, scope(sink))
		if err == nil || p.ctx.Err() != nil {
			return list, err
		}
		pause(p.ctx, chance(p.w.plan.Seed).between(time.Second, 5*time.Second, "list again", p.id, sink, try))
	}
	return nil, fmt.Errorf("listing markers: %w", err)
}

// open is the process's own way to a sink.
func (p *process) open(name string) (sinks.Sink, error) {
	if name == logSink {
		return &remote{sink: p.w.memory.target.Open(identity(logSink)), process: p}, nil
	}
	return p.w.view(p.app, p.build)
}

func (w *world) markerStore(app string) *markers.Store {
	return markers.New(markers.Options{Client: w.client(app), Table: controlTable})
}

func scope(sink string) failure.Scope {
	return failure.Scope{Group: group, Table: eventsTable, Sink: sink, SinkVersion: 1}
}

// operate is the operator once the cause is gone: job after job, until nothing
// is blocked.
func (w *world) operate() {
	for n := 1; w.life.Err() == nil && w.unsettled(false) != ""; n++ {
		w.redrive(job{id: fmt.Sprintf("op%d", n)})
		pause(w.life, chance(w.plan.Seed).between(time.Second, 4*time.Second, "operator", n))
	}
}
