package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"millrace/checkpoint"
	control "millrace/checkpoint/dynamodb"
	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
	"millrace/sinks/sinktest"
	"millrace/source"
	adapter "millrace/source/dynamodbstreams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	eventsTable  = "orders-events"
	controlTable = "millrace"
)

// world is one bubble's service: an engine with an event table and a control
// table, and a target in memory that fails as it is told.
type world struct {
	t      *testing.T
	engine *localaws.Engine
	store  *eventstore.Store
	target *sinktest.Memory
	faults *targetFaults
	log    io.Writer // of the workers
	boots  int
	heads  map[string]uint64
	taps   map[string]*tap // by application; see config
}

func newWorld(t *testing.T, o localaws.Options) *world {
	t.Helper()
	o.KeepHistory = true
	if o.Latency == nil {
		o.Latency = func(localaws.Call) time.Duration { return 5 * time.Millisecond }
	}
	w := &world{t: t, engine: localaws.New(o), faults: newTargetFaults(), heads: map[string]uint64{}, log: io.Discard}
	if os.Getenv("MILLRACE_TEST_LOG") != "" {
		w.log = os.Stderr
	}
	w.target = sinktest.NewMemory(w.faults.options())
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

// config makes an application's clients, which call through its tap if it has
// one.
func (w *world) config(app string) aws.Config {
	config := w.engine.Config(app)
	if tap := w.taps[app]; tap != nil {
		config.HTTPClient = tap
	}
	return config
}

func (w *world) eventStore(app string) *eventstore.Store {
	store, err := eventstore.New(eventstore.Options{
		Client: dynamodb.NewFromConfig(w.config(app)), Table: eventsTable, Layout: event.Orders(),
		Jitter: jitter.Source{Seed: 99},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return store
}

func (w *world) controlStore(app, boot string) *control.Store {
	return control.New(control.Options{Client: dynamodb.NewFromConfig(w.config(app)), Table: controlTable, Boot: boot})
}

func identity(sink string) sinks.Identity {
	return sinks.Identity{Group: "g", Source: eventsTable, Sink: sink, Version: 1}
}

// memory is a pipeline's sink that writes to the world's target.
func (w *world) memory(name string) pipeline.Sink {
	return pipeline.Sink{Name: name, Version: 1, Sink: w.target.Open(identity(name))}
}

// options are those of a worker of one sink, named view.
func (w *world) options(name string) (app string, o pipeline.Options) {
	w.t.Helper()
	w.boots++
	name = fmt.Sprintf("%s.%d", name, w.boots)
	app = "millrace/g/" + name
	client, err := adapter.New(adapter.Options{
		Streams: dynamodbstreams.NewFromConfig(w.config(app)),
		Tables:  dynamodb.NewFromConfig(w.config(app)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	stream, err := client.Find(w.t.Context(), eventsTable)
	if err != nil {
		w.t.Fatal(err)
	}
	return app, pipeline.Options{
		Group: "g", Worker: name, Stream: stream,
		Control: w.controlStore(app, name), Store: w.eventStore(app), Layout: event.Orders(),
		Sinks:  []pipeline.Sink{w.memory("view")},
		Jitter: jitter.Source{Seed: uint64(w.boots)},
		Log:    zerolog.New(w.log).With().Str("worker", name).Logger(),
	}
}

// running is a worker under way.
type running struct {
	*pipeline.Worker
	t          *testing.T
	name, app  string
	engine     *localaws.Engine
	stop, kill context.CancelFunc
	done       chan error
}

// start runs a worker; change may alter its options.
func (w *world) start(name string, change ...func(*pipeline.Options)) *running {
	w.t.Helper()
	app, o := w.options(name)
	for _, c := range change {
		c(&o)
	}
	worker, err := pipeline.NewWorker(o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	abort, kill := context.WithCancel(context.Background())
	r := &running{
		Worker: worker, t: w.t, name: o.Worker, app: app, engine: w.engine,
		stop: stop, kill: kill, done: make(chan error, 1),
	}
	go func() {
		r.done <- worker.Run(ctx, abort)
		close(r.done)
	}()
	// A bubble does not end before its goroutines have, also when a test fails.
	w.t.Cleanup(r.crash)
	return r
}

// end drains a worker, which must return without an error.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Fatalf("the worker returned %v", err)
	}
	r.kill()
}

// endsLeaving ends a worker that cannot release its leases.
func (r *running) endsLeaving(leases int) {
	r.t.Helper()
	r.stop()
	want := fmt.Sprintf("%d leases are left to expire", leases)
	if err := <-r.done; !errors.Is(err, pipeline.ErrLeasesLeft) || !strings.Contains(err.Error(), want) {
		r.t.Errorf("the worker returned %v, want that %s", err, want)
	}
	r.kill()
}

// crash ends a worker between two of its calls, as the death of its process
// does: nothing of it reaches the service any more.
func (r *running) crash() {
	r.engine.Client(r.app).Cut()
	r.kill()
	r.stop()
	for range r.done { // a crash has no outcome; it ends when the worker has
	}
}

func happened() eventstore.NewEvent {
	return eventstore.NewEvent{Type: "Happened", Time: time.Now(), Attributes: event.Item{"amount": event.Number("1")}}
}

// append writes n more events of an aggregate, each by itself.
func (w *world) append(aggregate string, n int) {
	w.t.Helper()
	for range n {
		w.write(aggregate, w.heads[aggregate], happened())
	}
}

// write appends events behind a version that need not be there.
func (w *world) write(aggregate string, after uint64, events ...eventstore.NewEvent) {
	w.t.Helper()
	head, err := w.store.Append(w.t.Context(), aggregate, after, events...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.heads[aggregate] = max(w.heads[aggregate], head)
}

// bulk writes n more events of an aggregate, a hundred at a time.
func (w *world) bulk(aggregate string, n int) {
	w.t.Helper()
	for n > 0 {
		events := make([]eventstore.NewEvent, min(n, 100))
		for i := range events {
			events[i] = happened()
		}
		w.write(aggregate, w.heads[aggregate], events...)
		n -= len(events)
	}
}

// eventually waits in fake time until something holds, and returns how long
// that took.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !holds() {
		if time.Since(start) > limit {
			t.Fatalf("after %v still not: %s", limit, what)
		}
		<-time.After(20 * time.Millisecond)
	}
	return time.Since(start)
}

// during checks through some fake time that something holds.
func during(t *testing.T, d time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); <-time.After(200 * time.Millisecond) {
		if !holds() {
			t.Fatalf("not any more: %s", what)
		}
	}
}

// has reports whether an aggregate's first n versions are in effect.
func (w *world) has(sink, aggregate string, n uint64) bool {
	return uint64(len(w.target.Versions(identity(sink), aggregate))) >= n
}

// caughtUp reports whether every version appended is in effect in view.
func (w *world) caughtUp() bool {
	for aggregate, head := range w.heads {
		if !w.has("view", aggregate, head) {
			return false
		}
	}
	return true
}

// applied checks that the versions 1..n of an aggregate took effect in order,
// each once, and nothing else.
func (w *world) applied(sink, aggregate string, n uint64) {
	w.t.Helper()
	got := w.target.Versions(identity(sink), aggregate)
	for i, v := range got {
		if v != uint64(i+1) {
			w.t.Fatalf("%s took effect as %v", aggregate, got)
		}
	}
	if uint64(len(got)) != n {
		w.t.Fatalf("%s has %d versions in effect, want %d", aggregate, len(got), n)
	}
}

// wholly checks what every scenario must end with: each version appended took
// effect once and in order, every row speaks for its shard's end or its last
// record, and no shard ever had two readers at once.
func (w *world) wholly() {
	w.t.Helper()
	for aggregate, head := range w.heads {
		w.applied("view", aggregate, head)
	}
	w.atTheEnd()
	w.oneReader()
}

// atTheEnd checks that no row is behind the last record of its shard.
func (w *world) atTheEnd() {
	w.t.Helper()
	last := map[source.ShardID]event.SequenceNumber{}
	for _, c := range w.engine.History(eventsTable) {
		id, n := source.ShardID(c.Shard), event.SequenceNumber(c.Sequence)
		if last[id].Compare(n) < 0 { // not the order in which they were written
			last[id] = n
		}
	}
	for id, row := range w.leases() {
		want := source.Start{Kind: source.AfterSequence, Sequence: last[id]}
		switch {
		case row.State == checkpoint.Finished:
			want = source.Start{Kind: source.ShardEnd}
		case last[id] == "":
			continue
		}
		if row.Checkpoint != want && row.Checkpoint.Kind != source.ShardEnd {
			w.t.Errorf("shard %s: the checkpoint is %+v, want %+v", id, row.Checkpoint, want)
		}
	}
}

// oneReader checks that no shard had two readers at the same time.
func (w *world) oneReader() {
	w.t.Helper()
	for id, c := range w.engine.Counters().Shards {
		if c.ReadersAtOnce > 1 {
			w.t.Errorf("shard %s had %d readers at the same time", id, c.ReadersAtOnce)
		}
	}
}

// leases are the group's rows, by shard.
func (w *world) leases() map[source.ShardID]checkpoint.Lease {
	w.t.Helper()
	rows, err := w.controlStore("check", "check").List(w.t.Context(), "g", eventsTable)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[source.ShardID]checkpoint.Lease{}
	for _, row := range rows {
		out[row.Key.Shard] = row
	}
	return out
}

// owners are the owners of the rows that are not finished, by shard.
func (w *world) owners() map[source.ShardID]string {
	out := map[source.ShardID]string{}
	for id, row := range w.leases() {
		if row.State != checkpoint.Finished {
			out[id] = row.Owner
		}
	}
	return out
}

// owned reports whether every shard has a row, and each that is not finished
// this owner.
func (w *world) owned(by string) func() bool {
	return func() bool {
		owners := w.owners()
		for _, owner := range owners {
			if owner != by {
				return false
			}
		}
		return len(owners) > 0 && len(w.leases()) == len(w.engine.Shards(eventsTable))
	}
}

// shard is the id of the first open shard.
func (w *world) shard() string {
	w.t.Helper()
	for _, s := range w.engine.Shards(eventsTable) {
		if !s.Closed {
			return s.ID
		}
	}
	w.t.Fatal("no shard is open")
	return ""
}

// calls counts the calls of one kind, by an application or by all.
func (w *world) calls(operation, app string) int {
	return w.engine.Counters().Total(localaws.CallCount{Operation: operation, App: app})
}

// isWrite matches the writes to the control table of one application.
func isWrite(app string) func(localaws.Call) bool {
	return func(c localaws.Call) bool {
		return c.App == app && c.Operation == "UpdateItem" && c.Table == controlTable
	}
}

// isControl matches every call of one application to the control table.
func isControl(app string) func(localaws.Call) bool {
	return func(c localaws.Call) bool { return c.App == app && c.Table == controlTable }
}

// pinOf is a pin that would stand only if none stood already.
func pinOf(w *world, at time.Time) checkpoint.Pin {
	w.t.Helper()
	for _, row := range w.leases() {
		return checkpoint.Pin{Group: "g", Table: row.Key.Table, Label: row.Key.Label, Start: source.Start{Kind: source.TrimHorizon}, At: at}
	}
	w.t.Fatal("there is no lease row")
	return checkpoint.Pin{}
}

// sequence is the number of the record of a version.
func (w *world) sequence(aggregate string, version uint64) event.SequenceNumber {
	w.t.Helper()
	for _, c := range w.engine.History(eventsTable) {
		if c.Old == nil && c.New["pk"] == event.String(aggregate) && c.New["sk"] == event.Orders().VersionKey(version) {
			return event.SequenceNumber(c.Sequence)
		}
	}
	w.t.Fatalf("%s has no version %d", aggregate, version)
	return ""
}
