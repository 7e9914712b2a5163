package pipeline_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"millrace/checkpoint"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/pipeline"
)

// TestH18_PoisonThatKillsIsBlocked: an event in the middle of a page kills
// whoever applies it. Three workers die before anybody is careful, two more at
// the event itself; then its aggregate is blocked and nobody dies any more,
// whoever begins and whatever follows. After the fix a redrive brings it back.
func TestH18_PoisonThatKillsIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		markers, p := newMarkerTable(), newPoison("view/hot@3")
		for i := range 40 {
			w.append(fmt.Sprintf("a%d", i), 5)
		}
		w.append("hot", 5)
		for i := range 40 {
			w.append(fmt.Sprintf("a%d", i), 2)
		}
		m, deaths := w.generations(p, "the aggregate is blocked", func() bool { return markers.crashed(t, "view", "hot", 3) }, withMarkers(markers))
		if deaths != 5 || m.Stats().Careful == 0 {
			t.Errorf("%d workers died, the next took %d shards with care", deaths, m.Stats().Careful)
		}
		eventually(t, time.Minute, "the followers are on record", func() bool { return markers.marker(t, "hot").SeenVersion == 5 })
		eventually(t, time.Minute, "the others are applied", func() bool {
			for i := range 40 {
				if !w.has("view", fmt.Sprintf("a%d", i), 7) {
					return false
				}
			}
			return true
		})
		eventually(t, time.Minute, "nothing is careful any more", w.unburdened)
		if got := markers.marker(t, "hot").Cause; got.Text != "the worker died 2 times while it applied this event" || got.Attempts != 2 {
			t.Errorf("the cause is %+v", got)
		}
		m.end()

		// A new worker knows nothing of it; to fill the gap before version 6 it
		// would apply version 3.
		w.append("hot", 1)
		m, deaths = w.generations(p, "the new follower is on record", func() bool { return markers.marker(t, "hot").SeenVersion == 6 }, withMarkers(markers))
		if deaths != 0 {
			t.Errorf("%d more workers died", deaths)
		}
		w.applied("view", "hot", 2)

		p.cure()
		result, err := w.redriver(markers, "job").Redrive(t.Context(), markers.marker(t, "hot"))
		if err != nil || result.Outcome != redrive.Released || result.To != 6 {
			t.Fatalf("the redrive ended %+v, %v", result, err)
		}
		w.append("hot", 2)
		eventually(t, time.Minute, "everything is applied", w.caughtUp)
		m.end()
		w.wholly()
	})
}

// TestH18_EverybodyKnowsOfIt: a worker that ran when another one blocked the
// aggregate takes the shard over later. It must not die of what is known.
func TestH18_EverybodyKnowsOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers, p := newMarkerTable(), newPoison("view/hot@3")
		w.append("hot", 3)
		for range 5 {
			if !w.mortal("mortal", p, withMarkers(markers)).dies("it dies", func() bool { return false }) {
				t.Fatal("a worker lived")
			}
		}
		one, two := w.mortal("one", p, withMarkers(markers)), w.mortal("two", p, withMarkers(markers))
		eventually(t, time.Minute, "one of them blocks it", func() bool { return markers.crashed(t, "view", "hot", 3) })
		other := two
		if w.owned(two.name)() {
			other = one
			two.end()
		} else {
			one.end()
		}
		w.append("hot", 2)
		if other.dies("the followers are on record", func() bool { return markers.marker(t, "hot").SeenVersion == 5 }) {
			t.Error("the other one died")
		}
		other.end()
	})
}

// TestH18_TwoSinks: an event kills in one sink. The other sink, and every other
// aggregate in the same one, lack nothing.
func TestH18_TwoSinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers, p := newMarkerTable(), newPoison("mail/hot@2")
		w.append("hot", 4)
		w.append("calm", 4)
		_, deaths := w.generations(p, "the aggregate is blocked in its sink", func() bool {
			return markers.crashed(t, "mail", "hot", 2) && w.has("mail", "calm", 4) && w.caughtUp() && w.unburdened()
		}, withMarkers(markers), func(o *pipeline.Options) { o.Sinks = append(o.Sinks, w.memory("mail")) })
		if deaths > 5 {
			t.Errorf("%d workers died", deaths)
		}
		if got := markers.of(t, "view", "hot"); got.NotLive() {
			t.Errorf("blocked in the other sink: %+v", got)
		}
		w.applied("mail", "hot", 1)
		w.applied("mail", "calm", 4)
		w.applied("view", "hot", 4)
		w.atTheEnd()
	})
}

