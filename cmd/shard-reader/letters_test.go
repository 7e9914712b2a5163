package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/eventstore"
	"millrace/internal/cli"
	"millrace/internal/localaws"
)

// TestQueueNameWrong: a name that does not exist at the start is an error of
// configuration.
func TestQueueNameWrong(t *testing.T) {
	_, url := serve(t, localaws.Options{Shards: 1})
	code, out, stderr := call(t, "run", "--local", "--endpoint-url", url, "--queue", "nope")
	if code != cli.Usage || out != "" || strings.Contains(stderr, "worker starts") || !strings.Contains(stderr, `the on-failure queue "nope" does not exist in this account and Region (create it, or correct its name`) {
		t.Errorf("code %d, stdout %q, stderr %q", code, out, stderr)
	}
}

// TestQueueVanishes: a worker whose queue is deleted works, says what to do and
// how many letters wait, and stops as any other does. Without a queue nobody
// knows, and the lines of progress do not say 0.
func TestQueueVanishes(t *testing.T) {
	t.Parallel()
	engine, url := serve(t, localaws.Options{Shards: 2})
	pipeline := wired(t, url)
	for _, aggregate := range []string{"bad", "good"} {
		second := orderEvent(2, aggregate, 0)
		if aggregate == "bad" {
			second.Type = "Surprise"
		}
		if _, err := pipeline.Events().Append(t.Context(), aggregate, 0, []eventstore.NewEvent{orderEvent(1, aggregate, 0), second}...); err != nil {
			t.Fatal(err)
		}
	}
	none := work(t, url)
	none.until("the worker has applied what it can", func() bool { return none.counters().Applied == 3 })
	none.until("it tells of the block", func() bool { return none.counters().Blocked == 1 })
	none.signal(syscall.SIGTERM)
	if code := none.wait(); code != cli.Done || strings.Contains(none.out.String(), "lettersUnsent") {
		t.Errorf("without a queue: code %d, progress %s", code, none.out.String())
	}
	queues := sqs.NewFromConfig(engine.Config("setup"))
	made, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("nope")})
	if err != nil {
		t.Fatal(err)
	}
	// Until it is deleted nobody sends a letter.
	held := engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Operation == "SendMessageBatch" }})
	nope := work(t, url, "--queue", "nope")
	nope.until("the worker starts", func() bool { return strings.Contains(nope.err.String(), "worker starts") })
	if _, err := queues.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl}); err != nil {
		t.Fatal(err)
	}
	held()
	nope.until("the letter is counted", func() bool {
		c := nope.counters()
		return c.Blocked == 0 && c.LettersUnsent != nil && *c.LettersUnsent == 1 && c.OldestUnsentSeconds != nil && *c.OldestUnsentSeconds < int64(time.Hour/time.Second)
	})
	nope.until("the log tells", func() bool {
		return strings.Contains(nope.err.String(), `the on-failure queue \"nope\" does not exist in this account and Region (create it, or correct its name`)
	})
	if _, err := pipeline.Events().Append(t.Context(), "good", 2, orderEvent(3, "good", 0)); err != nil {
		t.Fatal(err)
	}
	nope.applies()
	nope.signal(syscall.SIGTERM)
	if code := nope.wait(); code != cli.Done {
		t.Errorf("code %d:\n%s", code, nope.err.String())
	}
}
