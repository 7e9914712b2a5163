package sim

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/failure"
	markers "millrace/failure/dynamodb"
	"millrace/failure/notify"
	queue "millrace/failure/sqs"
)

// outbox is one sink's, seen by one process.
type outbox struct {
	*markers.Store
	scope markers.Scope
}

func (o outbox) Promises(ctx context.Context) ([]failure.Promise, error) {
	return o.Store.Promises(ctx, o.scope)
}

// letters makes what sends the letters that the process's sinks owe until ctx
// ends, and returns when the last call has.
func (p *process) letters() (send func(ctx context.Context), err error) {
	w := p.w
	store, err := w.eventStore(p.app)
	if err != nil {
		return nil, err
	}
	var q notify.Queue
	if q, err = queue.New(sqs.NewFromConfig(w.config(p.app)), queue.Options{Name: queueName}); err != nil {
		return nil, err
	}
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
		}
		all.Wait()
	}, nil
}

// makeQueue creates the on-failure queue, which may be later than the first
// letter: a name that is mended by creating it.
func (w *world) makeQueue(ctx context.Context) {
	_, err := sqs.NewFromConfig(w.config(setupApp)).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(queueName)})
	if err != nil {
		w.note("letter", queueName, "creating the queue: %v", err)
	}
}
