package reorder

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/event"
)

func TestFirstVersionNeedsNoRead(t *testing.T) {
	s := play(t, Options{})
	s.is("offer", s.offer(0, 1, "a1 a2"), "")
	s.is("unseen", s.unseen(10), "")
	s.holds(20, 2, 0)
	s.is("next", s.next(10), "a1 a2")
	s.is("nothing else", s.next(10), "")
	s.holds(20, 2, 0)
	s.is("done", s.done(0, "a", 2), "1/1 1/2")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 2})
}

func TestFirstSightAsksOnce(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a4 b9 a5")
	s.offer(0, 1, "a6")
	s.is("nothing is ready", s.next(10), "")
	s.is("one", s.unseen(1), "a")
	s.is("the other", s.unseen(10), "b")
	s.is("not again", s.unseen(10), "")
	s.holds(40, 4, 0)
	s.is("what the target holds is settled", s.learn(0, "a", 5), "1/1 1/3")
	s.holds(40, 2, 0)
	s.is("a second answer", s.learn(0, "a", 6), "")
	s.is("next", s.next(10), "a6")
	s.is("done", s.done(0, "a", 6), "1/4")
	s.holds(30, 1, 0) // the first page, for b
	s.is("b", s.learn(0, "b", 8), "")
	s.is("next", s.next(10), "b9")
	s.is("done", s.done(0, "b", 9), "1/2")
	s.is("known by now", s.offer(0, 1, "a6 b9"), "1/5 1/6")
	s.is("known by now", s.offer(0, 1, "a7 b10"), "")
	s.is("not asked again", s.unseen(10), "")
	s.counted(Stats{Applied: 2, Duplicates: 4})
}

func TestRepeatsCountOnce(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a4 a4 a5 a5")
	s.counted(Stats{Duplicates: 2})
	s.unseen(1)
	s.is("applied before", s.learn(0, "a", 4), "1/1 1/2")
	s.counted(Stats{Duplicates: 3})
	s.next(9)
	s.is("done", s.done(0, "a", 5), "1/3 1/4")
	s.counted(Stats{Duplicates: 3, Applied: 1})
}

func TestNextTakesTurns(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "b1 a1 b2 c1 a2 b3")
	s.is("first come", s.next(2), "b1 b2")
	s.is("then", s.next(2), "a1 a2")
	s.is("b is done in part", s.done(0, "b", 2), "1/1 1/3")
	s.is("then", s.next(2), "c1")
	s.offer(0, 1, "a3")
	s.is("b queued behind c", s.next(2), "b3")
	s.is("a is in hand", s.next(2), "")
	s.is("done", s.done(0, "a", 2), "1/2 1/5")
	s.is("what came meanwhile", s.next(2), "a3")
}

func TestRepeatsSettleWithTheirVersion(t *testing.T) {
	s := play(t, Options{})
	s.is("three of a kind", s.offer(0, 1, "a1 a1 a2 a1"), "")
	s.is("another shard's", s.offer(0, 2, "a2 a4 a4"), "")
	s.holds(70, 7, 0)
	s.is("next", s.next(1), "a1")
	s.is("while in hand", s.offer(0, 2, "a1"), "")
	s.is("with its version", s.done(0, "a", 1), "1/1 1/2 1/4 2/4")
	s.is("next", s.next(9), "a2")
	s.is("with its version", s.done(0, "a", 2), "1/3 2/1")
	s.holds(30, 2, 0)
	s.is("a3", s.offer(0, 1, "a3"), "")
	s.is("next", s.next(9), "a3 a4")
	s.is("done", s.done(0, "a", 4), "1/5 2/2 2/3")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 4, Duplicates: 5, GapsArrived: 1})
}

func TestSomebodyElseWentFurther(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a1 a2 a3 a4 a6")
	s.is("next", s.next(2), "a1 a2")
	s.is("all that is in effect", s.done(0, "a", 5), "1/1 1/2 1/3 1/4")
	s.is("goes on from there", s.next(9), "a6")
	s.is("far beyond", s.done(0, "a", 100), "1/5")
	s.is("old", s.offer(0, 1, "a7 a100"), "1/6 1/7")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 3, Duplicates: 2, GapsArrived: 1})
}

