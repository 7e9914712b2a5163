package sinktest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"millrace/event"
	"millrace/sinks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryHarness is the harness of a Memory with all abilities.
func memoryHarness(unguarded bool) Harness {
	var lose atomic.Int32
	const before, after = 1, 2
	lost := func(when int32) func(context.Context, sinks.Identity, event.Run) error {
		return func(context.Context, sinks.Identity, event.Run) error {
			if lose.CompareAndSwap(when, 0) {
				return &event.Error{Class: event.Transient, Op: "writing", Err: errors.New("no answer")}
			}
			return nil
		}
	}
	m := NewMemory(MemoryOptions{Refuse: Refuse, After: lost(after), Unguarded: unguarded})
	return Harness{
		Guarded: !unguarded,
		Open: func(id sinks.Identity) (sinks.Sink, error) {
			return &edited{Sink: m.Open(id), apply: func(ctx context.Context, s sinks.Sink, runs []event.Run) []event.Outcome {
				// A call that never arrived looks like one whose answer was lost.
				if err := lost(before)(ctx, id, event.Run{}); err != nil {
					return slices.Repeat([]event.Outcome{{Err: err}}, len(runs))
				}
				return s.Apply(ctx, runs)
			}}, nil
		},
		Versions: func(_ context.Context, id sinks.Identity, aggregate string) ([]uint64, error) {
			return m.Versions(id, aggregate), nil
		},
		Poison: Poison,
		LoseAnswer: func(took bool) {
			lose.Store(before)
			if took {
				lose.Store(after)
			}
		},
		Forget: func(_ context.Context, id sinks.Identity, aggregate string) error {
			m.Forget(id, aggregate)
			return nil
		},
	}
}

// edited is a sink with other answers.
type edited struct {
	sinks.Sink
	apply     func(context.Context, sinks.Sink, []event.Run) []event.Outcome
	positions func(context.Context, sinks.Sink, []string) ([]event.Position, error)
}

func (e *edited) Apply(ctx context.Context, runs []event.Run) []event.Outcome {
	if e.apply != nil {
		return e.apply(ctx, e.Sink, runs)
	}
	return e.Sink.Apply(ctx, runs)
}

func (e *edited) Positions(ctx context.Context, aggregates []string) ([]event.Position, error) {
	if e.positions != nil {
		return e.positions(ctx, e.Sink, aggregates)
	}
	return e.Sink.Positions(ctx, aggregates)
}

func TestMemoryPasses(t *testing.T)          { Run(t, memoryHarness(false)) }
func TestUnguardedMemoryPasses(t *testing.T) { Run(t, memoryHarness(true)) }