// TestH18_TwoShardsAtOnce: each of two shards, of one worker, has poison.
func TestH18_TwoShardsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		for i := range 12 {
			w.append(fmt.Sprintf("a%d", i), 3)
		}
		first, second := "a0", ""
		for i := range 12 {
			if name := fmt.Sprintf("a%d", i); w.shardOf(name) != w.shardOf(first) {
				second = name
			}
		}
		markers, p := newMarkerTable(), newPoison("view/"+first+"@2", "view/"+second+"@3")
		m, deaths := w.generations(p, "both are blocked", func() bool {
			return markers.crashed(t, "view", first, 2) && markers.crashed(t, "view", second, 3) && w.unburdened()
		}, withMarkers(markers))
		// Either shard needs five deaths; most of them count for both.
		if deaths > 10 {
			t.Errorf("%d workers died", deaths)
		}
		if n := markers.count(failure.BlockName); n != 2 {
			t.Errorf("%d aggregates were blocked, want 2", n)
		}
		for i := range 12 {
			if name := fmt.Sprintf("a%d", i); name != first && name != second {
				w.applied("view", name, 3)
			}
		}
		w.applied("view", first, 1)
		w.applied("view", second, 2)
		m.end()
	})
}

// TestH18_AnswersOfNotesAreLost: the control table loses answers, delays writes
// and fails while poison kills. The same aggregate is blocked, and no other.
func TestH18_AnswersOfNotesAreLost(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Seed: seed, Shards: 1})
				leases := func(c localaws.Call) bool { return c.Operation == "UpdateItem" && c.Table == controlTable }
				w.engine.Inject(localaws.Fault{Match: leases, Do: localaws.LoseAnswer, Share: 0.15})
				w.engine.Inject(localaws.Fault{Match: leases, Do: localaws.FailAfter, Share: 0.1})
				w.engine.Inject(localaws.Fault{Match: leases, Do: localaws.LandLate, Delay: 13 * time.Second, Hold: true, Share: 0.05})
				markers, p := newMarkerTable(), newPoison("view/hot@3")
				for i := range 10 {
					w.append(fmt.Sprintf("a%d", i), 2)
				}
				w.append("hot", 4)
				m, _ := w.generations(p, "the aggregate is blocked", func() bool {
					return markers.crashed(t, "view", "hot", 3) && markers.marker(t, "hot").SeenVersion == 4
				}, withMarkers(markers))
				eventually(t, 2*time.Minute, "nothing is careful any more", w.unburdened)
				for i := range 10 {
					w.applied("view", fmt.Sprintf("a%d", i), 2)
				}
				w.applied("view", "hot", 2)
				if n := markers.count(failure.BlockName); n != 1 {
					t.Errorf("%d aggregates were blocked, want 1", n)
				}
				m.crash()
				w.oneReader()
			})
		})
	}
}

// TestH18_KilledByChance: workers are killed again and again for no reason
// that lies in the stream. Nobody is blocked, nothing is lost, and whoever
// lives is at full speed soon.
func TestH18_KilledByChance(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Seed: seed, Shards: 2})
				markers, p, chance := newMarkerTable(), newPoison(), jitter.Source{Seed: seed}
				for i := range 30 {
					w.append(fmt.Sprintf("a%d", i), 10)
				}
				careful := 0
				for i := range 7 {
					m := w.mortal("mortal", p, withMarkers(markers))
					eventually(t, time.Minute, "it has the shards", w.owned(m.name))
					<-time.After(chance.Around(300*time.Millisecond, "death", i))
					m.crash()
					careful += int(m.Stats().Careful)
				}
				if careful == 0 {
					t.Error("nobody was careful")
				}
				m := w.mortal("survivor", p, withMarkers(markers))
				eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
				eventually(t, time.Minute, "nothing is careful any more", w.unburdened)
				before := m.Stats().Runs
				for i := range 20 {
					w.bulk(fmt.Sprintf("b%d", i), 100)
				}
				eventually(t, 5*time.Second, "two thousand events more are applied", w.caughtUp)
				if runs := m.Stats().Runs - before; runs > 500 {
					t.Errorf("they took %d runs", runs)
				}
				m.end()
				w.wholly()
				if n := markers.count(failure.BlockName); n != 0 {
					t.Errorf("%d aggregates were blocked", n)
				}
			})
		})
	}
}

