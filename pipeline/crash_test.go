package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks"
)

// TestWorkersDieAtAnyCall: workers are killed after all kinds of calls, in the
// middle of traffic and of rolls; whoever comes after finishes their work.
func TestWorkersDieAtAnyCall(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Seed: seed, Shards: 2, RollRecords: 60, Permute: 3, ListingLag: time.Second})
				workers := func(c localaws.Call) bool { // but for the look-up before a worker starts
					return c.App != "writer" && c.App != "check" && c.Operation != "DescribeTable"
				}
				w.engine.Inject(localaws.Fault{Match: workers, Do: localaws.LoseAnswer, Share: 0.05})
				w.engine.Inject(localaws.Fault{Match: workers, Do: localaws.Throttle, Share: 0.05})
				survivor := w.start("survivor")
				for i := range 6 {
					victim := w.start("victim")
					died := make(chan struct{}, 1)
					calls := 20 + int(seed)*13 + i*17
					w.engine.Inject(localaws.Fault{
						Match: func(c localaws.Call) bool {
							hit := c.App == victim.app && c.N == calls
							if hit {
								select {
								case died <- struct{}{}:
								default:
								}
							}
							return hit
						}, Do: localaws.LoseAnswer,
					})
					for range 8 {
						w.append(fmt.Sprintf("a%d", i%4), 2)
						w.append("hot", 3)
						time.Sleep(500 * time.Millisecond)
					}
					select {
					case <-died:
					case <-time.After(10 * time.Second):
					}
					if i%2 == 0 {
						victim.crash()
					} else {
						survivor.crash()
						survivor = victim
					}
				}
				eventually(t, 3*time.Minute, "everything is applied", w.caughtUp)
				survivor.end()
				for a, n := range w.heads {
					w.applied("view", a, n)
				}
				w.oneReader()
			})
		})
	}
}

// TestLateRenewalsAndLostAnswers: with every kind of call going wrong, two
// workers share a stream to its end.
func TestLateRenewalsAndLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Seed: 9, Shards: 3})
		for _, name := range []string{"one", "two"} {
			r := w.start(name)
			mine := func(c localaws.Call) bool { return c.App == r.app }
			for _, f := range []localaws.Fault{
				{Match: isWrite(r.app), Do: localaws.LandLate, Delay: 14 * time.Second, Hold: true, Share: 0.1},
				{Match: mine, Do: localaws.LoseAnswer, Share: 0.05},
				{Match: mine, Do: localaws.FailBefore, Share: 0.05},
				{Match: mine, Do: localaws.FailAfter, Share: 0.05},
				{Match: mine, Do: localaws.TimeOut, Share: 0.02},
			} {
				w.engine.Inject(f)
			}
			defer r.end()
		}
		for i := range 60 {
			w.append(fmt.Sprintf("a%d", i%7), 2)
			time.Sleep(time.Second)
			if i%20 == 10 {
				if err := w.engine.RollAll(eventsTable); err != nil {
					t.Fatal(err)
				}
			}
		}
		eventually(t, 3*time.Minute, "everything is applied", w.caughtUp)
		for a, n := range w.heads {
			w.applied("view", a, n)
		}
		w.oneReader()
	})
}

// keeping is a sink that keeps the items of the events it is given.
type keeping struct {
	sinks.Sink
	items chan event.Item
}

func (k keeping) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	for _, run := range runs {
		for _, e := range run.Events {
			if item, err := e.Image.Item(); err == nil {
				k.items <- item
			}
		}
	}
	return k.Sink.Apply(ctx, runs)
}

// TestRecordsArriveAsStored: every type of attribute reaches the sink exactly
// as the table holds it.
func TestRecordsArriveAsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		e := happened()
		e.Attributes = event.Item{
			"s": event.String("Grüße, 世界"), "empty": event.String(""), "n": event.Number("-12345678901234567890.123456789"),
			"small": event.Number("1E-130"), "b": event.Binary{0, 255, 1}, "t": event.Bool(true), "f": event.Bool(false), "null": event.Null{},
			"ss": event.StringSet{"a", "b"}, "ns": event.NumberSet{"1", "2.5"}, "bs": event.BinarySet{{1}, {2, 3}},
			"l": event.List{event.Number("1"), event.List{}, event.Map{"deep": event.List{event.Null{}}}},
			"m": event.Map{"a": event.Map{"b": event.String("c")}, "none": event.Map{}},
		}
		w.write("a", 0, e)
		items := make(chan event.Item, 1)
		r := w.start("one", func(o *pipeline.Options) { o.Sinks[0].Sink = keeping{o.Sinks[0].Sink, items} })
		eventually(t, 20*time.Second, "it is applied", w.caughtUp)
		r.end()
		got, stored := <-items, w.engine.Items(eventsTable)
		if len(stored) != 1 || !got.Equal(stored[0]) {
			t.Errorf("the sink was given\n%v, stored is\n%v", got, stored)
		}
		for name, want := range e.Attributes {
			if name != "small" && !event.Equal(got[name], want) {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	})
}
