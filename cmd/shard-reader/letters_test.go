package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace/eventstore"
	"millrace/internal/cli"
	"millrace/internal/localaws"
)

// TestQueueNameWrong: a worker with a wrong queue name works, says what to do
// and how many letters wait, and stops as any other does. Without a queue
// nobody knows, and the lines of progress do not say 0.
func TestQueueNameWrong(t *testing.T) {
	t.Parallel()
	_, url := serve(t, localaws.Options{Shards: 2})
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
	none.signal(syscall.SIGTERM)
	if code := none.wait(); code != cli.Done || strings.Contains(none.out.String(), "lettersUnsent") {
		t.Errorf("without a queue: code %d, progress %s", code, none.out.String())
	}
	nope := work(t, url, "--queue", "nope")
	nope.until("the letter is counted", func() bool {
		c := nope.counters()
		return c.LettersUnsent != nil && *c.LettersUnsent == 1 && c.OldestUnsentSeconds != nil && *c.OldestUnsentSeconds < int64(time.Hour/time.Second)
	})
	nope.until("the log tells", func() bool {
		return strings.Contains(nope.err.String(), `no queue \"nope\" in this account and Region: create it, or correct its name`)
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