// TestH18_KilledBetweenNoteAndAttempt: a worker is killed by chance when its
// note stands and nothing was tried. One death accuses an innocent aggregate;
// it takes a second at the same note to block it.
func TestH18_KilledBetweenNoteAndAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers, p := newMarkerTable(), newPoison("view/a@1")
		w.append("a", 3)
		w.append("b", 3)
		for range 3 {
			w.mortal("mortal", p, withMarkers(markers)).dies("it dies", func() bool { return false })
		}
		p.cure() // what killed them was something else
		m := w.mortal("mortal", p, withMarkers(markers))
		for noted := false; !noted; <-time.After(time.Millisecond) {
			_, found := w.barren()
			noted = len(found) > 0
		}
		m.crash()
		m = w.mortal("survivor", p, withMarkers(markers))
		eventually(t, 2*time.Minute, "everything is applied", w.caughtUp)
		eventually(t, time.Minute, "nothing is careful any more", w.unburdened)
		m.end()
		w.wholly()
		if n := markers.count(failure.BlockName); n != 0 {
			t.Errorf("%d aggregates were blocked", n)
		}
	})
}

// TestH18_CleanRestartsNeverCount: workers that stop cleanly, however little
// they got done, leave nothing to hold against anybody.
func TestH18_CleanRestartsNeverCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		markers := newMarkerTable()
		w.faults.outage("view", true)
		w.append("a", 3)
		for i := range 5 {
			r := w.start("one", withMarkers(markers))
			eventually(t, 20*time.Second, "it has the shards", w.owned(r.name))
			if i == 3 { // one death counts, until the next clean end
				r.crash()
				continue
			}
			if grants, _ := w.barren(); grants != i/4 {
				t.Errorf("after %d restarts the rows tell of %d vanished holders", i, grants)
			}
			r.end()
			if !w.unburdened() {
				t.Error("a clean end left something behind")
			}
		}
		w.faults.outage("view", false)
		r := w.start("one", withMarkers(markers))
		eventually(t, time.Minute, "everything is applied", w.caughtUp)
		if r.Stats().Careful != 0 {
			t.Error("it was careful")
		}
		r.end()
		w.wholly()
	})
}

// TestH18_StaleNotesBlameNobody: two holders vanished at an attempt that was
// not to blame, or of which nothing can be known.
func TestH18_StaleNotesBlameNobody(t *testing.T) {
	for _, tc := range []struct {
		name    string
		accused checkpoint.Attempt
	}{
		{"in effect", checkpoint.Attempt{Sink: "view@1", Aggregate: "a", Version: 3}},
		{"not next", checkpoint.Attempt{Sink: "view@1", Aggregate: "a", Version: 5}},
		{"of another build's sink", checkpoint.Attempt{Sink: "view@2", Aggregate: "a", Version: 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				markers := newMarkerTable()
				w.append("a", 3)
				r := w.start("one", withMarkers(markers))
				eventually(t, 20*time.Second, "it is applied", w.caughtUp)
				r.end()
				ghost := w.controlStore("ghost", "ghost")
				for _, row := range w.leases() {
					held, err := ghost.Grant(t.Context(), row, "ghost")
					if err != nil {
						t.Fatal(err)
					}
					held.Barren = checkpoint.Barren{Grants: 4, Attempt: tc.accused, Suspect: tc.accused, Deaths: 1}
					if _, err := ghost.Write(t.Context(), held); err != nil {
						t.Fatal(err)
					}
				}
				w.append("a", 3)
				r = w.start("two", withMarkers(markers))
				eventually(t, time.Minute, "everything is applied", w.caughtUp)
				if r.Stats().Careful != 1 {
					t.Error("the shard was not read carefully")
				}
				eventually(t, time.Minute, "nothing is careful any more", w.unburdened)
				r.end()
				w.wholly()
				if n := markers.count(failure.BlockName); n != 0 {
					t.Errorf("%d aggregates were blocked", n)
				}
			})
		})
	}
}

