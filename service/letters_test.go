package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/rs/zerolog"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/projection/ordersview"
	"millrace/service"
)

// logged is a log that may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) has(texts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return true
		}
	}
	return false
}

// until polls for what a worker brings about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		if err := jitter.Sleep(ctx, 20*time.Millisecond); err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
	}
}

// TestQueueNameWrong: at the start a queue that does not exist is an error; one
// that cannot be asked is a line in the log, and the worker works.
func TestQueueNameWrong(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orders-failures", "https://sqs.eu-central-1.amazonaws.com/000000000000/orders-failures"} {
		w := newWorld(t)
		log := &logged{}
		w.config.Log, w.config.Queue = zerolog.New(log), name
		if err := w.service(t).EnsureTables(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := w.service(t).Workers(t.Context(), func(*pipeline.Worker) error {
			t.Error("a worker was started")
			return nil
		})
		var missing *event.Missing
		if !errors.As(err, &missing) || missing.Name != name || !strings.Contains(err.Error(), "create it, or correct its name") {
			t.Errorf("it gave %v", err)
		}
		w.engine.Inject(localaws.Fault{Do: localaws.FailBefore, Match: func(c localaws.Call) bool { return c.Service == localaws.SQS }})
		works := false
		if err := w.service(t).Workers(t.Context(), func(*pipeline.Worker) error {
			works = true
			return nil
		}); err != nil || !works || !log.has(`"level":"warn"`, "whether the on-failure queue is there", name) {
			t.Errorf("with a queue that does not answer: %v", err)
		}
	}
}

// TestQueueVanishes: a worker's queue is not there any more while orders are
// blocked. No shard stops and nothing is lost, and the log names the queue and
// what to do; the letters go out, one for each block, when the queue is there.
// None is deleted while its block stands.
func TestQueueVanishes(t *testing.T) {
	t.Parallel() // it waits for the sender, most of its time
	w := newWorld(t)
	log := &logged{}
	w.config.Log = zerolog.New(log)
	if err := w.service(t).EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.config.Queue, w.config.Build = "orders-failures", "v0.1.0"
	w.gifts(t, 3, 3)
	worker, err := service.New(t.Context(), w.config, w.earlier(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, known := worker.Letters(); known {
		t.Error("before anybody has looked it is known how many letters wait")
	}
	w.running(t, func(ctx context.Context) error { // without the look at the start
		one, err := worker.Worker(ctx)
		if err != nil {
			return err
		}
		return worker.Work(ctx, context.Background(), one)
	})
	listing := w.blocked(t, 3)
	if report, err := one(w.service(t).Verify(t.Context(), time.Minute)); err != nil || report.Behind > 0 {
		t.Fatalf("the others do not go on: %+v, %v", report, err)
	}
	for _, m := range listing.Markers {
		if !m.Unsent() {
			t.Errorf("%s was told to a queue that is not there", m.Key.Aggregate)
		}
	}

	until(t, "the log tells", func() bool {
		return log.has(`"level":"error"`, `the on-failure queue \"orders-failures\" does not exist in this account and Region (create it, or correct its name`, `"lettersUnsent":`, `"oldestUnsentSeconds":`)
	})
	until(t, "all that wait are counted", func() bool {
		letters, known := worker.Letters()
		return known && letters.Unsent == 3 && time.Since(letters.Oldest) < time.Minute
	})
	if deleted, err := worker.SweepLetters(t.Context()); err == nil || deleted != 0 || !strings.Contains(err.Error(), `the on-failure queue "orders-failures" does not exist`) {
		t.Errorf("a sweep gave %d, %v", deleted, err)
	}

	queues := sqs.NewFromConfig(w.engine.Config("setup"))
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &w.config.Queue}); err != nil {
		t.Fatal(err)
	}
	until(t, "the letters come", func() bool {
		letters, known := worker.Letters()
		return len(w.engine.Messages(w.config.Queue)) == 3 && known && letters == (service.Letters{})
	})
	if !log.has("all letters are sent again") {
		t.Error("the log does not tell that they are out")
	}
	told := map[string]bool{}
	for _, m := range w.engine.Messages(w.config.Queue) {
		var letter failure.Letter
		if err := json.Unmarshal([]byte(m.Body), &letter); err != nil {
			t.Fatalf("%s is no letter: %v", m.Body, err)
		}
		if letter.Version != 2 || letter.EventType != ordersview.GiftWrapped || letter.Cause.Class != "permanent" ||
			letter.Cause.Fingerprint == "" || letter.Record.Item == nil || letter.Build != "v0.1.0" {
			t.Errorf("the letter is %+v", letter)
		}
		told[letter.Aggregate+" "+letter.LetterID] = true
	}
	if len(told) != 3 {
		t.Errorf("letters tell of %v", told)
	}
	if deleted, err := w.service(t).SweepLetters(t.Context()); err != nil || deleted != 0 {
		t.Errorf("a sweep while they are blocked gave %d, %v", deleted, err)
	}
}
