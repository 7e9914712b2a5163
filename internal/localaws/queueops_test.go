package localaws

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// queueBench is an engine with one queue and the client of one application.
type queueBench struct {
	*Engine
	t   *testing.T
	sqs *sqs.Client
	url string
}

func newQueueBench(t *testing.T, name string, attributes map[string]string) *queueBench {
	t.Helper()
	e := New(Options{KeepHistory: true})
	t.Cleanup(func() { _ = e.Close() })
	b := &queueBench{Engine: e, t: t, sqs: sqs.NewFromConfig(e.Config("tests/main"))}
	out, err := b.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	must(t, err)
	b.url = *out.QueueUrl
	return b
}

func (b *queueBench) send(bodies ...string) {
	b.t.Helper()
	for _, body := range bodies {
		_, err := b.sqs.SendMessage(b.t.Context(), &sqs.SendMessageInput{QueueUrl: &b.url, MessageBody: &body})
		must(b.t, err)
	}
}

func (b *queueBench) receive(ctx context.Context, hide, wait int32) ([]types.Message, error) {
	out, err := b.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &b.url, MaxNumberOfMessages: 10, VisibilityTimeout: hide, WaitTimeSeconds: wait,
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

func (b *queueBench) delete(messages ...types.Message) *sqs.DeleteMessageBatchOutput {
	b.t.Helper()
	var entries []types.DeleteMessageBatchRequestEntry
	for i, m := range messages {
		entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(string(rune('a' + i))), ReceiptHandle: m.ReceiptHandle})
	}
	out, err := b.sqs.DeleteMessageBatch(b.t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: &b.url, Entries: entries})
	must(b.t, err)
	return out
}

// TestLongPoll: a receive that waits gets a message as soon as there is one,
// however it comes about, and gives up after its time to the second.
func TestLongPoll(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(b *queueBench) // in hand when the poll begins
		during func(b *queueBench) // after 3 s
		took   time.Duration
		none   bool
	}{
		{name: "nothing comes", took: 20 * time.Second, none: true},
		{name: "a send", during: func(b *queueBench) { b.send("x") }, took: 3 * time.Second},
		{name: "a visibility time-out ends", before: func(b *queueBench) {
			b.send("x")
			_, err := b.receive(b.t.Context(), 7, 0)
			must(b.t, err)
		}, took: 7 * time.Second},
		{name: "a delay ends", before: func(b *queueBench) {
			_, err := b.sqs.SendMessage(b.t.Context(), &sqs.SendMessageInput{QueueUrl: &b.url, MessageBody: aws.String("x"), DelaySeconds: 5})
			must(b.t, err)
		}, took: 5 * time.Second},
		{name: "a delay ends with the poll", before: func(b *queueBench) {
			_, err := b.sqs.SendMessage(b.t.Context(), &sqs.SendMessageInput{QueueUrl: &b.url, MessageBody: aws.String("x"), DelaySeconds: 20})
			must(b.t, err)
		}, took: 20 * time.Second},
		{name: "the queue is deleted", during: func(b *queueBench) {
			_, err := b.sqs.DeleteQueue(b.t.Context(), &sqs.DeleteQueueInput{QueueUrl: &b.url})
			must(b.t, err)
		}, took: 3 * time.Second, none: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newQueueBench(t, "q", nil)
				if tc.before != nil {
					tc.before(b)
				}
				var during sync.WaitGroup
				during.Go(func() {
					if tc.during != nil {
						time.Sleep(3 * time.Second)
						tc.during(b)
					}
				})
				began := time.Now()
				got, _ := b.receive(t.Context(), 0, 20)
				if took := time.Since(began); took != tc.took || len(got) == 0 != tc.none {
					t.Errorf("%d messages after %v, want them after %v", len(got), took, tc.took)
				}
				during.Wait()
			})
		})
	}
}

// TestLongPollOfALockedGroup: deleting what is in flight frees the group.
func TestLongPollOfALockedGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t, "q.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
		for _, body := range []string{"1", "2"} {
			_, err := b.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &b.url, MessageBody: &body, MessageGroupId: aws.String("g")})
			must(t, err)
		}
		one, err := b.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &b.url})
		must(t, err)
		var during sync.WaitGroup
		during.Go(func() {
			time.Sleep(4 * time.Second)
			b.delete(one.Messages...)
		})
		began := time.Now()
		got, err := b.receive(t.Context(), 0, 20)
		must(t, err)
		if took := time.Since(began); took != 4*time.Second || len(got) != 1 || *got[0].Body != "2" {
			t.Errorf("received %v after %v, want the second after 4 s", got, took)
		}
		during.Wait()
	})
}

