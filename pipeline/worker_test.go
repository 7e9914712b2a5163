package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	control "millrace/checkpoint/dynamodb"
	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
	"millrace/sinks/sinktest"
	adapter "millrace/source/dynamodbstreams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	eventsTable  = "orders-events"
	controlTable = "millrace"
)

// world is one bubble's service: an engine with an event table and a control
// table, and a target in memory.
type world struct {
	t      *testing.T
	engine *localaws.Engine
	store  *eventstore.Store
	target *sinktest.Memory
	boots  int
}

func newWorld(t *testing.T, o localaws.Options, target sinktest.MemoryOptions) *world {
	t.Helper()
	o.KeepHistory = true
	if o.Latency == nil {
		o.Latency = func(localaws.Call) time.Duration { return 5 * time.Millisecond }
	}
	w := &world{t: t, engine: localaws.New(o), target: sinktest.NewMemory(target)}
	t.Cleanup(func() { _ = w.engine.Close() })
	w.store = w.eventStore("writer")
	if err := w.store.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.controlStore("setup", "setup").EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) eventStore(app string) *eventstore.Store {
	store, err := eventstore.New(eventstore.Options{
		Client: dynamodb.NewFromConfig(w.engine.Config(app)), Table: eventsTable, Layout: event.Orders(),
		Jitter: jitter.Source{Seed: 99},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return store
}

func (w *world) controlStore(app, boot string) *control.Store {
	return control.New(control.Options{Client: dynamodb.NewFromConfig(w.engine.Config(app)), Table: controlTable, Boot: boot})
}

func (w *world) identity(sink string) sinks.Identity {
	return sinks.Identity{Group: "g", Source: eventsTable, Sink: sink, Version: 1}
}

// worker makes a worker of one sink; change may alter its options.
func (w *world) worker(name string, change func(*pipeline.Options)) *pipeline.Worker {
	w.t.Helper()
	w.boots++
	name = fmt.Sprintf("%s.%d", name, w.boots)
	app := "millrace/g/" + name
	client, err := adapter.New(adapter.Options{
		Streams: dynamodbstreams.NewFromConfig(w.engine.Config(app)),
		Tables:  dynamodb.NewFromConfig(w.engine.Config(app)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	stream, err := client.Find(w.t.Context(), eventsTable)
	if err != nil {
		w.t.Fatal(err)
	}
	o := pipeline.Options{
		Group: "g", Worker: name, Stream: stream,
		Control: w.controlStore(app, name), Store: w.eventStore(app), Layout: event.Orders(),
		Sinks:  []pipeline.Sink{{Name: "view", Version: 1, Sink: w.target.Open(w.identity("view"))}},
		Jitter: jitter.Source{Seed: uint64(w.boots)},
		Log:    zerolog.Nop(),
	}
	if os.Getenv("MILLRACE_TEST_LOG") != "" {
		o.Log = zerolog.New(os.Stderr).With().Str("worker", name).Logger()
	}
	if change != nil {
		change(&o)
	}
	worker, err := pipeline.NewWorker(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return worker
}

// running is a worker under way.
type running struct {
	*pipeline.Worker
	stop, kill context.CancelFunc
	done       chan error
}

func (w *world) run(worker *pipeline.Worker) *running {
	ctx, stop := context.WithCancel(context.Background())
	abort, kill := context.WithCancel(context.Background())
	r := &running{Worker: worker, stop: stop, kill: kill, done: make(chan error, 1)}
	go func() { r.done <- worker.Run(ctx, abort) }()
	return r
}

// end stops a worker and returns what Run returned.
func (r *running) end() error {
	r.stop()
	err := <-r.done
	r.kill()
	return err
}

func (w *world) append(aggregate string, expected uint64, n int) {
	w.t.Helper()
	for i := range n {
		_, err := w.store.Append(w.t.Context(), aggregate, expected+uint64(i), eventstore.NewEvent{
			Type: "Happened", Time: time.Now(), Attributes: event.Item{"amount": event.Number("1")},
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// eventually waits in fake time until something holds.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", limit, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// applied checks that the versions 1..n of an aggregate took effect in order,
// each once.
func (w *world) applied(sink, aggregate string, n int) {
	w.t.Helper()
	got := w.target.Versions(w.identity(sink), aggregate)
	for i, v := range got {
		if v != uint64(i+1) {
			w.t.Fatalf("%s took effect as %v", aggregate, got)
		}
	}
	if len(got) != n {
		w.t.Fatalf("%s has %d versions in effect, want %d", aggregate, len(got), n)
	}
}

func (w *world) has(sink, aggregate string, n int) func() bool {
	return func() bool { return len(w.target.Versions(w.identity(sink), aggregate)) >= n }
}

func TestFromAppendToEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{}, sinktest.MemoryOptions{})
		w.append("a", 0, 10)
		r := w.run(w.worker("one", nil))
		w.append("b", 0, 5)
		w.append("a", 10, 5)
		eventually(t, 10*time.Second, "both aggregates applied", func() bool {
			return w.has("view", "a", 15)() && w.has("view", "b", 5)()
		})
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		w.applied("view", "a", 15)
		w.applied("view", "b", 5)
	})
}