func TestHeldComesBack(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a1 a2 a3 b1")
	s.is("next", s.next(9), "a1 a2 a3")
	s.is("one took effect", s.fail(0, "a", 1, 1000), "1/1")
	s.is("b does not mind", s.next(9), "b1")
	s.is("done", s.done(0, "b", 1), "1/4")
	s.is("more for a", s.offer(10, 1, "a4 a2"), "")
	s.is("a is held", s.next(9), "")
	s.is("too early", s.due(999), "| 1000")
	s.is("held", s.next(9), "")
	s.is("its time", s.due(1000), "")
	s.is("again", s.next(9), "a2 a3 a4")
	s.is("done", s.done(1000, "a", 4), "1/2 1/3 1/5 1/6")
	s.holds(0, 0, 0)
}

func TestLostAnswerAsksAgain(t *testing.T) {
	s := play(t, Options{})
	s.offer(0, 1, "a1 a2 a3")
	s.is("next", s.next(2), "a1 a2")
	s.is("nothing is known", s.lose(0, "a", 100), "")
	s.is("not before the hold ends", s.unseen(9), "")
	s.is("hold", s.due(50), "| 100")
	s.is("hold ends", s.due(100), "")
	s.is("asked", s.unseen(9), "a")
	s.is("asked once", s.unseen(9), "")
	s.is("nothing moves", s.next(9), "")
	s.is("it had taken effect", s.learn(120, "a", 2), "1/1 1/2")
	s.is("goes on", s.next(9), "a3")
	s.is("done", s.done(130, "a", 3), "1/3")
	s.holds(0, 0, 0)
}

func TestLostAnswerOfATargetThatForgot(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a2")
	s.next(1)
	s.is("one", s.done(0, "a", 1), "1/1")
	s.next(1)
	s.lose(0, "a", 100)
	s.due(100)
	s.is("asked", s.unseen(9), "a")
	s.is("gone", s.learn(100, "a", 0), "")
	s.counted(Stats{Applied: 1, Resets: 1})
	s.is("waits", s.due(100), "| 1100")
	s.is("refilled", s.due(1100), "a 1-1")
	s.fill(1100, "a", 1, 1, 1)
	s.is("all", s.next(9), "a1 a2")
	s.is("only what is not settled", s.done(1100, "a", 2), "1/2")
	s.holds(0, 0, 0)
}

func TestTargetReset(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.offer(0, 1, "a1 a2 a3 a4")
	s.next(3)
	s.is("done", s.done(0, "a", 3), "1/1 1/2 1/3")
	s.is("next", s.next(9), "a4")
	s.is("the target holds less", s.done(0, "a", 1), "")
	s.counted(Stats{Applied: 3, Resets: 1})
	s.is("nothing can go on", s.next(9), "")
	s.is("waits for its own records", s.due(0), "| 1000")
	s.is("refilled", s.due(1000), "a 2-3")
	s.fill(1000, "a", 2, 3, 3)
	s.holds(40, 1, 2)
	s.is("next", s.next(9), "a2 a3 a4")
	s.is("done", s.done(1000, "a", 4), "1/4")
	s.holds(0, 0, 0)
	s.counted(Stats{Applied: 6, Resets: 1, GapsFilled: 1})
}

func TestIdleIsForgotten(t *testing.T) {
	s := play(t, Options{IdleAggregates: 2})
	for _, a := range []string{"a", "b", "c"} {
		s.offer(0, 1, a+"1")
		s.next(1)
		s.done(0, a, 1)
	}
	s.is("still known", s.offer(0, 1, "b1 c1"), "1/4 1/5")
	s.is("the longest idle is forgotten", s.offer(0, 1, "a2"), "")
	s.is("asked again", s.unseen(9), "a")
	s.is("in its place", s.learn(0, "a", 1), "")
	s.is("next", s.next(9), "a2")
	s.is("done", s.done(0, "a", 2), "1/6")
	s.is("now b is forgotten", s.offer(0, 1, "c1 b2"), "1/7")
	s.is("asked again", s.unseen(9), "b")
	if n := len(s.w.entries); n != 3 {
		t.Fatalf("%d aggregates are known, want two idle ones and b", n)
	}
	s.is("a busy one never is", s.learn(0, "b", 1), "")
	s.offer(0, 1, "d1 e1 f1")
	s.is("all are there", s.next(9)+" "+s.next(9)+" "+s.next(9)+" "+s.next(9), "b2 d1 e1 f1")
}

