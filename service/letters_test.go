package service_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/failure"
	"millrace/internal/jitter"
	"millrace/projection/ordersview"
)

// TestH20_LettersWaitForTheirQueue: the queue's name is wrong while orders are
// blocked. No shard stops and nothing is lost; the letters go out, one for each
// block, when the queue is there.
func TestH20_LettersWaitForTheirQueue(t *testing.T) {
	w := newWorld(t)
	if err := w.service(t).EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.config.Queue, w.config.Build = "orders-failures", "v0.1.0"
	w.gifts(t, 3, 3)
	w.work(t, w.earlier(t))
	listing := w.blocked(t, 3)
	if report, err := w.service(t).Verify(t.Context(), time.Minute); err != nil || report.Behind > 0 {
		t.Fatalf("the others do not go on: %+v, %v", report, err)
	}
	for _, m := range listing.Markers {
		if !m.Unsent() {
			t.Errorf("%s was told to a queue that is not there", m.Key.Aggregate)
		}
	}

	queues := sqs.NewFromConfig(w.engine.Config("setup"))
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &w.config.Queue}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(w.engine.Messages(w.config.Queue)) < 3 {
		if err := jitter.Sleep(ctx, 50*time.Millisecond); err != nil {
			t.Fatalf("%d letters came: %v", len(w.engine.Messages(w.config.Queue)), err)
		}
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
}
