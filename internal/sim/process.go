package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/pipeline"
	adapter "millrace/source/dynamodbstreams"
)

// How the workers of every world are set up, by the product's defaults but for
// the last two.
const (
	lease = 10 * time.Second
	call  = 1500 * time.Millisecond
	stop  = 25 * time.Second
	// Sooner and fewer than by default: a world lasts minutes.
	sweep    = 15 * time.Second
	attempts = 2
)

// process is one life of a worker or a redriver, from its start to its crash or
// its end.
type process struct {
	w         *world
	id, app   string
	build     build
	slow      time.Duration // what each of its calls but listings takes longer
	transport *localaws.Transport
	gate      gate
	ctx       context.Context //nolint:containedctx // the process's own life, not a caller's
	end       context.CancelFunc
	abort     context.Context //nolint:containedctx // the same
	kill      context.CancelFunc

	mu      sync.Mutex
	failIn  int           // calls until it crashes or freezes; 0 for never
	pausing time.Duration // it freezes for so long; 0 when it crashes
	landing bool          // the last call before a crash takes effect
	crashed bool
	silent  bool // calls under way are lost without effect
	frozen  bool // was frozen once: its times say nothing
	told    time.Time
}

// keep lets one worker live and starts its successors until the world is over.
func (w *world) keep(slot int) {
	draw := chance(w.plan.Seed)
	w.sleep(draw.between(0, time.Second, "start", slot))
	for n := 1; w.life.Err() == nil; n++ {
		p := w.start(slot, n)
		// A stop amid faults may leave leases to expire, and says so.
		if err := p.run(); err != nil && !errors.Is(err, pipeline.ErrLeasesLeft) && !p.hasCrashed() {
			w.note("stop", p.id, "the worker ended with %v", err)
		}
		p.judgeEnd()
		w.mu.Lock()
		w.slots[slot] = nil
		w.mu.Unlock()
		pause(w.life, draw.between(100*time.Millisecond, 8*time.Second, "restart", slot, n))
	}
}

// pause sleeps unless the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (w *world) start(slot, n int) *process {
	p := w.newProcess(fmt.Sprintf("w%d.%d", slot, n), w.newest())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots[slot] = p
	return p
}

func (w *world) newProcess(id string, b build) *process {
	p := &process{w: w, id: id, app: application(id), build: b}
	p.transport = w.engine.Client(p.app)
	p.ctx, p.end = context.WithCancel(w.life)
	p.abort, p.kill = context.WithCancel(context.Background())
	context.AfterFunc(p.ctx, func() { // the moment from which a drain is timed
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.told.IsZero() {
			p.told = time.Now()
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes[p.app] = p
	return p
}

// run is main: it finds the stream, builds the worker and lets it work.
func (p *process) run() error {
	defer p.kill()
	defer p.end()
	client, err := adapter.New(adapter.Options{
		Streams: dynamodbstreams.NewFromConfig(p.w.engine.Config(p.app)),
		Tables:  dynamodb.NewFromConfig(p.w.engine.Config(p.app)),
	})
	if err != nil {
		return fmt.Errorf("making the stream's client: %w", err)
	}
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(p.ctx, call)
		stream, err := client.Find(ctx, eventsTable)
		cancel()
		if err == nil {
			return p.work(stream)
		}
		if p.ctx.Err() != nil || p.abort.Err() != nil {
			return nil
		}
		pause(p.ctx, chance(p.w.plan.Seed).between(100*time.Millisecond, time.Second, "find", p.id, try))
	}
}

func (p *process) work(stream pipeline.Stream) error {
	w := p.w
	store, err := w.eventStore(p.app)
	if err != nil {
		return err
	}
	o := pipeline.Options{
		Group: group, Worker: p.id, Stream: stream, Control: w.control(p.app, p.id), Store: store, Layout: event.Orders(),
		Markers: p.markers(), Table: eventsTable, Sweep: sweep, Attempts: attempts,
		Lease: lease, Call: call, Drain: stop, Jitter: w.jitter("worker", p.id),
	}
	for _, name := range []string{viewSink, logSink} {
		target, err := p.open(name)
		if err != nil {
			return err
		}
		if w.tamper.Sink != nil {
			target = w.tamper.Sink(target)
		}
		o.Sinks = append(o.Sinks, pipeline.Sink{Name: name, Version: 1, Sink: target, Parallel: 4})
	}
	if w.tamper.Control != nil {
		o.Control = w.tamper.Control(o.Control)
	}
	if w.tamper.Stream != nil {
		o.Stream = w.tamper.Stream(o.Stream)
	}
	worker, err := pipeline.NewWorker(o)
	if err != nil {
		return err
	}
	letters, err := p.letters()
	if err != nil {
		return err
	}
	sending, stop := context.WithCancel(context.WithoutCancel(p.ctx))
	var sender sync.WaitGroup
	defer sender.Wait()
	defer stop()
	sender.Go(func() { letters(sending) })
	return worker.Run(p.ctx, p.abort)
}

// markers is the process's own way to markers.
func (p *process) markers() pipeline.Markers {
	var m pipeline.Markers = p.w.markerStore(p.app)
	if p.w.tamper.Markers != nil {
		m = p.w.tamper.Markers(m)
	}
	return m
}

// failAt lets the process crash, or freeze for a time, at one of its calls.
func (p *process) failAt(calls int, landing bool, pausing time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failIn, p.landing, p.pausing = calls, landing, pausing
}

func (p *process) disarm() { p.failAt(0, false, 0) }

// called counts a call that the service has received.
func (p *process) called() {
	p.mu.Lock()
	now := false
	if p.failIn > 0 && !p.crashed {
		p.failIn--
		now = p.failIn == 0
	}
	pausing := p.pausing
	crash := now && pausing == 0
	if crash {
		p.crashed, p.silent, p.told = true, !p.landing, time.Now()
	}
	p.mu.Unlock()
	if now && !crash {
		p.freeze()
		time.AfterFunc(pausing, p.thaw)
	}
	if crash {
		p.transport.Cut()
		p.gate.open()
		p.kill()
		p.end()
	}
}

func (p *process) hasCrashed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed
}

func (p *process) silenced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent
}

func (p *process) freeze() {
	p.mu.Lock()
	p.frozen = true
	p.mu.Unlock()
	p.transport.Freeze()
	p.gate.shut()
}

func (p *process) thaw() {
	p.transport.Thaw()
	p.gate.open()
}

// judgeEnd checks that a worker ends when it is told to: within the drain's
// time, or at once where everything is cut short.
func (p *process) judgeEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen || p.told.IsZero() { // not told yet: it was quicker than our clock
		return
	}
	limit := stop + call
	if p.crashed {
		limit = 2 * call
	}
	if took := time.Since(p.told); took > limit {
		p.w.note("stop", p.id, "the worker ended %v after it was told to, at most %v are allowed (crashed: %v)", took, limit, p.crashed)
	}
}