// TestLongPollGivenUp: who is gone takes no message along, and the end of the
// engine ends the polls.
func TestLongPollGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t, "q", nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.receive(ctx, 0, 20); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
		b.send("x")
		if m := b.Messages("q"); len(m) != 1 || m[0].Hidden {
			t.Errorf("messages %v, want one that nobody took", m)
		}
		got, err := b.receive(t.Context(), 60, 0)
		must(t, err)
		done := make(chan error, 1)
		go func() {
			_, err := b.receive(t.Context(), 0, 20)
			done <- err
		}()
		synctest.Wait()
		began := time.Now()
		must(t, b.Close())
		if err := <-done; err == nil {
			t.Error("a poll outlived the engine")
		}
		if took := time.Since(began); took != 0 || len(got) != 1 {
			t.Errorf("Close took %v", took)
		}
	})
}

// TestFaultsOfQueues: what the caller sees and what is stored.
func TestFaultsOfQueues(t *testing.T) {
	entries := func(bodies ...string) (out []types.SendMessageBatchRequestEntry) {
		for _, body := range bodies {
			out = append(out, types.SendMessageBatchRequestEntry{Id: aws.String(body), MessageBody: aws.String(body), MessageGroupId: aws.String("g" + body)})
		}
		return out
	}
	for _, tc := range []struct {
		name   string
		action Action
		err    func(error) bool
		failed int
		stored int
	}{
		{name: "none", err: func(err error) bool { return err == nil }, stored: 3},
		{name: "throttle", action: Throttle, err: func(err error) bool {
			var throttled *types.RequestThrottled
			return errors.As(err, &throttled)
		}},
		{name: "500 after the effect", action: FailAfter, err: func(err error) bool { return code(err) == "InternalServerError" }, stored: 3},
		{name: "lost answer", action: LoseAnswer, err: func(err error) bool { return errors.Is(err, errAborted) }, stored: 3},
		{name: "partial", action: Partial, err: func(err error) bool { return err == nil }, failed: 2, stored: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newQueueBench(t, "q", nil)
			if tc.action != 0 {
				b.Inject(Fault{Do: tc.action, Match: func(c Call) bool {
					return c.Service == SQS && c.Operation == "SendMessageBatch" && c.Table == "q" && c.Key == "g1,g2,g3"
				}})
			}
			out, err := b.sqs.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &b.url, Entries: entries("1", "2", "3")})
			if !tc.err(err) {
				t.Errorf("error %v", err)
			}
			if err == nil && (len(out.Failed) != tc.failed || len(out.Successful) != 3-tc.failed) {
				t.Errorf("%d failed and %d successful", len(out.Failed), len(out.Successful))
			}
			if err == nil && tc.failed > 0 && (out.Failed[0].SenderFault || *out.Failed[0].Code != "InternalError") {
				t.Errorf("failed %+v", out.Failed[0])
			}
			if n := len(b.Messages("q")); n != tc.stored {
				t.Errorf("%d messages stored, want %d", n, tc.stored)
			}
			if n := b.Counters().Total(CallCount{Service: SQS, Operation: "SendMessageBatch", App: "tests/main"}); n != 1 {
				t.Errorf("%d calls counted", n)
			}
		})
	}
}

// TestLoseDelete: the delete succeeds and the message comes back.
func TestLoseDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newQueueBench(t, "q", nil)
		b.send("x")
		got, err := b.receive(t.Context(), 10, 0)
		must(t, err)
		remove := b.Inject(Fault{Do: LoseDelete, Match: func(c Call) bool { return c.Key == *got[0].MessageId }})
		if out := b.delete(got...); len(out.Successful) != 1 || len(out.Failed) != 0 {
			t.Errorf("deleting answered %+v", out)
		}
		_, err = b.sqs.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &b.url, ReceiptHandle: got[0].ReceiptHandle})
		must(t, err)
		remove()
		time.Sleep(10 * time.Second)
		again, err := b.receive(t.Context(), 10, 0)
		must(t, err)
		if len(again) != 1 || *again[0].MessageId != *got[0].MessageId {
			t.Fatalf("received %v, want the message again", again)
		}
		b.delete(again...)
		if n := len(b.Messages("q")); n != 0 {
			t.Errorf("%d messages after a delete that was not lost", n)
		}
	})
}

