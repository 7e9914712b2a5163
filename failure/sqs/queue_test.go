package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/notify"
	"millrace/internal/localaws"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// letter is a letter with an id, an aggregate and a text.
func letter(id, aggregate, text string) failure.Letter {
	return failure.Letter{LetterID: id, Group: "orders", Aggregate: aggregate, Cause: failure.Complaint{Class: "permanent", Text: text}}
}

func idOf(t *testing.T, r failure.Received) string {
	t.Helper()
	var body struct{ LetterID string }
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.LetterID
}

var _ notify.Queue = (*Queue)(nil)

type bench struct {
	*localaws.Engine
	*Queue
	t *testing.T
}

func newBench(t *testing.T, name string, attributes map[string]string) *bench {
	t.Helper()
	e := localaws.New(localaws.Options{Seed: 7})
	t.Cleanup(func() { _ = e.Close() })
	client := sqs.NewFromConfig(e.Config("letters"))
	if strings.HasSuffix(name, ".fifo") {
		attributes = map[string]string{"FifoQueue": "true"}
	}
	if _, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}); err != nil {
		t.Fatal(err)
	}
	return &bench{Engine: e, Queue: open(t, client, name), t: t}
}

func open(t *testing.T, client *sqs.Client, name string) *Queue {
	t.Helper()
	q, err := New(client, Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// on is a fault of the calls of one operation.
func on(operation string, do localaws.Action, times int) localaws.Fault {
	return localaws.Fault{Do: do, Times: times, Match: func(c localaws.Call) bool { return c.Operation == operation }}
}

func letters(n int, aggregates int) []failure.Letter {
	out := make([]failure.Letter, n)
	for i := range out {
		out[i] = letter(fmt.Sprintf("letter-%03d", i), fmt.Sprintf("agg-%d", i%aggregates), "")
	}
	return out
}

// classes lists the class of each answer, "ok" for none.
func classes(answers []error) []string {
	out := make([]string, len(answers))
	for i, err := range answers {
		out[i] = "ok"
		if err != nil {
			out[i] = event.ClassOf(err).String()
		}
	}
	return out
}

func wantClasses(t *testing.T, answers []error, want ...string) {
	t.Helper()
	if got := classes(answers); !slices.Equal(got, want) {
		t.Errorf("answers %v (%v), want %v", got, errors.Join(answers...), want)
	}
}

func repeat(s string, n int) []string { return slices.Repeat([]string{s}, n) }

func (b *bench) calls(operation string) int {
	return b.Counters().Total(localaws.CallCount{Service: localaws.SQS, Operation: operation})
}

func TestSendAndReceive(t *testing.T) {
	for _, name := range []string{"letters", "letters.fifo"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, name, nil)
				all := letters(23, 23)
				wantClasses(t, b.Send(t.Context(), all), repeat("ok", 23)...)
				if n := b.calls("SendMessageBatch"); n != 3 {
					t.Errorf("%d calls, want 3", n)
				}
				sent := time.Now().UTC()
				got, err := b.Receive(t.Context(), 21, 90*time.Second+time.Millisecond)
				if err != nil || len(got) != 21 {
					t.Fatalf("received %d, %v, want 21", len(got), err)
				}
				at := slices.IndexFunc(all, func(l failure.Letter) bool { return l.ID() == idOf(t, got[0]) })
				want := all[at].Attributes()
				maps.DeleteFunc(want, func(_, value string) bool { return value == "" })
				if !maps.Equal(got[0].Attributes, want) || got[0].Receives != 1 || !got[0].Sent.Equal(sent.Truncate(time.Millisecond)) {
					t.Errorf("received %+v, want %v at %v", got[0], want, sent)
				}
				rest, err := b.Receive(t.Context(), 21, time.Second)
				if err != nil || len(rest) != 2 {
					t.Errorf("received %d, %v, want the 2 that are left", len(rest), err)
				}
				var handles []string
				for _, r := range got {
					handles = append(handles, r.Handle)
				}
				wantClasses(t, b.Delete(t.Context(), handles), repeat("ok", 21)...)
				wantClasses(t, b.Delete(t.Context(), handles[:1]), "ok") // again
				if n := len(b.Messages(name)); n != 2 {
					t.Errorf("%d letters left, want 2", n)
				}
			})
		})
	}
}

