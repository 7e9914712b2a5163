package service

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/rs/zerolog"

	"millrace/event"
	"millrace/eventstore"
	"millrace/failure"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/projection"
	"millrace/projection/ordersview"
)

// post is a pipeline in fake time, with a queue and a release that does not know
// gifts.
type post struct {
	t      *testing.T
	engine *localaws.Engine
	*Service
	log   bytes.Buffer // to be read after stop alone
	heads map[string]uint64
	stop  func()
}

func newPost(t *testing.T) *post {
	t.Helper()
	engine := localaws.New(localaws.Options{Shards: 2, Seed: 5})
	t.Cleanup(func() { _ = engine.Close() })
	p := &post{t: t, engine: engine, heads: map[string]uint64{}}
	fold, err := ordersview.BeforeGifts()
	if err != nil {
		t.Fatal(err)
	}
	registry := Registry{Folds: map[string]projection.Projection{"orders": fold}}
	config, err := Config{
		Group: "orders", Events: "orders-events", Control: "control",
		Sinks: []Sink{{ReadModel: &ReadModel{Table: "orders-view", Fold: "orders"}}}, Queue: "failures",
		Log: zerolog.New(zerolog.SyncWriter(&p.log)), CreateTables: true,
	}.withDefaults(registry)
	if err == nil {
		p.Service, err = wire(config, registry, engine.Config("worker"))
	}
	if err == nil {
		_, err = sqs.NewFromConfig(engine.Config("setup")).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &config.Queue})
	}
	if err != nil {
		t.Fatal(err)
	}
	worker, err := p.Worker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.work(worker)
	return p
}

func (p *post) work(w *pipeline.Worker) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Work(ctx, context.Background(), w) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			p.t.Errorf("the worker ended: %v", err)
		}
	})
}

func (p *post) append(aggregate, kind string) {
	p.t.Helper()
	amount := event.Item{"customer": event.String("Ada"), "amount": event.Number("1")}
	head, err := p.events.Append(p.t.Context(), aggregate, p.heads[aggregate], eventstore.NewEvent{Type: kind, Time: time.Now(), Attributes: amount})
	if err != nil {
		p.t.Fatal(err)
	}
	p.heads[aggregate] = head
}

func (p *post) position(aggregate string) uint64 {
	p.t.Helper()
	stored, err := p.targets[0].view.Item(p.t.Context(), aggregate)
	if err != nil {
		p.t.Fatal(err)
	}
	return stored.Position.Version
}

func (p *post) eventually(what string, holds func() bool) {
	p.t.Helper()
	for range 600 {
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatalf("within a minute it has not come: %s", what)
}

func (p *post) checkpoints() map[string]string {
	rows := map[string]string{}
	for _, item := range p.engine.Items("control") {
		if at := item["checkpoint"]; at != nil {
			rows[fmt.Sprint(item["sk"])] = fmt.Sprint(at)
		}
	}
	return rows
}

// TestC8_QueueDownForAMinute: SQS is away while orders are blocked, in every way
// it can be. Healthy aggregates go on within seconds,
// checkpoints move, the letters that wait are counted with their age, and go
// out when it is back.
func TestC8_QueueDownForAMinute(t *testing.T) {
	for name, do := range map[string]localaws.Action{"silent": localaws.TimeOut, "failing": localaws.FailBefore, "throttled": localaws.Throttle} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPost(t)
				defer p.stop()
				back := p.engine.Inject(localaws.Fault{Do: do, Match: func(c localaws.Call) bool { return c.Service == localaws.SQS }})
				p.append("healthy", ordersview.OrderPlaced)
				for i := range 3 {
					p.append(fmt.Sprintf("gift-%d", i), ordersview.OrderPlaced)
					p.append(fmt.Sprintf("gift-%d", i), ordersview.GiftWrapped)
				}
				p.eventually("they are blocked", func() bool {
					listing, err := p.Blocked(t.Context(), Selection{})
					return err == nil && len(listing.Markers) == 3
				})
				before := p.checkpoints()
				for second := range 60 {
					p.append("healthy", ordersview.ItemAdded)
					p.append(fmt.Sprintf("gift-%d", second%3), ordersview.ItemAdded)
					time.Sleep(2 * time.Second)
					if got := p.position("healthy"); got+1 < p.heads["healthy"] {
						t.Fatalf("after %d s the healthy order stands at %d of %d", 2*second+2, got, p.heads["healthy"])
					}
				}
				if letters, known := p.Letters(); !known || letters.Unsent != 3 || time.Since(letters.Oldest) < 2*time.Minute {
					t.Errorf("it is known of letters: %v, %+v", known, letters)
				}
				moved := 0
				for shard, at := range p.checkpoints() {
					if at != before[shard] {
						moved++
					}
				}
				if moved == 0 || len(p.engine.Messages("failures")) != 0 {
					t.Errorf("%d checkpoints moved, %d letters came", moved, len(p.engine.Messages("failures")))
				}
				back()
				p.eventually("the letters come", func() bool {
					letters, known := p.Letters()
					return known && letters.Unsent == 0
				})
				if n := len(p.engine.Messages("failures")); n != 3 {
					t.Errorf("%d letters came", n)
				}
			})
		})
	}
}