// TestPartialReceive: a receive can find nothing though there is something.
func TestPartialReceive(t *testing.T) {
	b := newQueueBench(t, "q", nil)
	b.send("x")
	defer b.Inject(Fault{Do: Partial, Times: 1})()
	for _, want := range []int{0, 1} {
		got, err := b.receive(t.Context(), 0, 0)
		must(t, err)
		if len(got) != want {
			t.Errorf("received %d messages, want %d", len(got), want)
		}
	}
}

// TestQueueURLs: a queue's URL is one under which the engine can be called.
func TestQueueURLs(t *testing.T) {
	b := newQueueBench(t, "q", nil)
	if b.url != "https://sqs.eu-central-1.amazonaws.com/000000000000/q" {
		t.Errorf("in process the URL is %s", b.url)
	}
	server, err := b.Listen("127.0.0.1:0")
	must(t, err)
	defer func() { must(t, server.Close()) }()
	client := sqs.NewFromConfig(server.Config("tests/http"))
	out, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q")})
	must(t, err)
	if *out.QueueUrl != server.URL+"/000000000000/q" {
		t.Errorf("through a socket the URL is %s", *out.QueueUrl)
	}
	_, err = client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: aws.String("x")})
	must(t, err)
	if _, err = client.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: aws.String("https://elsewhere/111111111111/q")}); err == nil {
		t.Error("the queue of another account was found")
	}
}

// TestUnsupportedPartsOfSQSAreNamed: they are refused, never ignored.
func TestUnsupportedPartsOfSQSAreNamed(t *testing.T) {
	b := newQueueBench(t, "q", nil)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"ReceiveRequestAttemptId": func() error {
			_, err := b.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &b.url, ReceiveRequestAttemptId: aws.String("x")})
			return err
		},
		"MessageSystemAttributes": func() error {
			_, err := b.sqs.SendMessage(ctx, &sqs.SendMessageInput{
				QueueUrl: &b.url, MessageBody: aws.String("x"),
				MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("x")}},
			})
			return err
		},
		"tags": func() error {
			_, err := b.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("t"), Tags: map[string]string{"a": "b"}})
			return err
		},
		"KmsMasterKeyId": func() error {
			_, err := b.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &b.url, Attributes: map[string]string{"KmsMasterKeyId": "x"}})
			return err
		},
		"StartMessageMoveTask": func() error {
			_, err := b.sqs.StartMessageMoveTask(ctx, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String("x")})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want a refusal that names it", name, err)
		}
	}
	if names := b.Messages("none"); names != nil {
		t.Errorf("messages of no queue: %v", names)
	}
}

// TestAccepted: what a queue once accepted stays known, alone or from a batch
// and whatever became of it; what it refused or took for a duplicate does not.
func TestAccepted(t *testing.T) {
	b := newQueueBench(t, "q.fifo", map[string]string{"FifoQueue": "true"})
	send := func(body, duplicate string) error {
		_, err := b.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: &b.url, MessageBody: &body, MessageGroupId: aws.String("g"), MessageDeduplicationId: &duplicate,
		})
		return err
	}
	must(t, send("first", "1"))
	must(t, send("again", "1"))
	if err := send("\x00", "2"); err == nil {
		t.Error("a message with a barred character is accepted")
	}
	_, err := b.sqs.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &b.url, Entries: []types.SendMessageBatchRequestEntry{
		{Id: aws.String("a"), MessageBody: aws.String("second"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("3")},
	}})
	must(t, err)
	got, err := b.receive(t.Context(), 30, 0)
	must(t, err)
	b.delete(got...)
	accepted := b.Accepted("q.fifo")
	if len(got) != 2 || len(b.Messages("q.fifo")) != 0 || len(accepted) != 2 || accepted[0].Body != "first" || accepted[1].Body != "second" {
		t.Errorf("%d received and deleted, accepted are %+v", len(got), accepted)
	}
	if b.Accepted("none") != nil {
		t.Error("a queue that is not there has accepted something")
	}
	forgetful := New(Options{})
	t.Cleanup(func() { _ = forgetful.Close() })
	client := sqs.NewFromConfig(forgetful.Config("tests/main"))
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
	must(t, err)
	_, err = client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: aws.String("x")})
	must(t, err)
	if forgetful.Accepted("q") != nil {
		t.Error("an engine without history remembers messages")
	}
}