// TestHide: a letter comes back when the time for which it is hidden ends,
// rounded up to a second, and by no other time.
func TestHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "letters", map[string]string{"VisibilityTimeout": "7"})
		b.Send(t.Context(), letters(1, 1))
		for hide, want := range map[time.Duration]time.Duration{0: time.Second, 1500 * time.Millisecond: 2 * time.Second, time.Hour: time.Hour} {
			got, err := b.Receive(t.Context(), 1, hide)
			if err != nil || len(got) != 1 {
				t.Fatalf("received %v, %v", got, err)
			}
			time.Sleep(want - time.Nanosecond)
			if !b.Messages("letters")[0].Hidden {
				t.Errorf("hidden for %v: back before %v", hide, want)
			}
			time.Sleep(time.Nanosecond)
			if b.Messages("letters")[0].Hidden {
				t.Errorf("hidden for %v: not back after %v", hide, want)
			}
		}
		if _, err := b.Receive(t.Context(), 1, 13*time.Hour); event.ClassOf(err) != event.Permanent || err == nil {
			t.Errorf("hidden for 13 h: %v, want a refusal", err)
		}
	})
}

// TestSizes: batches keep to 1 MiB together, and a letter that is too large is
// refused alone.
func TestSizes(t *testing.T) {
	b := newBench(t, "letters", nil)
	all := letters(7, 7)
	for i := range all {
		all[i] = letter(fmt.Sprint(i), "a", strings.Repeat("x", 400_000))
	}
	all[2] = letter("2", "a", strings.Repeat("x", maxBytes))
	all[4] = letter("4", "a", "small")
	answers := b.Send(t.Context(), all)
	wantClasses(t, answers, "ok", "ok", "permanent", "ok", "ok", "ok", "ok")
	if !strings.Contains(answers[2].Error(), "letter 2") {
		t.Errorf("error %v, want the letter named", answers[2])
	}
	if n := b.calls("SendMessageBatch"); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
}

// TestPartialBatches: each letter has its own answer, by whose fault it is.
func TestPartialBatches(t *testing.T) {
	b := newBench(t, "letters", map[string]string{"MaximumMessageSize": "2048"})
	remove := b.Inject(on("SendMessageBatch", localaws.Partial, 0))
	wantClasses(t, b.Send(t.Context(), letters(4, 4)), "ok", "ok", "transient", "transient")
	remove()
	all := letters(3, 3)
	all[1] = letter("large", "a", strings.Repeat("x", 2000))
	wantClasses(t, b.Send(t.Context(), all), "ok", "permanent", "ok")
}

// TestCallsThatFail: what the answers say, what is stored, and what a further
// try makes of it.
func TestCallsThatFail(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		do                    localaws.Action
		class                 string
		stored, again, inFIFO int // letters after the call, after a second one, and that in a FIFO queue
	}{
		{"throttle", localaws.Throttle, "transient", 0, 2, 2},
		{"500 before", localaws.FailBefore, "transient", 0, 2, 2},
		{"500 after", localaws.FailAfter, "transient", 2, 4, 2},
		{"lost answer", localaws.LoseAnswer, "transient", 2, 4, 2},
	} {
		for _, name := range []string{"letters", "letters.fifo"} {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				b := newBench(t, name, nil)
				b.Inject(on("SendMessageBatch", tc.do, 1))
				wantClasses(t, b.Send(t.Context(), letters(2, 2)), tc.class, tc.class)
				if n := len(b.Messages(name)); n != tc.stored {
					t.Errorf("%d letters, want %d", n, tc.stored)
				}
				wantClasses(t, b.Send(t.Context(), letters(2, 2)), "ok", "ok")
				want := tc.again
				if name != "letters" {
					want = tc.inFIFO
				}
				ids := map[string]bool{}
				for _, m := range b.Messages(name) {
					ids[idOf(t, failure.Received{Body: []byte(m.Body)})] = true
				}
				if n := len(b.Messages(name)); n != want || len(ids) != 2 {
					t.Errorf("%d letters under %d ids, want %d under 2", n, len(ids), want)
				}
			})
		}
	}
}

