package service

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/failure"
	"millrace/failure/notify"
	queue "millrace/failure/sqs"
	"millrace/internal/jitter"
	"millrace/pipeline"
)

// letterPause is the time between two passes over the outbox. A letter that is
// seconds late harms nobody: the marker is the record.
const letterPause = 5 * time.Second

// Work runs a worker as pipeline.Worker.Run does, and beside it sends the
// letters of what it blocks when a queue is configured. Letters that are not
// sent when it ends stay in the outbox for whoever works next.
func (s *Service) Work(ctx, abort context.Context, w *pipeline.Worker) error {
	var sender sync.WaitGroup
	defer sender.Wait()
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if s.config.Queue != "" {
		n, err := s.notifier()
		if err != nil {
			return err
		}
		sender.Go(func() { s.sendLetters(sending, n) })
	}
	return w.Run(ctx, abort)
}

func (s *Service) notifier() (*notify.Notifier, error) {
	q, err := queue.New(sqs.NewFromConfig(s.aws), queue.Options{Name: s.config.Queue})
	if err != nil {
		return nil, err
	}
	return &notify.Notifier{Outbox: outbox{s}, Events: s.events, Queue: q, Build: s.config.Build}, nil
}

// outbox is the outbox of the service's sink.
type outbox struct{ *Service }

func (o outbox) Promises(ctx context.Context) ([]failure.Promise, error) {
	return o.Markers().Promises(ctx, o.scope())
}

func (o outbox) Get(ctx context.Context, key failure.Key) (failure.Marker, error) {
	return o.Markers().Get(ctx, key)
}

func (o outbox) Apply(ctx context.Context, key failure.Key, t failure.Transition) (failure.Verdict, failure.Marker, error) {
	return o.Markers().Apply(ctx, key, t)
}

func (o outbox) Kept(ctx context.Context, p failure.Promise) error { return o.Markers().Kept(ctx, p) }

// sendLetters passes over the outbox until ctx ends. It tells when letters
// begin to wait, when they go on waiting, and when they are out; no shard ever
// waits for them.
func (s *Service) sendLetters(ctx context.Context, n *notify.Notifier) {
	waits := jitter.New()
	failures := 0
	for pass := 0; ; pass++ {
		sent, unsent, err := n.Send(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil && unsent.Letters > 0 {
			err = unsent.Err
		}
		switch {
		case err != nil || unsent.Letters > 0:
			failures++
			if failures&(failures-1) == 0 { // at first, and ever more seldom
				log := s.config.Log.Error().Str("queue", s.config.Queue).Int("unsent", unsent.Letters).Err(err)
				if !unsent.Oldest.IsZero() {
					log = log.Dur("oldest", time.Since(unsent.Oldest))
				}
				log.Msg("letters of blocked aggregates cannot be sent; they wait in the control table, no shard does")
			}
		case failures > 0:
			failures = 0
			s.config.Log.Info().Str("queue", s.config.Queue).Msg("all letters are sent again")
		}
		if sent > 0 {
			s.config.Log.Info().Str("queue", s.config.Queue).Int("letters", sent).Msg("letters sent")
		}
		if jitter.Sleep(ctx, waits.Around(letterPause, "letters", pass)) != nil {
			return
		}
	}
}
