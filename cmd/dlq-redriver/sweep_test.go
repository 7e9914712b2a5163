package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/internal/cli"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/pipeline"
)

// letters has a worker send the letters of what is blocked.
func (w *world) letters(queue string, n int) {
	w.t.Helper()
	client := sqs.NewFromConfig(w.engine.Config("setup"))
	if _, err := client.CreateQueue(w.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(queue)}); err != nil {
		w.t.Fatal(err)
	}
	config, err := w.flags.Config()
	if err != nil {
		w.t.Fatal(err)
	}
	config.Queue, config.Lease = queue, time.Second
	s, err := cli.Wire(w.t.Context(), config)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(w.t.Context(), within)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- s.Workers(ctx, func(worker *pipeline.Worker) error { return s.Work(ctx, context.Background(), worker) })
	}()
	for len(w.engine.Messages(queue)) < n {
		if err := jitter.Sleep(ctx, within/3000); err != nil {
			w.t.Fatalf("%d letters came: %v", len(w.engine.Messages(queue)), err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		w.t.Fatal(err)
	}
}

// TestH20_RedriveSweeps: at its end a redrive deletes the letters of what it
// released and of what it blocked anew, and of nothing else; where the queue
// does not answer, it says so and has done its work all the same.
func TestH20_RedriveSweeps(t *testing.T) {
	w := incident(t, 3, 1)
	w.letters("failures", 4)
	line := func(code int, line string, stderr ...string) redriveResult {
		t.Helper()
		return lines[redriveResult](t, w.expect(code, line+" --output json", stderr...), "millrace.redrive/v1")[0]
	}
	if r := line(cli.Done, "redrive gift-000 --execute", "deleted by workers that run with --queue"); r.LettersDeleted != nil {
		t.Errorf("without a queue %d are deleted", *r.LettersDeleted)
	}
	if out := w.expect(cli.Usage, "redrive gift-001 --execute --queue nope", `--queue: asking SQS: the on-failure queue "nope" does not exist`); out != "" || len(w.releases()) != 1 {
		t.Errorf("with a wrong queue it prints %q, and %v are released", out, w.releases())
	}
	silent := w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Service == localaws.SQS }})
	if r := line(cli.Done, "redrive gift-001 --execute --queue failures", "the queue may not be there"); r.Released != 1 {
		t.Errorf("with a queue that does not answer it ended %+v", r)
	}
	silent()
	if r := line(cli.Partly, "redrive surprise-000 --execute --queue failures", "failed"); r.LettersDeleted == nil || *r.LettersDeleted != 3 {
		t.Errorf("it ended %+v", r)
	}
	left := w.engine.Messages("failures")
	if len(left) != 1 || !strings.Contains(left[0].Body, `"aggregate":"gift-002"`) {
		t.Errorf("left are %+v", left)
	}
	w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Operation == "ReceiveMessage" }})
	out := w.expect(cli.Done, "redrive gift-002 --execute --queue failures", "not all letters are deleted")
	if !strings.Contains(out, "letters                0   deleted from the queue") {
		t.Errorf("it prints\n%s", out)
	}
}
