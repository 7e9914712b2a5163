package service_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/rs/zerolog"

	"millrace/failure"
	"millrace/internal/jitter"
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

// TestQueueNameWrong: the queue's name is wrong while orders are blocked. No
// shard stops and nothing is lost, and the log names the queue and what to do;
// the letters go out, one for each block, when the queue is there. None is
// deleted while its block stands.
func TestQueueNameWrong(t *testing.T) {
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
	w.run(t, worker)
	listing := w.blocked(t, 3)
	if report, err := w.service(t).Verify(t.Context(), time.Minute); err != nil || report.Behind > 0 {
		t.Fatalf("the others do not go on: %+v, %v", report, err)
	}
	for _, m := range listing.Markers {
		if !m.Unsent() {
			t.Errorf("%s was told to a queue that is not there", m.Key.Aggregate)
		}
	}

	until(t, "the log tells", func() bool {
		return log.has(`"level":"error"`, `no queue \"orders-failures\" in this account and Region: create it, or correct its name`, `"lettersUnsent":`, `"oldestUnsentSeconds":`)
	})
	until(t, "all that wait are counted", func() bool {
		letters, known := worker.Letters()
		return known && letters.Unsent == 3 && time.Since(letters.Oldest) < time.Minute
	})
	if deleted, err := worker.SweepLetters(t.Context()); err == nil || deleted != 0 || !strings.Contains(err.Error(), `no queue "orders-failures"`) {
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