// TestCallThatFailsEndsTheSend: the letters after it get its answer, and SQS is
// left alone.
func TestCallThatFailsEndsTheSend(t *testing.T) {
	b := newBench(t, "letters", nil)
	fault := on("SendMessageBatch", localaws.Throttle, 0)
	fault.After = 1
	b.Inject(fault)
	wantClasses(t, b.Send(t.Context(), letters(35, 35)), append(repeat("ok", 10), repeat("transient", 25)...)...)
	if n := b.calls("SendMessageBatch"); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantClasses(t, b.Send(ctx, letters(2, 2)), "stopping", "stopping")
}

// TestMissingQueue: a hint that names it, by name and by URL, in every call;
// and once it is there it is found.
func TestMissingQueue(t *testing.T) {
	e := localaws.New(localaws.Options{})
	t.Cleanup(func() { _ = e.Close() })
	client := sqs.NewFromConfig(e.Config("letters"))
	name := "absent"
	for _, given := range []string{name, "https://sqs.eu-central-1.amazonaws.com/000000000000/" + name} {
		q := open(t, client, given)
		_, receive := q.Receive(t.Context(), 1, time.Minute)
		for call, err := range map[string]error{
			"Send": q.Send(t.Context(), letters(1, 1))[0], "Receive": receive, "Delete": q.Delete(t.Context(), []string{"x"})[0],
		} {
			if err == nil || event.ClassOf(err) != event.Unavailable || !strings.Contains(err.Error(), fmt.Sprintf("the on-failure queue %q does not exist in this account and Region (create it", given)) {
				t.Errorf("%s of %s: %v, want Unavailable with a hint", call, given, err)
			}
		}
	}
	q := open(t, client, name)
	wantClasses(t, q.Send(t.Context(), letters(1, 1)), "unavailable")
	if _, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
		t.Fatal(err)
	}
	wantClasses(t, q.Send(t.Context(), letters(1, 1)), "ok")
}

// TestFind: a queue that is there, one that is not, and one that the role may not
// ask for, which is not called missing.
func TestFind(t *testing.T) {
	b := newBench(t, "letters", nil)
	refuses := sqs.NewFromConfig(b.Config("letters"), func(o *sqs.Options) {
		o.HTTPClient = &localaws.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist or you do not have access to it."}`)
		})}
	})
	for _, tc := range []struct {
		client *sqs.Client
		name   string
		found  bool
		lacks  bool
	}{
		{b.client, "letters", true, false},
		{b.client, "https://sqs.eu-central-1.amazonaws.com/000000000000/letters", true, false},
		{b.client, "absent", false, true},
		{b.client, "https://sqs.eu-central-1.amazonaws.com/000000000000/absent", false, true},
		{refuses, "letters", false, false},
		{refuses, "https://sqs.eu-central-1.amazonaws.com/000000000000/letters", false, false},
	} {
		err := open(t, tc.client, tc.name).Find(t.Context())
		var missing *event.Missing
		if (err == nil) != tc.found || errors.As(err, &missing) != tc.lacks || err != nil && event.ClassOf(err) != event.Unavailable {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestOrder: whatever fails and whenever, the letters of one aggregate reach a
// FIFO queue in order, each once.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, "letters.fifo", nil)
		waiting := letters(rapid.IntRange(1, 40).Draw(rt, "letters"), rapid.IntRange(1, 12).Draw(rt, "aggregates"))
		b.Inject(localaws.Fault{
			Do: rapid.SampledFrom([]localaws.Action{localaws.Partial, localaws.LoseAnswer, localaws.FailBefore, localaws.FailAfter}).Draw(rt, "fault"),
			// Partial leaves a batch of one undone for as long as it acts.
			Share: 0.5, Match: func(c localaws.Call) bool { return c.Operation == "SendMessageBatch" },
		})
		sent := len(waiting)
		for range 200 {
			var left []failure.Letter
			for i, err := range b.Send(t.Context(), waiting) {
				if err != nil {
					left = append(left, waiting[i])
				}
			}
			waiting = left
		}
		last := map[string]string{}
		messages := b.Messages("letters.fifo")
		for _, m := range messages {
			if m.Duplicate <= last[m.Group] {
				rt.Fatalf("letter %s of %s came after %s", m.Duplicate, m.Group, last[m.Group])
			}
			last[m.Group] = m.Duplicate
		}
		if len(messages) != sent || len(waiting) > 0 {
			rt.Fatalf("%d of %d letters arrived, %d wait", len(messages), sent, len(waiting))
		}
	})
}

