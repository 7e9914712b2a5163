package eventstore

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"millrace/event"
	"millrace/internal/localaws"
)

// world is what a run of several writers on one aggregate is made of.
type world struct {
	seed    uint64
	writers [][]int // how many events each append of each writer has
	faults  []localaws.Fault
}

func drawWorld(t *rapid.T) world {
	fault := rapid.Custom(func(t *rapid.T) localaws.Fault {
		return localaws.Fault{
			Do: rapid.SampledFrom([]localaws.Action{
				localaws.Throttle, localaws.Conflict, localaws.FailBefore, localaws.FailAfter,
				localaws.LoseAnswer, localaws.TimeOut, localaws.LandLate, localaws.Slow,
			}).Draw(t, "action"),
			After: rapid.IntRange(0, 12).Draw(t, "after"),
			Times: rapid.IntRange(1, 12).Draw(t, "times"),
			Delay: time.Duration(rapid.IntRange(0, 20_000).Draw(t, "delay")) * time.Millisecond,
			Hold:  rapid.Bool().Draw(t, "hold"),
		}
	})
	return world{
		seed:    rapid.Uint64Range(1, 1<<32).Draw(t, "seed"),
		writers: rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 3), 1, 4), 1, 4).Draw(t, "writers"),
		faults:  rapid.SliceOfN(fault, 0, 6).Draw(t, "faults"),
	}
}

// attempt is one call of Append and what its caller was told.
type attempt struct {
	command  string
	expected uint64
	events   int
	version  uint64
	err      error
}

// TestWhatWritersAreToldIsWhatStands: several writers append to one
// aggregate while calls are throttled, fail, lose their answers or land late.
// In the end the versions have no hole, each append stands as a whole or not
// at all, whoever was told to have won stands exactly once where it was told,
// and whoever was told to have lost does not stand.
func TestWhatWritersAreToldIsWhatStands(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		var attempts []attempt
		var stands []event.Event
		synctest.Test(t, func(t *testing.T) { attempts, stands = w.run(t) })
		check(rt, attempts, stands)
	})
}

// run plays the world in fake time and returns what was told and what stands
// when every late write has landed.
func (w world) run(t *testing.T) ([]attempt, []event.Event) {
	t.Helper()
	e := engine(t, localaws.Options{Seed: w.seed, Latency: func(c localaws.Call) time.Duration {
		return time.Duration(1+(c.N*7919+int(w.seed))%17) * time.Millisecond
	}})
	if err := client(t, e, 1).EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.faults {
		e.Inject(f)
	}
	var mu sync.Mutex
	var attempts []attempt
	var wg sync.WaitGroup
	for i, appends := range w.writers {
		s := client(t, e, w.seed+uint64(i)+2)
		wg.Go(func() {
			for n, events := range appends {
				for try := 0; try < 12; try++ {
					expected, err := s.Head(t.Context(), "42")
					if err != nil {
						continue
					}
					a := attempt{command: fmt.Sprint(i, "/", n, "/", try), expected: expected, events: events}
					batch := make([]NewEvent, events)
					for j := range batch {
						batch[j] = placed("1")
						batch[j].Command = a.command
					}
					a.version, a.err = s.Append(t.Context(), "42", expected, batch...)
					mu.Lock()
					attempts = append(attempts, a)
					mu.Unlock()
					if kind := kindOf(a.err); kind == "won" || kind == "unsettled" {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Minute) // longer than the latest landing
	s := client(t, e, 1)
	stands, err := all(t.Context(), s, "42")
	for err != nil { // faults that are left over
		stands, err = all(t.Context(), s, "42")
	}
	return attempts, stands
}

func check(t *rapid.T, attempts []attempt, stands []event.Event) {
	at := map[string][]uint64{}
	for i, e := range stands {
		if e.Version != uint64(i)+1 {
			t.Fatalf("version %d stands at place %d", e.Version, i)
		}
		command, err := e.Image.Get("commandId")
		if err != nil {
			t.Fatal(err)
		}
		id := string(command.(event.String))
		at[id] = append(at[id], e.Version)
	}
	for _, a := range attempts {
		versions := at[a.command]
		delete(at, a.command)
		whole := len(versions) == a.events && versions[0] == a.expected+1 && versions[a.events-1] == a.expected+uint64(a.events)
		if len(versions) != 0 && !whole {
			t.Fatalf("%+v stands in part: %v", a, versions)
		}
		switch kind := kindOf(a.err); kind {
		case "won":
			if !whole || a.version != a.expected+uint64(a.events) {
				t.Fatalf("%+v was told to have won and stands at %v", a, versions)
			}
		case "conflict", "transient":
			if len(versions) != 0 {
				t.Fatalf("%+v was told %s and stands at %v", a, kind, versions)
			}
		case "unsettled":
		default:
			t.Fatalf("%+v: %v", a, a.err)
		}
	}
	if len(at) != 0 {
		t.Fatalf("nobody appended %v", at)
	}
}
