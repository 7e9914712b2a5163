package watermill_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/internal/controlkey"
	"millrace/internal/localaws"
	"millrace/sinks/watermill"
)

// TestWhatAPublishersErrorMeans, and that nothing passes the event that met it.
func TestWhatAPublishersErrorMeans(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want event.Class
	}{
		"an error of its own":      {errBroker, event.Unknown},
		"a time-out":               {fmt.Errorf("sending: %w", context.DeadlineExceeded), event.Transient},
		"a context that is no one": {fmt.Errorf("sending: %w", context.Canceled), event.Unknown}, // ours still runs
		"transient":                {&event.Error{Class: event.Transient, Op: "sending"}, event.Transient},
		"permanent":                {fmt.Errorf("sending: %w", &event.Error{Class: event.Permanent, Op: "checking"}), event.Permanent},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.before = on(3, 1, tc.err)
			err := b.fails(b.sink(), run("a", 0, 5), 2, tc.want).Err
			if !errors.Is(err, tc.err) || !strings.HasPrefix(err.Error(), "publishing version 3 of a: ") {
				t.Errorf("%v does not say what failed", err)
			}
			b.sent("a", 1, 2)
			b.row("a", 2)
		})
	}
}

// TestALostAnswerOfThePublisherRepeatsTheEvent: whether it was accepted nobody
// knows, and leaving it out would be worse.
func TestALostAnswerOfThePublisherRepeatsTheEvent(t *testing.T) {
	b := newBench(t)
	b.after = on(2, 1, errBroker)
	s := b.sink()
	b.fails(s, run("a", 0, 3), 1, event.Unknown)
	b.must(s, run("a", 1, 3), 3)
	b.sent("a", 1, 2, 2, 3)
	if err := firsts(b.log, "a", 3); err != nil {
		t.Error(err)
	}
}

// TestAPanicIsPermanent, of the publisher as of what makes its messages, and
// takes nobody down. An *event.Error that was panicked with lends no class.
func TestAPanicIsPermanent(t *testing.T) {
	for _, value := range []any{"no leader", errBroker, &event.Error{Class: event.Transient, Op: "sending"}} {
		b := newBench(t)
		b.before = func(m *message.Message) error {
			if versionOf(m) == 3 {
				panic(value)
			}
			return nil
		}
		err := b.fails(b.sink(), run("a", 0, 5), 2, event.Permanent).Err
		if !strings.Contains(err.Error(), fmt.Sprint("panic: ", value)) {
			t.Errorf("%v does not tell the panic", err)
		}
		b.row("a", 2)
	}
	b := newBench(t)
	s := b.sink(func(o *watermill.Options) { o.Marshal = func(event.Event) ([]byte, error) { panic("no form") } })
	b.fails(s, run("a", 0, 1), 0, event.Permanent)
	b.sent("a")
}

// TestOurOwnStopInTheMiddle: what was accepted is neither lost nor, by this
// worker, sent again; the stop is no failure whatever the publisher calls it.
func TestOurOwnStopInTheMiddle(t *testing.T) {
	for name, answer := range map[string]error{"accepted": nil, "refused": errBroker} {
		t.Run(name, func(t *testing.T) {
			b, want := newBench(t), "draining"
			if answer != nil {
				want = answer.Error()
			}
			ctx, stop := context.WithCancelCause(t.Context())
			b.after = func(m *message.Message) error {
				if versionOf(m) == 2 && ctx.Err() == nil {
					stop(errors.New("draining"))
					return answer
				}
				return nil
			}
			s := b.sink()
			b.must(s, run("a", 0, 1), 1) // and refused is then the run's first event
			got := apply(ctx, s, run("a", 1, 4))
			if !got.Known || got.Position.Version != 1 || event.ClassOf(got.Err) != event.Stopping || !strings.Contains(got.Err.Error(), want) {
				t.Errorf("%+v, want position 1 and our own stop", got)
			}
			if b.moves() != 1 {
				t.Errorf("%d moves that nobody waited for", b.moves()-1)
			}
			b.must(s, run("a", 1, 4), 4)
			if answer == nil {
				b.sent("a", 1, 2, 3, 4)
			} else {
				b.sent("a", 1, 2, 2, 3, 4)
			}
		})
	}
}

// TestThePublisherGetsTheCallsContext, so that a stop reaches it.
func TestThePublisherGetsTheCallsContext(t *testing.T) {
	type key struct{}
	b := newBench(t)
	var got []any
	b.before = func(m *message.Message) error {
		got = append(got, m.Context().Value(key{}))
		return nil
	}
	apply(context.WithValue(t.Context(), key{}, "the call's"), b.sink(), run("a", 0, 2))
	if fmt.Sprint(got) != "[the call's the call's]" {
		t.Errorf("the contexts hold %v", got)
	}
}

// TestTheRowDecidesWhatIsDone: duplicates and holes reach no publisher.
func TestTheRowDecidesWhatIsDone(t *testing.T) {
	b := newBench(t)
	b.must(b.sink(), run("a", 0, 5), 5)
	s := b.sink()
	for _, repeat := range [][2]uint64{{0, 5}, {0, 3}, {2, 4}, {4, 5}} {
		b.must(s, run("a", repeat[0], repeat[1]), 5)
	}
	b.must(s, run("a", 3, 8), 8)
	b.must(s, run("a", 9, 11), 8) // behind a hole
	b.must(b.sink(), run("new", 4, 6), 0)
	b.sent("a", 1, 2, 3, 4, 5, 6, 7, 8)
	b.sent("new")
}

