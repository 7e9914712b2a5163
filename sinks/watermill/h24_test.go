package watermill_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/sinks/watermill"
)

var errBroker = errors.New("the broker has no leader")

// TestH24a_ARunThatIsNotItsOwnReadsTheRowAgain: worker 1 read position 2;
// somebody else sends 3 and moves the row; worker 1 sends 4 alone, also where
// it had sent 2 itself and was told to ask.
func TestH24a_ARunThatIsNotItsOwnReadsTheRowAgain(t *testing.T) {
	b := newBench(t)
	first, other := b.sink(), b.sink()
	b.must(other, run("a", 0, 2), 2)
	if at, err := first.Positions(t.Context(), []string{"a"}); err != nil || at[0].Version != 2 {
		t.Fatalf("position %v, %v, want 2", at, err)
	}
	b.must(other, run("a", 2, 3), 3)
	b.must(first, run("a", 2, 4), 4)
	b.sent("a", 1, 2, 3, 4)

	// The same with what worker 1 wrote last: a fill is preceded by a question.
	if _, err := first.Positions(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	b.must(other, run("a", 4, 5), 5)
	b.must(first, run("a", 4, 6), 6)
	b.sent("a", 1, 2, 3, 4, 5, 6)
}

// TestH24a_ARunThatSaysSoReadsTheRowAgain: the worker that makes the run knows
// what the sink cannot: that a shard has changed hands, or that a part of the
// run is a fill.
func TestH24a_ARunThatSaysSoReadsTheRowAgain(t *testing.T) {
	b := newBench(t)
	first, other := b.sink(), b.sink()
	b.must(first, run("a", 0, 2), 2)
	b.must(other, run("a", 2, 4), 4)
	later := run("a", 2, 5)
	later.Recheck = true
	b.must(first, later, 5)
	b.sent("a", 1, 2, 3, 4, 5)
	b.row("a", 5)
}

// TestH24a_AFailureIsAReasonToReadAgain: somebody else goes on while the
// aggregate waits for the next try.
func TestH24a_AFailureIsAReasonToReadAgain(t *testing.T) {
	for name, bad := range map[string]uint64{"of the first event": 2, "of a later one": 3} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			first, other := b.sink(), b.sink()
			b.must(first, run("a", 0, 1), 1)
			b.before = on(bad, 1, errBroker)
			b.fails(first, run("a", 1, 4), bad-1, event.Unknown)
			b.must(other, run("a", bad-1, 4), 4)
			b.must(first, run("a", bad-1, 5), 5)
			b.sent("a", 1, 2, 3, 4, 5)
		})
	}
}

// TestH24a_NoReadWhereTheRunFollowsItsOwnWrite: one worker alone pays one write
// a run.
func TestH24a_NoReadWhereTheRunFollowsItsOwnWrite(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	b.must(s, run("a", 0, 1), 1)
	b.must(s, run("a", 1, 40), 40)
	b.must(s, run("a", 40, 41), 41)
	if b.reads() != 1 || b.moves() != 3 {
		t.Errorf("%d reads and %d moves for three runs, want 1 and 3", b.reads(), b.moves())
	}
}

// TestH24b_RepeatsComeAfterNewerOnes where two workers hold the aggregate and
// neither had a reason to ask: under the same ids, and the row ends where it
// belongs.
func TestH24b_RepeatsComeAfterNewerOnes(t *testing.T) {
	b := newBench(t)
	first, other := b.sink(), b.sink()
	b.must(first, run("a", 0, 2), 2)
	b.must(other, run("a", 2, 4), 4)
	b.must(first, run("a", 2, 3), 4) // it has sent 2 itself, so it sends 3 again
	b.sent("a", 1, 2, 3, 4, 3)
	if err := firsts(b.log, "a", 4); err != nil {
		t.Error(err)
	}
	// A failed condition makes it ask.
	b.must(first, run("a", 3, 5), 5)
	b.sent("a", 1, 2, 3, 4, 3, 5)
	b.row("a", 5)
}

