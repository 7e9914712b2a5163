package watermill_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	control "millrace/checkpoint/dynamodb"
	"millrace/event"
	"millrace/internal/localaws"
	"millrace/sinks"
	"millrace/sinks/position"
	"millrace/sinks/sinktest"
	"millrace/sinks/watermill"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker records what it accepts. Its hooks may refuse a message before it is
// accepted, or lose the answer after.
type broker struct {
	before, after func(*message.Message) error

	mu       sync.Mutex
	log      []delivery
	calls    []int // messages of each call
	closings int
}

type delivery struct {
	Topic, ID string
	Aggregate string
	Version   uint64
	Payload   string
	Metadata  message.Metadata
}

func (b *broker) Publish(topic string, messages ...*message.Message) error {
	b.mu.Lock()
	b.calls = append(b.calls, len(messages))
	b.mu.Unlock()
	for _, m := range messages {
		if b.before != nil {
			if err := b.before(m); err != nil {
				return err
			}
		}
		d := read(topic, m)
		b.mu.Lock()
		b.log = append(b.log, d)
		b.mu.Unlock()
		if b.after != nil {
			if err := b.after(m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *broker) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closings++
	return nil
}

// read takes a message apart.
func read(topic string, m *message.Message) delivery {
	return delivery{
		Topic: topic, ID: m.UUID, Payload: string(m.Payload), Metadata: m.Metadata,
		Aggregate: m.Metadata.Get(watermill.MetadataAggregate), Version: versionOf(m),
	}
}

func versionOf(m *message.Message) uint64 {
	v, err := strconv.ParseUint(m.Metadata.Get(watermill.MetadataVersion), 10, 64)
	if err != nil {
		panic(err) // a sink that writes no version fails every test
	}
	return v
}

// versions lists what was accepted of an aggregate, repeats included.
func (b *broker) versions(aggregate string) []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return versionsIn(b.log, aggregate)
}

func versionsIn(log []delivery, aggregate string) []uint64 {
	var versions []uint64
	for _, d := range log {
		if d.Aggregate == aggregate {
			versions = append(versions, d.Version)
		}
	}
	return versions
}

// on fails with err for one version, as often as times says.
func on(version uint64, times int, err error) func(*message.Message) error {
	return func(m *message.Message) error {
		if versionOf(m) == version && times > 0 {
			times--
			return err
		}
		return nil
	}
}

// bench is an engine with a control table, and a broker.
type bench struct {
	*testing.T
	*localaws.Engine
	*broker
	store *position.Store
}

func newBench(t *testing.T) bench {
	t.Helper()
	// A read that forgets to be consistent sees nothing of what a test does.
	engine := localaws.New(localaws.Options{StaleReads: time.Hour})
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	client := dynamodb.NewFromConfig(engine.Config("worker"))
	if err := control.New(control.Options{Client: client}).EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := position.New(position.Options{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return bench{T: t, Engine: engine, broker: &broker{}, store: store}
}

func identity() sinks.Identity {
	return sinks.Identity{Group: "orders", Source: "orders-events", Sink: "mail", Version: 1}
}

// options are those of a worker's sink; change edits them.
func (b bench) options(change ...func(*watermill.Options)) watermill.Options {
	o := watermill.Options{Publisher: b.broker, Topic: "orders", Identity: identity(), Positions: b.store}
	for _, c := range change {
		c(&o)
	}
	return o
}

func (b bench) sink(change ...func(*watermill.Options)) *watermill.Sink {
	b.Helper()
	s, err := watermill.New(b.options(change...))
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// run makes versions after+1 to last.
func run(aggregate string, after, last uint64) event.Run {
	r := event.Run{Aggregate: aggregate, After: event.Position{Version: after}}
	for v := after + 1; v <= last; v++ {
		r.Events = append(r.Events, sinktest.Event(aggregate, v))
	}
	return r
}

func apply(ctx context.Context, s *watermill.Sink, r event.Run) event.Outcome {
	return s.Apply(ctx, []event.Run{r})[0]
}

// must applies a run that ends at a position and without an error.
func (b bench) must(s *watermill.Sink, r event.Run, position uint64) {
	b.Helper()
	want := event.Outcome{Position: event.Position{Version: position}, Known: true}
	if got := apply(b.Context(), s, r); got != want {
		b.Fatalf("run %d..%d: %+v, want %+v", r.After.Version+1, r.Last().Version, got, want)
	}
}

// fails applies a run that is known to have come so far and meets an error of
// a class.
func (b bench) fails(s *watermill.Sink, r event.Run, position uint64, class event.Class) event.Outcome {
	b.Helper()
	got := apply(b.Context(), s, r)
	if !got.Known || got.Position.Version != position || got.Err == nil || event.ClassOf(got.Err) != class {
		b.Fatalf("run %d..%d: %+v, want position %d and an error of class %v", r.After.Version+1, r.Last().Version, got, position, class)
	}
	return got
}

// row demands where the control table's position stands.
func (b bench) row(aggregate string, want uint64) {
	b.Helper()
	got, err := b.store.Positions(b.Context(), identity(), []string{aggregate})
	if err != nil || got[0].Version != want {
		b.Fatalf("the row of %s stands at %v, %v, want %d", aggregate, got, err, want)
	}
}

// sent demands what the broker has accepted, in order.
func (b bench) sent(aggregate string, want ...uint64) {
	b.Helper()
	if got := b.versions(aggregate); !slices.Equal(got, want) {
		b.Fatalf("the broker has versions %v of %s, want %v", got, aggregate, want)
	}
}

// reads and moves count calls that reached the engine.
func (b bench) reads() int { return b.count("BatchGetItem") }
func (b bench) moves() int { return b.count("UpdateItem") }

func (b bench) count(operation string) int {
	return b.Counters().Total(localaws.CallCount{Service: localaws.DynamoDB, Operation: operation})
}

func isMove(c localaws.Call) bool { return c.Operation == "UpdateItem" }
func isRead(c localaws.Call) bool { return c.Operation == "BatchGetItem" }

// firsts checks a broker's log of one aggregate: first deliveries in order and
// complete, up to last, and repeats under their first id.
func firsts(log []delivery, aggregate string, last uint64) error {
	next := uint64(1)
	ids := map[uint64]string{}
	for _, d := range log {
		switch {
		case d.Aggregate != aggregate:
		case d.Version < next:
			if ids[d.Version] != d.ID {
				return fmt.Errorf("version %d went out as %s and as %s", d.Version, ids[d.Version], d.ID)
			}
		case d.Version > next:
			return fmt.Errorf("version %d went out before version %d", d.Version, next)
		default:
			ids[next] = d.ID
			next++
		}
	}
	if next != last+1 {
		return fmt.Errorf("the last version that went out is %d, want %d", next-1, last)
	}
	return nil
}
