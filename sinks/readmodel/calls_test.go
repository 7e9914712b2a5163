package readmodel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/sinks/readmodel"
)

// TestOneWriteARun: a first version and a remembered aggregate need no read,
// whatever the run's length.
func TestOneWriteARun(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	b.must(s, run("a", 0, 1))
	b.must(s, run("a", 1, 500))
	b.must(s, run("a", 500, 501))
	if reads, writes := b.calls("BatchGetItem"), b.calls("UpdateItem"); reads != 0 || writes != 3 {
		t.Errorf("%d reads and %d writes for three runs, want none and 3", reads, writes)
	}
	// Positions reads the whole item, so that the first run after it needs no
	// second read.
	fresh := b.sink()
	if _, err := fresh.Positions(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	b.must(fresh, run("a", 501, 502))
	if reads := b.calls("BatchGetItem"); reads != 1 {
		t.Errorf("%d reads, want 1", reads)
	}
}

// TestRunsOfACallAreReadTogether: 150 unknown items are two reads.
func TestRunsOfACallAreReadTogether(t *testing.T) {
	b := newBench(t)
	var first, second []event.Run
	for n := range 150 {
		aggregate := fmt.Sprintf("a%03d", n)
		first, second = append(first, run(aggregate, 0, 2)), append(second, run(aggregate, 2, 3))
	}
	b.sink().Apply(t.Context(), first)
	for i, got := range b.sink().Apply(t.Context(), second) {
		if want := (event.Outcome{Position: event.Position{Version: 3}, Known: true}); got != want {
			t.Fatalf("run %d: %+v", i, got)
		}
	}
	if reads, writes := b.calls("BatchGetItem"), b.calls("UpdateItem"); reads != 2 || writes != 300 {
		t.Errorf("%d reads and %d writes, want 2 and 300", reads, writes)
	}
}

// TestTheMemoryIsBounded, and what was used last stays.
func TestTheMemoryIsBounded(t *testing.T) {
	b := newBench(t)
	s := b.sink(func(o *readmodel.Options) { o.Cache = 2 })
	b.must(s, run("a", 0, 1))
	b.must(s, run("b", 0, 1))
	b.must(s, run("a", 1, 2))
	b.must(s, run("c", 0, 1)) // b has to go
	b.must(s, run("a", 2, 3))
	b.must(s, run("c", 1, 2))
	if reads := b.calls("BatchGetItem"); reads != 0 {
		t.Errorf("%d reads of remembered aggregates", reads)
	}
	b.must(s, run("b", 1, 2))
	if reads := b.calls("BatchGetItem"); reads != 1 {
		t.Errorf("%d reads of the forgotten aggregate, want 1", reads)
	}
}

// TestAThrottledWriteIsKnownToHaveNoEffect, so that the next try needs no
// read.
func TestAThrottledWriteIsKnownToHaveNoEffect(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	b.must(s, run("a", 0, 2))
	b.Inject(localaws.Fault{Match: isUpdate, Do: localaws.Throttle, Times: 1})
	got := apply(t.Context(), s, run("a", 2, 4))
	if !got.Known || got.Position.Version != 2 || event.ClassOf(got.Err) != event.Transient {
		t.Errorf("%+v, want position 2, known, and a transient error", got)
	}
	b.must(s, run("a", 2, 4))
	if reads := b.calls("BatchGetItem"); reads != 0 {
		t.Errorf("%d reads", reads)
	}
	b.versions("a", 4)
}

// TestALostAnswerForgetsTheItem and the next run reads it.
func TestALostAnswerForgetsTheItem(t *testing.T) {
	for _, action := range []localaws.Action{localaws.LoseAnswer, localaws.FailAfter, localaws.FailBefore} {
		t.Run(fmt.Sprint(action), func(t *testing.T) {
			b := newBench(t)
			s := b.sink()
			b.must(s, run("a", 0, 2))
			b.Inject(localaws.Fault{Match: isUpdate, Do: action, Times: 1})
			if got := apply(t.Context(), s, run("a", 2, 4)); got.Known || event.ClassOf(got.Err) != event.Transient {
				t.Errorf("%+v, want an unknown position and a transient error", got)
			}
			b.must(s, run("a", 2, 4))
			if reads := b.calls("BatchGetItem"); reads != 1 {
				t.Errorf("%d reads, want 1", reads)
			}
			b.versions("a", 4)
		})
	}
}

// TestCase11_APartOfACallFails: of the writes of one call one is throttled and
// one loses its answer. Neither takes what was remembered with it that the
// others have, and what nobody knows is read before it is used.
func TestCase11_APartOfACallFails(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	names := []string{"a", "b", "c"}
	for _, name := range names {
		b.must(s, run(name, 0, 2))
	}
	about := func(name string) func(localaws.Call) bool {
		return func(c localaws.Call) bool { return isUpdate(c) && strings.HasPrefix(c.Key, "VIEW#"+name) }
	}
	b.Inject(localaws.Fault{Match: about("b"), Do: localaws.Throttle, Times: 1})
	b.Inject(localaws.Fault{Match: about("c"), Do: localaws.LoseAnswer, Times: 1})
	got := s.Apply(t.Context(), []event.Run{run("a", 2, 4), run("b", 2, 4), run("c", 2, 4)})
	if got[0] != (event.Outcome{Position: event.Position{Version: 4}, Known: true}) ||
		!got[1].Known || got[1].Position.Version != 2 || event.ClassOf(got[1].Err) != event.Transient ||
		got[2].Known || event.ClassOf(got[2].Err) != event.Transient {
		t.Fatalf("the outcomes are %+v", got)
	}
	got = s.Apply(t.Context(), []event.Run{run("a", 4, 5), run("b", 2, 5), run("c", 2, 5)})
	for i, o := range got {
		if o != (event.Outcome{Position: event.Position{Version: 5}, Known: true}) {
			t.Errorf("%s then ended %+v", names[i], o)
		}
		b.versions(names[i], 5)
	}
	if reads := b.calls("BatchGetItem"); reads != 1 {
		t.Errorf("%d reads, want 1: of what nobody knows", reads)
	}
}

// TestATimeOutIsNoStop: the deadline was the call's, and nobody knows what
// became of the write.
func TestATimeOutIsNoStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.sink()
		b.Inject(localaws.Fault{Match: isUpdate, Do: localaws.TimeOut})
		within, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if got := apply(within, s, run("a", 0, 1)); got.Known || event.ClassOf(got.Err) != event.Transient {
			t.Errorf("%+v, want an unknown position and a transient error", got)
		}
		stopping, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(errors.New("draining")) })
		if got := apply(stopping, s, run("a", 0, 1)); got.Known || event.ClassOf(got.Err) != event.Stopping {
			t.Errorf("%+v, want an unknown position and class stopping", got)
		}
	})
}