// TestH20_WorkersSweep: a worker deletes what is over, within a period and a
// tenth, and leaves what stands. A role that may not is told of.
func TestH20_WorkersSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		defer p.stop()
		for i := range 3 {
			p.append(fmt.Sprintf("gift-%d", i), ordersview.GiftWrapped)
		}
		p.eventually("the letters come", func() bool { return len(p.engine.Messages("failures")) == 3 })
		fails := p.engine.Inject(localaws.Fault{Do: localaws.FailBefore, Match: func(c localaws.Call) bool { return c.Operation == "ReceiveMessage" }})
		time.Sleep(time.Minute) // a sweep under way has read what it judges
		for i := range 2 {
			key := p.targets[0].scope.Key(fmt.Sprintf("gift-%d", i))
			if v, _, err := p.Markers().Apply(t.Context(), key, failure.Heal(1, fmt.Sprint("healed-", i))); err != nil || v != failure.Applied {
				t.Fatal(v, err)
			}
		}
		time.Sleep(sweepPause * 12 / 10)
		fails()
		if n := len(p.engine.Messages("failures")); n != 3 {
			t.Fatalf("%d letters are left while SQS does not answer", n)
		}
		time.Sleep(sweepPause * 12 / 10)
		if n := len(p.engine.Messages("failures")); n != 1 {
			t.Errorf("%d letters are left, want that of the block that stands", n)
		}
		p.stop()
		for _, want := range []string{"letters that are over cannot be deleted", `"deleted":2,"kept":1,"foreign":0,"message":"letters swept"`} {
			if !bytes.Contains(p.log.Bytes(), []byte(want)) {
				t.Errorf("the log lacks %q", want)
			}
		}
	})
}

// TestOutboxUnread: while the control table does not answer nobody knows how many
// letters wait, and the log does not say 0.
func TestOutboxUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		defer p.stop()
		back := p.engine.Inject(localaws.Fault{Do: localaws.FailBefore, Match: func(c localaws.Call) bool { return c.Operation == "Query" && c.Table == "control" }})
		time.Sleep(30 * time.Second)
		if letters, known := p.Letters(); known {
			t.Errorf("it is known of letters: %+v", letters)
		}
		back()
		p.eventually("it is known again", func() bool {
			_, known := p.Letters()
			return known
		})
		p.stop()
		told := 0
		for line := range bytes.Lines(p.log.Bytes()) {
			if bytes.Contains(line, []byte("letters of blocked aggregates cannot be sent")) {
				told++
				if bytes.Contains(line, []byte("lettersUnsent")) {
					t.Errorf("it says what nobody knows: %s", line)
				}
			}
		}
		if told == 0 {
			t.Error("the log does not tell of it")
		}
	})
}

// TestSweepWithoutAQueue says so, and makes no call.
func TestSweepWithoutAQueue(t *testing.T) {
	s := &Service{aws: aws.Config{}}
	if n, err := s.SweepLetters(t.Context()); n != 0 || err == nil {
		t.Errorf("it gave %d, %v", n, err)
	}
}
