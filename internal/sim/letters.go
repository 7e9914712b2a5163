package sim

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/failure"
	markers "millrace/failure/dynamodb"
	"millrace/failure/notify"
	queue "millrace/failure/sqs"
	mail "millrace/internal/localaws/queue"
)

// outbox is one sink's, seen by one process.
type outbox struct {
	*markers.Store
	scope failure.Scope
}

func (o outbox) Promises(ctx context.Context) ([]failure.Promise, error) {
	return o.Store.Promises(ctx, o.scope)
}

// letters makes what sends the letters that the process's sinks owe, and deletes
// those that are over, until ctx ends. It returns when the last call has.
func (p *process) letters() (send func(ctx context.Context), err error) {
	w := p.w
	store, err := w.eventStore(p.app)
	if err != nil {
		return nil, err
	}
	inbox, err := queue.New(sqs.NewFromConfig(w.config(p.app)), queue.Options{Name: queueName})
	if err != nil {
		return nil, err
	}
	var q notify.Queue = inbox
	if w.tamper.Queue != nil {
		q = w.tamper.Queue(q)
	}
	return func(ctx context.Context) {
		var all sync.WaitGroup
		for _, sink := range []string{viewSink, logSink} {
			n := notify.Notifier{Outbox: outbox{w.markerStore(p.app), scope(sink)}, Events: store, Queue: q, Build: p.build.String()}
			all.Go(func() {
				for pass := 0; ctx.Err() == nil; pass++ {
					pause(ctx, chance(w.plan.Seed).between(5*time.Second, 15*time.Second, "letters", p.id, sink, pass))
					// What it says is for logs: the queue and the markers tell.
					_, _, _ = n.Send(ctx)
				}
			})
			s := notify.Sweeper{Markers: n.Outbox, Inbox: inbox, Scopes: []failure.Scope{scope(sink)}}
			if w.tamper.Judge != nil {
				s.Markers = w.tamper.Judge(s.Markers)
			}
			all.Go(func() {
				for pass := 0; ctx.Err() == nil; pass++ {
					pause(ctx, chance(w.plan.Seed).between(10*time.Second, 40*time.Second, "sweep letters", p.id, sink, pass))
					_, _ = s.Sweep(ctx)
				}
			})
		}
		all.Wait()
	}, nil
}

// lettersOf reads messages of the queue.
func (w *world) lettersOf(messages []mail.Message) (all []Letter) {
	for _, m := range messages {
		var body struct{ Sink, Aggregate, Version, BlockID string }
		if err := json.Unmarshal([]byte(m.Body), &body); err != nil {
			w.note("letter", m.ID, "a letter cannot be read: %v", err)
			continue
		}
		number, _ := strconv.Atoi(body.Version)
		all = append(all, Letter{Sink: body.Sink, Aggregate: body.Aggregate, Version: number, Block: body.BlockID, At: m.Sent})
	}
	return all
}

// told are the blocks whose letters are in the queue now.
func (w *world) told() map[string]bool {
	blocks := map[string]bool{}
	for _, l := range w.lettersOf(w.engine.Messages(queueName)) {
		blocks[l.Block] = true
	}
	return blocks
}

// makeQueue creates the on-failure queue, which may be later than the first
// letter: a name that is mended by creating it.
func (w *world) makeQueue(ctx context.Context) {
	_, err := sqs.NewFromConfig(w.config(setupApp)).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(queueName)})
	if err != nil {
		w.note("letter", queueName, "creating the queue: %v", err)
	}
}
