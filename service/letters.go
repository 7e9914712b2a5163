package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/event"
	"millrace/failure"
	markers "millrace/failure/dynamodb"
	"millrace/failure/notify"
	queue "millrace/failure/sqs"
	"millrace/internal/jitter"
	"millrace/pipeline"
)

// letterPause is the time between two passes over the outbox. A letter that is
// seconds late harms nobody: the marker is the record.
const letterPause = 5 * time.Second

// Work runs a worker as pipeline.Worker.Run does. When a queue is configured it
// sends the letters of what is blocked, and deletes those that are over.
// Letters that are not sent when it ends stay in the outbox for whoever works
// next.
func (s *Service) Work(ctx, abort context.Context, w *pipeline.Worker) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	letters, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if s.config.Queue != "" {
		q, err := s.queue()
		if err != nil {
			return err
		}
		beside.Go(func() { s.sendLetters(letters, q) })
		beside.Go(func() { s.sweepLetters(letters, q) })
	}
	return w.Run(ctx, abort)
}

func (s *Service) queue() (*queue.Queue, error) {
	return queue.New(sqs.NewFromConfig(s.aws), queue.Options{Name: s.config.Queue})
}

// queueWait bounds the question whether the queue is there: no shard waits
// longer for it.
const queueWait = 3 * time.Second

// FindQueue asks for the on-failure queue, if one is configured. Where the error
// has an *event.Missing in it there is no such queue; any other says that it
// could not be asked, or not by this role, which stops nobody.
func (s *Service) FindQueue(ctx context.Context) error {
	if s.config.Queue == "" {
		return nil
	}
	q, err := s.queue()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, queueWait)
	defer cancel()
	return q.Find(ctx)
}

// startQueue finds out at the start what would else be told with the first
// letter, which may be months away. A queue that vanishes later stops nobody.
func (s *Service) startQueue(ctx context.Context) error {
	err := s.FindQueue(ctx)
	var missing *event.Missing
	switch {
	case err == nil || ctx.Err() != nil:
		return nil //nolint:nilerr // a stop is for the worker to tell
	case errors.As(err, &missing):
		return err
	}
	s.config.Log.Warn().Str("queue", s.config.Queue).Err(err).Msg("it could not be found out whether the on-failure queue is there; letters of blocked aggregates wait in the control table until it takes them")
	return nil
}

// Letters is what a worker knows of the letters that wait for their queue.
type Letters struct {
	Unsent int
	Oldest time.Time // when the oldest of their events failed first; zero: none, or unknown
}

// Letters tells what the last pass over the outbox left over. False means that
// nobody knows: no queue is configured, no pass has ended yet, or the control
// table did not answer. It is safe for concurrent use.
func (s *Service) Letters() (Letters, bool) {
	if known := s.letters.Load(); known != nil {
		return *known, true
	}
	return Letters{}, false
}

// outbox is the outbox of the service's sinks, and of what concerns every sink.
type outbox struct{ *Service }

func (o outbox) Promises(ctx context.Context) (all []failure.Promise, err error) {
	scopes := []failure.Scope{markers.EverySink(o.config.Group, o.config.Events)}
	for _, t := range o.targets {
		scopes = append(scopes, t.scope)
	}
	for _, scope := range scopes {
		promises, err := o.Markers().Promises(ctx, scope)
		if err != nil {
			return nil, err
		}
		all = append(all, promises...)
	}
	return all, nil
}

func (o outbox) Get(ctx context.Context, key failure.Key) (failure.Marker, error) {
	return o.Markers().Get(ctx, key)
}

func (o outbox) Apply(ctx context.Context, key failure.Key, t failure.Transition) (failure.Verdict, failure.Marker, error) {
	return o.Markers().Apply(ctx, key, t)
}

func (o outbox) Kept(ctx context.Context, p failure.Promise) error {
	return o.Markers().Kept(ctx, p)
}

// sendLetters passes over the outbox until ctx ends. It tells when letters
// begin to wait, when they go on waiting, and when they are out; no shard ever
// waits for them.
func (s *Service) sendLetters(ctx context.Context, q *queue.Queue) {
	n := &notify.Notifier{
		Outbox: outbox{s}, Events: s.events, Queue: q, Build: s.config.Build, InlineLimit: s.config.InlineLimit, Unroutables: s.Markers(),
	}
	waits := jitter.New()
	failures := 0
	for pass := 0; ; pass++ {
		sent, unsent, err := n.Send(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			s.letters.Store(&Letters{Unsent: unsent.Letters, Oldest: unsent.Oldest})
		} else {
			s.letters.Store(nil)
		}
		if err == nil && unsent.Letters > 0 {
			err = unsent.Err
		}
		switch {
		case err != nil || unsent.Letters > 0:
			failures++
			if seldom(failures) {
				log := s.config.Log.Error().Str("queue", s.config.Queue).Err(err)
				if s.letters.Load() != nil { // else nobody knows
					log = log.Int("lettersUnsent", unsent.Letters)
				}
				if !unsent.Oldest.IsZero() {
					log = log.Int("oldestUnsentSeconds", int(time.Since(unsent.Oldest).Seconds()))
				}
				log.Msg("letters of blocked aggregates cannot be sent; they wait in the control table, no shard does")
			}
		case failures > 0:
			failures = 0
			s.config.Log.Info().Str("queue", s.config.Queue).Msg("all letters are sent again")
		}
		s.sent.Add(uint64(sent))
		if sent > 0 {
			s.config.Log.Info().Str("queue", s.config.Queue).Int("letters", sent).Msg("letters sent")
		}
		if jitter.Sleep(ctx, waits.Around(letterPause, "letters", pass)) != nil {
			return
		}
	}
}

// seldom picks those of a row of failures that are logged: the first, and ever
// fewer.
func seldom(failures int) bool { return failures&(failures-1) == 0 }