// TestWrongSinksAreFound: for each way to be wrong, the checks that must fail,
// and no other one does.
func TestWrongSinksAreFound(t *testing.T) {
	wrap := func(wrong edited) func(*Harness) {
		return func(h *Harness) {
			open := h.Open
			h.Open = func(id sinks.Identity) (sinks.Sink, error) {
				sink, err := open(id)
				return &edited{Sink: sink, apply: wrong.apply, positions: wrong.positions}, err
			}
		}
	}
	for _, tc := range []struct {
		name   string
		spoil  func(*Harness)
		failed []string
	}{
		{"it has no guard and claims one", func(h *Harness) { *h = memoryHarness(true); h.Guarded = true }, []string{
			"positions stand in the order of the question", "a run applied twice takes effect once",
			"a run applied in part takes effect once", "a run behind a hole takes no effect",
			"a late write of another worker changes nothing", "a lost answer doubles nothing",
			"a target that forgets says so", "identities share no position", "two workers end where one would",
		}},
		{"it answers in another order", wrap(edited{apply: func(ctx context.Context, s sinks.Sink, runs []event.Run) []event.Outcome {
			out := s.Apply(ctx, runs)
			slices.Reverse(out)
			return out
		}}), []string{"outcomes stand in the order of the runs", "an event that is refused lets those before it pass"}},
		{"it applies the last event only", wrap(edited{apply: func(ctx context.Context, s sinks.Sink, runs []event.Run) []event.Outcome {
			for i := range runs {
				runs[i].Events = runs[i].Events[len(runs[i].Events)-1:]
			}
			return s.Apply(ctx, runs)
		}}), nil},
		{"it gives up a run with a refused event as a whole", wrap(edited{apply: func(ctx context.Context, s sinks.Sink, runs []event.Run) []event.Outcome {
			for _, r := range runs {
				for _, e := range r.Events {
					if err := Refuse(e); err != nil {
						return slices.Repeat([]event.Outcome{{Position: r.After, Known: true, Err: err}}, len(runs))
					}
				}
			}
			return s.Apply(ctx, runs)
		}}), []string{"an event that is refused lets those before it pass"}},
		{"it leaves refused events out", wrap(edited{apply: func(ctx context.Context, s sinks.Sink, runs []event.Run) []event.Outcome {
			out := s.Apply(ctx, runs)
			for i := range out {
				if event.ClassOf(out[i].Err) == event.Permanent {
					out[i].Err = nil
				}
			}
			return out
		}}), []string{"an event that is refused lets those before it pass", "an event that is refused at once changes nothing"}},
		{"it works on after our stop", wrap(edited{apply: func(ctx context.Context, s sinks.Sink, runs []event.Run) []event.Outcome {
			return s.Apply(context.WithoutCancel(ctx), runs)
		}}), []string{"our own stop is no failure"}},
		{"it calls a lost answer known", wrap(edited{apply: func(ctx context.Context, s sinks.Sink, runs []event.Run) []event.Outcome {
			out := s.Apply(ctx, runs)
			for i := range out {
				out[i].Known = true
			}
			return out
		}}), []string{"a lost answer doubles nothing"}},
		{"it keeps one position for all identities", func(h *Harness) {
			open := h.Open
			h.Open = func(sinks.Identity) (sinks.Sink, error) { return open(sinks.Identity{Sink: "all"}) }
			versions := h.Versions
			h.Versions = func(ctx context.Context, _ sinks.Identity, aggregate string) ([]uint64, error) {
				return versions(ctx, sinks.Identity{Sink: "all"}, aggregate)
			}
			h.Forget = nil
		}, []string{"identities share no position"}},
		{"it answers for the wrong aggregate", wrap(edited{positions: func(ctx context.Context, s sinks.Sink, ids []string) ([]event.Position, error) {
			out, err := s.Positions(ctx, ids)
			slices.Reverse(out)
			return out, err
		}}), []string{"positions stand in the order of the question"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := memoryHarness(false)
			tc.spoil(&h)
			var failed []string
			for _, c := range checks() {
				if c.leftOut(h) == "" && c.run(t.Context(), newProbe(h, c.name)) != nil {
					failed = append(failed, c.name)
				}
			}
			if tc.failed == nil { // so wrong that nearly all see it
				if len(failed) < 5 {
					t.Errorf("only %q failed", failed)
				}
				return
			}
			if !slices.Equal(failed, tc.failed) {
				t.Errorf("failed: %q\nwant:   %q", failed, tc.failed)
			}
		})
	}
}

func TestAHarnessSaysWhatItCannotDo(t *testing.T) {
	var left int
	for _, c := range checks() {
		if c.leftOut(Harness{}) != "" {
			left++
		}
	}
	if all := len(checks()); left != all-4 {
		t.Errorf("%d of %d checks left out, want all but four", left, all)
	}
}

// TestMemoryFreezes: a worker frozen in Before lands late and changes nothing
// that its successor did.
func TestMemoryFreezes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		var frozen atomic.Bool
		m := NewMemory(MemoryOptions{Before: func(_ context.Context, _ sinks.Identity, run event.Run) error {
			if run.After.Version == 0 && frozen.CompareAndSwap(false, true) {
				<-thaw
			}
			return nil
		}})
		id := sinks.Identity{Sink: "view"}
		p := newProbe(Harness{}, "frozen")
		aggregate := p.aggregate()
		late := make(chan event.Outcome)
		go func() { late <- m.Open(id).Apply(t.Context(), []event.Run{p.run(aggregate, 0, 2)})[0] }()
		synctest.Wait()
		if err := mustApply(t.Context(), m.Open(id), p.run(aggregate, 0, 3), 3); err != nil {
			t.Fatal(err)
		}
		close(thaw)
		if got := <-late; got.Position.Version != 3 || got.Err != nil {
			t.Errorf("the late write was answered %+v, want position 3", got)
		}
		want := []Effect{{id, aggregate, 1}, {id, aggregate, 2}, {id, aggregate, 3}}
		if got := m.Log(); !slices.Equal(got, want) {
			t.Errorf("log %v, want %v", got, want)
		}
	})
}
