package pipeline_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/failure/redrive"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks/position"
	"millrace/sinks/watermill"
)

// broker notes what is published: a target without a guard.
type broker struct {
	mu   sync.Mutex
	sent map[string][]string // versions, by aggregate
	ids  map[string]string   // of messages, by aggregate and version
	odd  []string            // what was sent again under another id
}

func newBroker() *broker { return &broker{sent: map[string][]string{}, ids: map[string]string{}} }

func (b *broker) Publish(_ string, messages ...*message.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range messages {
		aggregate, version := m.Metadata.Get(watermill.MetadataAggregate), m.Metadata.Get(watermill.MetadataVersion)
		b.sent[aggregate] = append(b.sent[aggregate], version)
		name := aggregate + "@" + version
		if id, again := b.ids[name]; again && id != m.UUID {
			b.odd = append(b.odd, name)
		}
		b.ids[name] = m.UUID
	}
	return nil
}

func (b *broker) Close() error { return nil }

func (b *broker) versions(aggregate string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent[aggregate])
}

// publisher is an application's unguarded sink.
func (w *world) publisher(app string, b message.Publisher) *watermill.Sink {
	w.t.Helper()
	positions, err := position.New(position.Options{Client: dynamodb.NewFromConfig(w.config(app)), Table: controlTable})
	if err != nil {
		w.t.Fatal(err)
	}
	sink, err := watermill.New(watermill.Options{Publisher: b, Topic: "orders", Identity: identity("view"), Positions: positions})
	if err != nil {
		w.t.Fatal(err)
	}
	return sink
}

// TestH24a_AWorkerThatGotItsShardBackSendsNothingAgain: another worker had the
// shard meanwhile and went on. The first one remembers where it stood itself,
// and must not go on from there.
func TestH24a_AWorkerThatGotItsShardBackSendsNothingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b := newWorld(t, localaws.Options{Shards: 1}), newBroker()
		publishing := func(o *pipeline.Options) { o.Sinks[0].Sink = w.publisher("millrace/g/"+o.Worker, b) }
		has := func(n int) func() bool { return func() bool { return len(b.versions("a")) >= n } }
		w.append("a", 3)
		first := w.start("one", publishing)
		eventually(t, 10*time.Second, "the first has sent", has(3))
		w.engine.Client(first.app).Freeze()
		w.append("a", 2)
		second := w.start("two", publishing)
		eventually(t, 30*time.Second, "the second has sent", has(5))
		second.crash() // before it has written a checkpoint
		w.engine.Client(first.app).Thaw()
		eventually(t, 40*time.Second, "the first has the shard again", w.owned(first.name))
		w.append("a", 1)
		eventually(t, 10*time.Second, "the first goes on", has(6))
		first.end()
		if got := b.versions("a"); !slices.Equal(got, []string{"1", "2", "3", "4", "5", "6"}) || len(b.odd) > 0 {
			t.Errorf("sent were %v, under other ids %v", got, b.odd)
		}
	})
}

// between runs something before each read of the event store.
type between struct {
	redrive.Events
	act func(from uint64)
}

func (b between) Range(ctx context.Context, aggregate string, from, to uint64, page func([]event.Event) error) error {
	b.act(from)
	return b.Events.Range(ctx, aggregate, from, to, page)
}

// TestH24a_ARedriveSendsNothingThatLiveTrafficHasSent: a worker that believes
// the aggregate live goes on with it between two runs of a redrive.
func TestH24a_ARedriveSendsNothingThatLiveTrafficHasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, markers := newWorld(t, localaws.Options{Shards: 1}), newBroker(), newMarkerTable()
		w.append("a", 6)
		var live *running
		job := w.redriver(markers, "job")
		job.Sink, job.RunEvents = w.publisher("job", b), 2
		job.Events = between{job.Events, func(from uint64) {
			if from != 3 {
				return
			}
			live = w.start("one", func(o *pipeline.Options) { o.Sinks[0].Sink = w.publisher("millrace/g/"+o.Worker, b) })
			eventually(t, 10*time.Second, "live traffic goes on", func() bool { return len(b.versions("a")) == 6 && live.Stats().Pending == 0 })
		}}
		markers.mark(t, "a", 1, 6, "g1")
		if r, err := job.Redrive(t.Context(), markers.marker(t, "a")); err != nil || r.Outcome != redrive.Released || r.To != 6 {
			t.Fatalf("the redrive ended %+v, %v", r, err)
		}
		live.end()
		if got := b.versions("a"); !slices.Equal(got, []string{"1", "2", "3", "4", "5", "6"}) || len(b.odd) > 0 {
			t.Errorf("sent were %v, under other ids %v", got, b.odd)
		}
	})
}