// TestLetterThatCannotBeSent holds the later ones of its aggregate up, in a
// FIFO queue only.
func TestLetterThatCannotBeSent(t *testing.T) {
	all := []failure.Letter{letter("1", "a", ""), letter("2", "a", strings.Repeat("x", maxBytes)), letter("3", "b", ""), letter("4", "a", "")}
	for name, last := range map[string]string{"letters": "ok", "letters.fifo": "transient"} {
		wantClasses(t, newBench(t, name, nil).Send(t.Context(), all), "ok", "permanent", "ok", last)
	}
}

// TestCase12_PartialDelete: what can be deleted is, and each of the rest is told.
func TestCase12_PartialDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "letters", nil)
		b.Send(t.Context(), letters(12, 12))
		got, err := b.Receive(t.Context(), 12, time.Minute)
		if err != nil || len(got) != 12 {
			t.Fatalf("received %d, %v", len(got), err)
		}
		handles := []string{"garbage"}
		for _, r := range got {
			handles = append(handles, r.Handle)
		}
		remove := b.Inject(on("DeleteMessageBatch", localaws.LoseDelete, 1))
		wantClasses(t, b.Delete(t.Context(), handles[1:11]), repeat("ok", 10)...)
		remove()
		if len(b.Messages("letters")) != 12 {
			t.Errorf("a lost delete left %d letters", len(b.Messages("letters")))
		}
		remove = b.Inject(on("DeleteMessageBatch", localaws.Partial, 1))
		wantClasses(t, b.Delete(t.Context(), handles[1:5]), "ok", "ok", "transient", "transient")
		remove()
		wantClasses(t, b.Delete(t.Context(), handles), append([]string{"permanent"}, repeat("ok", 12)...)...)
		if n := len(b.Messages("letters")); n != 0 {
			t.Errorf("%d letters left", n)
		}
		defer b.Inject(on("DeleteMessageBatch", localaws.Throttle, 0))()
		wantClasses(t, b.Delete(t.Context(), handles), repeat("transient", 13)...)
		if n := b.calls("DeleteMessageBatch"); n != 5 {
			t.Errorf("%d calls, want 5: the one that fails is the last", n)
		}
	})
}

// TestCallThatHangs: it is given up, and the letter is as one whose answer was
// lost.
func TestCallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "letters", nil)
		defer b.Inject(localaws.Fault{Do: localaws.TimeOut, Match: func(c localaws.Call) bool { return c.Service == localaws.SQS }})()
		began := time.Now()
		wantClasses(t, b.Send(t.Context(), letters(1, 1)), "transient")
		_, err := b.Receive(t.Context(), 1, time.Minute)
		wantClasses(t, []error{err}, "transient")
		wantClasses(t, b.Delete(t.Context(), []string{"x"}), "transient")
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("they took %v", took)
		}
	})
}

// TestReceiveThatFails returns what it has.
func TestReceiveThatFails(t *testing.T) {
	b := newBench(t, "letters", nil)
	b.Send(t.Context(), letters(15, 15))
	fault := on("ReceiveMessage", localaws.Throttle, 0)
	fault.After = 1
	defer b.Inject(fault)()
	got, err := b.Receive(t.Context(), 15, time.Minute)
	if len(got) != 10 || event.ClassOf(err) != event.Transient {
		t.Errorf("received %d, %v, want 10 and the error", len(got), err)
	}
}

// TestOptions: what New refuses.
func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Name: "q", Wait: time.Millisecond}, {Name: "q", Wait: 21 * time.Second}} {
		if _, err := New(nil, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	q, err := New(nil, Options{Name: "https://host/1/q.fifo"})
	if err != nil || !q.fifo || q.wait != time.Second {
		t.Errorf("%+v, %v", q, err)
	}
}