// The aggregate offered last is remembered apart, and must not be when it was
// forgotten.
func TestIdleIsForgottenThoughOfferedLast(t *testing.T) {
	s := play(t, Options{IdleAggregates: 1})
	s.offer(0, 1, "b1 a1")
	s.next(9)
	s.next(9)
	s.done(0, "a", 1)
	s.done(0, "b", 1)
	s.offer(0, 1, "a2")
	s.is("asked again", s.unseen(9), "a")
}

// What is kept of an idle aggregate is its position: the slots of its busiest
// day are not.
func TestIdleKeepsNoSlots(t *testing.T) {
	s := play(t, Options{})
	for v := range 5000 {
		s.offer(0, 1, fmt.Sprint("a", v+1))
	}
	for s.next(1000) != "" {
		s.done(0, "a", s.w.entries["a"].position+1000)
	}
	s.holds(0, 0, 0)
	if e := s.w.entries["a"]; e.work != nil || e.position != 5000 || e.list != &s.w.idle {
		t.Fatalf("after its last event it is %+v", e)
	}
}

// Late and stray answers: whatever comes back for what nobody asked changes
// nothing.
func TestStrayAnswers(t *testing.T) {
	s := play(t, Options{GapWait: time.Second})
	s.is("learn of nobody", s.learn(0, "x", 5), "")
	s.is("done of nobody", s.done(0, "x", 5), "")
	s.is("an empty page", s.offer(0, 1, ""), "")
	s.offer(0, 1, "a1 a2")
	s.is("done, not in hand", s.done(0, "a", 2), "")
	s.is("learn, not asked", s.learn(0, "a", 2), "")
	s.is("next", s.next(9), "a1 a2")
	s.is("done", s.done(0, "a", 2), "1/1 1/2")
	s.is("done twice", s.done(0, "a", 1), "")
	s.counted(Stats{Applied: 2})
}