// TestH18_FencedNoteIsNoLeaveToTry: a worker cannot write its note for so long
// that another one has the lease when it can. It does not try then: the event
// would take a second worker down, and nobody would know of what.
func TestH18_FencedNoteIsNoLeaveToTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		markers, p := newMarkerTable(), newPoison("view/hot@1")
		w.append("hot", 2)
		for range 3 {
			w.mortal("mortal", p, withMarkers(markers)).dies("it dies", func() bool { return false })
		}
		frozen := w.mortal("frozen", p, withMarkers(markers))
		thaw := w.engine.Inject(localaws.Fault{Match: isWrite(frozen.app), Do: localaws.Throttle, After: 2}) // all but the pin and the grant
		eventually(t, time.Minute, "it has the shard", w.owned(frozen.name))
		other := w.mortal("other", p, withMarkers(markers))
		if !other.dies("the other one dies", func() bool { return false }) || frozen.Stats().Careful != 1 {
			t.Fatalf("the frozen one was never careful: %+v", frozen.Stats())
		}
		if _, found := w.barren(); len(found) != 1 {
			t.Errorf("the rows tell of %+v, want the note of the other alone", found)
		}
		thaw()
		eventually(t, time.Minute, "it knows that it lost the lease", func() bool { return frozen.Stats().Fenced == 1 })
		during(t, 5*time.Second, "it lives", func() bool {
			select {
			case <-frozen.dead:
				return false
			default:
				return true
			}
		})
		frozen.end()
	})
}

// TestH18_BehindAHole: an event that kills lies behind a missing version, and
// is met by the sweep that redrives the aggregate once that version is there.
// It comes to be known as one that kills, whether only sweeps meet it or, its
// record not being behind the checkpoint yet, workers do, and no sweep after that.
func TestH18_BehindAHole(t *testing.T) {
	for _, tc := range []struct {
		name   string
		passed time.Duration // from the block to the missing version
		deaths int
	}{{"met by sweeps alone", 30 * time.Second, 2}, {"met by workers too", 0, 5}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				markers, p := newMarkerTable(), newPoison("view/a@4")
				change := []func(*pipeline.Options){withMarkers(markers), sweeping(20 * time.Second)}
				var m *mortal
				w.hole(markers, func() *running {
					m = w.mortal("mortal", p, change...)
					return m.running
				})
				<-time.After(tc.passed)
				w.write("a", 1, happened())
				if !m.dies("it dies of the redrive", func() bool { return false }) {
					t.Fatal("it lived")
				}
				left := func() bool {
					got := markers.marker(t, "a")
					return got.State == failure.Blocked && got.Cause.Class == "crash" && got.BlockedVersion >= 3 && got.SeenVersion >= 6
				}
				m, deaths := w.generations(p, "the aggregate is left to an operator", left, change...)
				if deaths+1 != tc.deaths {
					t.Errorf("%d workers died, want %d", deaths+1, tc.deaths)
				}
				w.append("a", 1)
				w.append("b", 3)
				if m.dies("the others go on", func() bool { return w.has("view", "b", 3) && markers.marker(t, "a").SeenVersion == 7 }) {
					t.Fatal("it died")
				}
				m.end()
				m = w.mortal("successor", p, change...)
				end := time.Now().Add(5 * time.Minute)
				if m.dies("sweeps have gone by", func() bool { return time.Now().After(end) }) || !left() {
					t.Errorf("a successor died, or swept it: %+v", markers.marker(t, "a"))
				}
				p.cure()
				if result, err := w.redriver(markers, "job").Redrive(t.Context(), markers.marker(t, "a")); err != nil || result.Outcome != redrive.Released {
					t.Fatalf("the redrive ended %+v, %v", result, err)
				}
				m.end()
				w.wholly()
			})
		})
	}
}