// TestH1_WhereASinkBegins: the version before its first one is written down,
// and an older version that arrives later is a duplicate for everybody.
func TestH1_WhereASinkBegins(t *testing.T) {
	b := newBench(t)
	if at, err := b.store.Move(t.Context(), identity(), "a", event.Position{}, event.Position{Version: 6}); err != nil || at.Version != 6 {
		t.Fatalf("writing the baseline: %v, %v", at, err)
	}
	b.must(b.sink(), run("a", 6, 8), 8)
	b.must(b.sink(), run("a", 2, 3), 8)
	b.sent("a", 7, 8)
}

// TestH13_ARowThatWasMovedBackSendsAgain, also what this worker remembers.
func TestH13_ARowThatWasMovedBackSendsAgain(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	b.must(s, run("a", 0, 4), 4)
	b.Inject(localaws.Fault{Match: isMove, Do: localaws.Throttle, Times: 1})
	b.fails(s, run("a", 4, 5), 4, event.Transient) // 5 is out and not recorded
	b.remove("a")
	b.must(s, run("a", 4, 6), 0)
	b.must(s, run("a", 0, 6), 6)
	b.sent("a", 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6)

	// Without a reason to ask it is the write that shows it.
	b.remove("a")
	b.fails(s, run("a", 6, 7), 0, event.Transient)
	b.must(s, run("a", 0, 7), 7)
	b.row("a", 7)
}

// remove takes a row away, as an operator might.
func (b bench) remove(aggregate string) {
	b.Helper()
	k := controlkey.Position("orders", "orders-events", "mail", 1, aggregate)
	key := awsvalue.ToItem(event.Item{"pk": event.String(k.PK), "sk": event.String(k.SK)})
	_, err := dynamodb.NewFromConfig(b.Config("operator")).DeleteItem(b.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("millrace"), Key: key})
	if err != nil {
		b.Fatal(err)
	}
}

// TestNothingIsSentWhileTheRowCannotBeRead.
func TestNothingIsSentWhileTheRowCannotBeRead(t *testing.T) {
	b := newBench(t)
	b.Inject(localaws.Fault{Match: isRead, Do: localaws.FailBefore, Times: 1})
	s := b.sink()
	b.fails(s, run("a", 0, 2), 0, event.Transient)
	b.sent("a")
	b.must(s, run("a", 0, 2), 2)
}

// TestOneRunDoesNotSpoilTheNext of a call.
func TestOneRunDoesNotSpoilTheNext(t *testing.T) {
	b := newBench(t)
	b.before = func(m *message.Message) error {
		if m.Metadata.Get(watermill.MetadataAggregate) == "bad" {
			return errBroker
		}
		return nil
	}
	outcomes := b.sink().Apply(t.Context(), []event.Run{run("a", 0, 2), run("bad", 0, 2), run("b", 0, 3)})
	for i, want := range []uint64{2, 0, 3} {
		if got := outcomes[i]; !got.Known || got.Position.Version != want || (got.Err != nil) != (want == 0) {
			t.Errorf("run %d: %+v, want position %d", i, got, want)
		}
	}
}

// TestTheMemoryIsBounded, and what was used last stays.
func TestTheMemoryIsBounded(t *testing.T) {
	b := newBench(t)
	s := b.sink(func(o *watermill.Options) { o.Cache = 4 })
	for n := range 10 {
		b.must(s, run(fmt.Sprint("a", n), 0, 1), 1)
	}
	known := b.reads()
	b.must(s, run("a9", 1, 2), 2)
	b.must(s, run("a8", 1, 2), 2)
	if b.reads() != known {
		t.Errorf("%d reads of what was used last", b.reads()-known)
	}
	for n := range 6 {
		b.must(s, run(fmt.Sprint("a", n), 1, 2), 2)
	}
	if b.reads() != known+6 {
		t.Errorf("%d reads of six aggregates that were to be forgotten", b.reads()-known)
	}
}

// TestCloseClosesThePublisher, and tells what it met.
func TestCloseClosesThePublisher(t *testing.T) {
	b := newBench(t)
	if err := b.sink().Close(t.Context()); err != nil || b.closings != 1 {
		t.Errorf("%v, closed %d times", err, b.closings)
	}
	for name, p := range map[string]closing{
		"it fails":  func() error { return errBroker },
		"it panics": func() error { panic(errBroker) },
	} {
		s := b.sink(func(o *watermill.Options) { o.Publisher = p })
		if err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), errBroker.Error()) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// closing is a publisher that is only closed.
type closing func() error

func (closing) Publish(string, ...*message.Message) error { return errBroker }
func (c closing) Close() error                            { return c() }

func TestWhatNewRefuses(t *testing.T) {
	b := newBench(t)
	for name, change := range map[string]func(*watermill.Options){
		"no publisher": func(o *watermill.Options) { o.Publisher = nil },
		"no positions": func(o *watermill.Options) { o.Positions = nil },
		"no topic":     func(o *watermill.Options) { o.Topic = "" },
		"placeholder":  func(o *watermill.Options) { o.Topic = "orders.{kind}" },
		"{type}":       func(o *watermill.Options) { o.Topic = "orders.{type" },
		"identity":     func(o *watermill.Options) { o.Identity.Version = 0 },
	} {
		if _, err := watermill.New(b.options(change)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