// TestH24b_ARunThatOvertakesMovesTheRowOn: the other worker moved the row to
// the middle of what this one has sent.
func TestH24b_ARunThatOvertakesMovesTheRowOn(t *testing.T) {
	b := newBench(t)
	other := b.sink()
	s := b.sink(func(o *watermill.Options) {
		o.Publisher = &hooked{Publisher: b.broker, then: func(m *message.Message) {
			if versionOf(m) == 4 {
				b.must(other, run("a", 0, 3), 3)
			}
		}}
	})
	b.must(s, run("a", 0, 5), 5)
	b.sent("a", 1, 2, 3, 1, 2, 3, 4, 5)
	b.row("a", 5)
	if err := firsts(b.log, "a", 5); err != nil {
		t.Error(err)
	}
	// Somebody else is about: the next run asks.
	b.must(b.sink(), run("a", 5, 6), 6)
	b.must(s, run("a", 5, 7), 7)
	b.sent("a", 1, 2, 3, 1, 2, 3, 4, 5, 6, 7)
}

// hooked lets a test act between two messages.
type hooked struct {
	message.Publisher
	then func(*message.Message)
}

func (h *hooked) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		h.then(m)
	}
	return h.Publisher.Publish(topic, messages...)
}

// TestH24c_ACallCarriesOneEvent: with several in a call a later one may be
// accepted where an earlier one is refused.
func TestH24c_ACallCarriesOneEvent(t *testing.T) {
	b := newBench(t)
	b.before = on(4, 1, errBroker)
	s := b.sink()
	b.fails(s, run("a", 0, 6), 3, event.Unknown)
	b.sent("a", 1, 2, 3) // 5 and 6 stay behind 4
	b.row("a", 3)
	b.must(s, run("a", 3, 6), 6)
	b.sent("a", 1, 2, 3, 4, 5, 6)
	if slices.Max(b.calls) != 1 {
		t.Errorf("messages a call: %v", b.calls)
	}
}

// TestH24d_ARetrySendsNothingThatWasAccepted, whatever failed: a later event,
// the write of the position, or its answer.
func TestH24d_ARetrySendsNothingThatWasAccepted(t *testing.T) {
	t.Run("a later event", func(t *testing.T) {
		b := newBench(t)
		b.before = on(3, 2, errBroker)
		s := b.sink()
		b.fails(s, run("a", 0, 4), 2, event.Unknown)
		b.fails(s, run("a", 2, 4), 2, event.Unknown)
		b.must(s, run("a", 2, 4), 4)
		b.sent("a", 1, 2, 3, 4)
	})
	t.Run("the position's write", func(t *testing.T) {
		b := newBench(t)
		s := b.sink()
		b.must(s, run("a", 0, 1), 1)
		b.Inject(localaws.Fault{Match: isMove, Do: localaws.Throttle, Times: 2})
		b.fails(s, run("a", 1, 3), 1, event.Transient)
		b.fails(s, run("a", 1, 4), 1, event.Transient) // 4 goes out now
		b.row("a", 1)
		b.must(s, run("a", 1, 3), 4) // a shorter run: what was accepted counts
		b.must(s, run("a", 4, 5), 5)
		b.sent("a", 1, 2, 3, 4, 5)
	})
	for name, action := range map[string]localaws.Action{"its answer": localaws.LoseAnswer, "its answer, without effect": localaws.FailBefore} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := b.sink()
			b.must(s, run("a", 0, 1), 1)
			b.Inject(localaws.Fault{Match: isMove, Do: action, Times: 1})
			if got := apply(t.Context(), s, run("a", 1, 3)); got.Known || event.ClassOf(got.Err) != event.Transient {
				t.Fatalf("%+v, want an unknown position and a transient error", got)
			}
			at, err := s.Positions(t.Context(), []string{"a"})
			if err != nil {
				t.Fatal(err)
			}
			b.must(s, run("a", at[0].Version, 4), 4)
			b.sent("a", 1, 2, 3, 4)
			b.row("a", 4)
		})
	}
}

// TestH24_AnotherWorkerRepeatsWhatWasNotRecorded: nobody can know, so it goes
// out again under the same id.
func TestH24_AnotherWorkerRepeatsWhatWasNotRecorded(t *testing.T) {
	b := newBench(t)
	b.Inject(localaws.Fault{Match: isMove, Do: localaws.FailBefore, Times: 1})
	if got := apply(t.Context(), b.sink(), run("a", 0, 2)); got.Known {
		t.Fatalf("%+v, want an unknown position", got)
	}
	b.must(b.sink(), run("a", 0, 3), 3)
	b.sent("a", 1, 2, 1, 2, 3)
	if err := firsts(b.log, "a", 3); err != nil {
		t.Error(err)
	}
}