// Whatever is called in whatever order, as far as the documentation allows it:
// nothing panics, no record is settled twice, no payload is missing.
func TestAnyCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := New(Options{
			GapWait: time.Second, FillEvents: rapid.IntRange(1, 5).Draw(t, "room"), IdleAggregates: rapid.IntRange(1, 3).Draw(t, "idle"),
		})
		now := moment(0)
		ordinals := map[Shard]uint64{}
		settled := map[Ref]bool{}
		inHand := map[string]event.Run{}
		var gaps []Gap
		check := func(refs []Ref) {
			for _, r := range refs {
				if settled[r] || r.Ordinal == 0 || r.Ordinal > ordinals[r.Shard] {
					t.Fatalf("%v settled again, or never offered", r)
				}
				settled[r] = true
			}
		}
		aggregate := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		version := rapid.Uint64Range(0, 12)
		shard := rapid.Custom(func(t *rapid.T) Shard { return Shard(rapid.IntRange(1, 3).Draw(t, "shard")) })
		later := rapid.Custom(func(t *rapid.T) time.Time {
			return now.Add(time.Duration(rapid.IntRange(-1000, 3000).Draw(t, "ms")) * time.Millisecond)
		})
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if u := w.Usage(); u.Bytes < 0 || u.Entries < 0 || u.Fills < 0 || w.asked < 0 {
					t.Fatalf("usage fell below nothing: %+v, asked %d", u, w.asked)
				}
				for i, e := range w.timers {
					if e.work == nil || e.timer != i {
						t.Fatalf("timer %d is of %s, which does not know", i, e.aggregate)
					}
				}
			},
			"offer": func(t *rapid.T) {
				from := shard.Draw(t, "from")
				var page []Offered
				for range rapid.IntRange(0, 6).Draw(t, "events") {
					ordinals[from] += uint64(rapid.IntRange(1, 3).Draw(t, "step")) // filtered ones lie between
					page = append(page, Offered{Event: named(aggregate.Draw(t, "aggregate"), version.Draw(t, "version")), Ordinal: ordinals[from]})
				}
				check(w.Offer(now, from, 10*len(page), page))
			},
			"next": func(t *rapid.T) {
				run, ok := w.Next(rapid.IntRange(1, 4).Draw(t, "limit"))
				if !ok {
					return
				}
				if _, twice := inHand[run.Aggregate]; twice || len(run.Events) == 0 {
					t.Fatalf("%s is handed out twice, or without events", run.Aggregate)
				}
				inHand[run.Aggregate] = run
				for _, e := range run.Events {
					if e.Image.Absent() {
						t.Fatalf("%s%d has no payload", e.Aggregate, e.Version)
					}
				}
			},
			"done": func(t *rapid.T) {
				a := aggregate.Draw(t, "aggregate")
				o := event.Outcome{Known: rapid.Bool().Draw(t, "known"), Position: event.Position{Version: version.Draw(t, "position")}}
				run, claimed := inHand[a]
				if failed := rapid.Bool().Draw(t, "failed"); claimed {
					at := o.Position.Version
					if cut := at >= run.After.Version && at < run.Last().Version; cut || failed || !o.Known {
						o.Err = errSink
					}
				}
				delete(inHand, a)
				check(w.Done(now, a, o, later.Draw(t, "retry")))
			},
			"learn": func(t *rapid.T) {
				check(w.Learn(now, aggregate.Draw(t, "aggregate"), event.Position{Version: version.Draw(t, "position")}))
			},
			"unlearned": func(t *rapid.T) { w.Unlearned(aggregate.Draw(t, "aggregate"), later.Draw(t, "retry")) },
			"unseen":    func(t *rapid.T) { w.Unseen(rapid.IntRange(0, 2).Draw(t, "limit")) },
			"due": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
				g, _ := w.Due(now)
				gaps = append(gaps, g...)
			},
			"answer": func(t *rapid.T) {
				if len(gaps) == 0 {
					t.Skip("no gap")
				}
				i := rapid.IntRange(0, len(gaps)-1).Draw(t, "gap")
				g := gaps[i]
				gaps = append(gaps[:i], gaps[i+1:]...)
				var events []event.Event
				for v := g.From; v <= g.To && len(events) < rapid.IntRange(0, 5).Draw(t, "events"); v++ {
					events = append(events, named(g.Aggregate, v))
				}
				if rapid.Bool().Draw(t, "postpone") {
					w.Postpone(now, g, later.Draw(t, "until"))
				} else {
					w.Fill(now, g, events)
				}
			},
			"drop": func(t *rapid.T) { w.Drop(now, shard.Draw(t, "lost")) },
			"shed": func(t *rapid.T) { w.Shed(rapid.IntRange(-1, 50).Draw(t, "bytes")) },
		})
	})
}

// TestH1_OlderThanTheSinkIsNoDuplicate: a sink that begins in the middle of an
// aggregate has never applied what lies before, wherever its position stands.
func TestH1_OlderThanTheSinkIsNoDuplicate(t *testing.T) {
	s := play(t, Options{BeforeStart: func(e event.Event) bool { return e.Version < 3 }})
	s.offer(0, 1, "a5")
	if got := s.w.Lowest("a"); got != 5 {
		t.Errorf("the lowest is %d", got)
	}
	s.unseen(1)
	s.offer(0, 1, "a4")
	if got := s.w.Lowest("a"); got != 4 {
		t.Errorf("the lowest is %d", got)
	}
	s.learn(0, "a", 3)
	if got := s.w.Lowest("a"); got != 0 {
		t.Errorf("the lowest is %d", got)
	}
	s.is("next", s.next(9), "a4 a5")
	s.is("done", s.done(0, "a", 5), "1/2 1/1")
	s.offer(0, 1, "a2 a4")
	s.counted(Stats{Applied: 2, Duplicates: 1, BeforeStart: 1})
}