// TestAFailedReadChangesNothing and spares the runs that need none.
func TestAFailedReadChangesNothing(t *testing.T) {
	b := newBench(t)
	b.must(b.sink(), run("a", 0, 2))
	b.Inject(localaws.Fault{Match: isRead, Do: localaws.Throttle, Times: 1})
	s := b.sink()
	got := s.Apply(t.Context(), []event.Run{run("a", 2, 3), run("b", 0, 1)})
	if !got[0].Known || got[0].Position.Version != 2 || event.ClassOf(got[0].Err) != event.Transient {
		t.Errorf("%+v, want position 2, known, and a transient error", got[0])
	}
	if got[1].Err != nil || got[1].Position.Version != 1 {
		t.Errorf("the run beside it: %+v", got[1])
	}
	b.versions("a", 2)
}

func isRead(c localaws.Call) bool { return c.Operation == "BatchGetItem" }

// TestPositions of many, some twice, from answers that leave keys out.
func TestPositions(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	var ids []string
	for n := range uint64(40) {
		ids = append(ids, fmt.Sprint("a", n))
		if n > 0 {
			b.must(s, run(ids[n], 0, n))
		}
	}
	b.Inject(localaws.Fault{Match: isRead, Do: localaws.Partial, Times: 1})
	got, err := b.sink().Positions(t.Context(), append(ids, ids...))
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range got {
		if want := uint64(i % 40); at.Version != want {
			t.Errorf("position %d is %d, want %d", i, at.Version, want)
		}
	}
	if reads := b.calls("BatchGetItem"); reads != 2 {
		t.Errorf("%d reads, want one and one for what it left out", reads)
	}
	// Answers that leave out everything that was left are an overload.
	b.Inject(localaws.Fault{Match: isRead, Do: localaws.Partial})
	if _, err := b.sink().Positions(t.Context(), ids); event.ClassOf(err) != event.Transient {
		t.Errorf("overloaded: %v, want class transient", err)
	}
}

// TestPositionsOfAnItemThatCannotBeDecoded: the position can be read, and the
// run then says what is wrong.
func TestPositionsOfAnItemThatCannotBeDecoded(t *testing.T) {
	b := newBench(t)
	s := b.sink(b.folding(tally(t, "n")))
	b.must(s, run("a", 0, 2))
	b.edit("a", func(item event.Item) { item["n"] = event.Number("2.5") })
	fresh := b.sink(b.folding(tally(t, "n")))
	if at, err := fresh.Positions(t.Context(), []string{"a"}); err != nil || at[0].Version != 2 {
		t.Errorf("position %v, %v, want 2", at, err)
	}
	if got := apply(t.Context(), fresh, run("a", 2, 3)); event.ClassOf(got.Err) != event.Permanent || got.Position.Version != 2 {
		t.Errorf("%+v, want position 2 and a permanent error", got)
	}
}

// TestParallelBoundsTheWritesOfACall.
func TestParallelBoundsTheWritesOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.Inject(localaws.Fault{Match: isUpdate, Do: localaws.Slow, Delay: time.Second})
		s := b.sink(func(o *readmodel.Options) { o.Parallel = 4 })
		var runs []event.Run
		for n := range 12 {
			runs = append(runs, run(fmt.Sprint("a", n), 0, 1))
		}
		began := time.Now()
		s.Apply(t.Context(), runs)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("12 writes of a second, 4 at a time, took %v, want 3 s", took)
		}
	})
}

// TestWritersThatKeepWinning: the item moves between every read and write of
// ours; the sink gives up after the second time.
func TestWritersThatKeepWinning(t *testing.T) {
	b := newBench(t)
	other := b.sink()
	b.must(other, run("a", 0, 1))
	s := b.sink()
	if _, err := s.Positions(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	next := uint64(1)
	b.Inject(localaws.Fault{Match: func(c localaws.Call) bool {
		if isUpdate(c) && c.App == "worker" && next < 3 {
			next++
			b.edit("a", func(item event.Item) { item["lastProcessedVersion"] = event.Number(fmt.Sprint(next)) })
		}
		return false
	}, Do: localaws.Slow})
	got := apply(t.Context(), s, run("a", 1, 9))
	if !got.Known || got.Position.Version != 2 || event.ClassOf(got.Err) != event.Transient {
		t.Errorf("%+v, want position 2 and a transient error", got)
	}
}
