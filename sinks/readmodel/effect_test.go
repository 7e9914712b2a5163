package readmodel_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"millrace/event"
	"millrace/projection"
	"millrace/sinks/readmodel"
	"millrace/sinks/sinktest"
)

// tally counts events in one attribute.
func tally(t *testing.T, attribute string) projection.Projection {
	t.Helper()
	return fold(t, projection.Fold[int]{
		Apply: func(n int, _ event.Event) (int, error) { return n + 1, nil },
		Encode: func(n int) (event.Item, error) {
			return event.Item{attribute: event.Number(strconv.Itoa(n))}, nil
		},
		Decode: func(item event.Item) (int, error) {
			text, ok := item[attribute].(event.Number)
			if !ok {
				return 0, nil
			}
			return strconv.Atoi(string(text))
		},
	})
}

func fold[S any](t *testing.T, f projection.Fold[S]) projection.Projection {
	t.Helper()
	p, err := projection.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// words is a fold with one attribute for each word that is set: "set" events
// put one, "clear" events take it away, "close" deletes, and the types in
// ignore pass.
func words(t *testing.T, ignore ...string) projection.Projection {
	t.Helper()
	clone := func(in event.Item) event.Item {
		out := in.Clone()
		if out == nil {
			out = event.Item{}
		}
		return out
	}
	return fold(t, projection.Fold[event.Item]{
		Ignore: ignore,
		Apply: func(s event.Item, e event.Event) (event.Item, error) {
			kind, err := e.Type()
			if err != nil {
				return nil, err
			}
			verb, word, _ := strings.Cut(kind, " ")
			s = clone(s)
			switch verb {
			case "set":
				s["w_"+word] = event.Number(strconv.FormatUint(e.Version, 10))
			case "clear":
				delete(s, "w_"+word)
			case "close":
				return nil, projection.ErrDeleted
			default:
				return nil, projection.UnknownType(e)
			}
			return s, nil
		},
		Encode: func(s event.Item) (event.Item, error) { return s, nil },
		Decode: func(item event.Item) (event.Item, error) {
			s := event.Item{}
			for name, v := range item {
				if strings.HasPrefix(name, "w_") {
					s[name] = v
				}
			}
			return s, nil
		},
	})
}

// story makes a run of events with the given types.
func story(aggregate string, after uint64, kinds ...string) event.Run {
	r := run(aggregate, after, after+uint64(len(kinds)))
	for i, kind := range kinds {
		item, _ := r.Events[i].Image.Item()
		item = item.Clone()
		item["type"] = event.String(kind)
		r.Events[i].Image = event.Decoded(item)
	}
	return r
}

// demand compares a whole item, key and sink's attributes aside.
func (b bench) demand(aggregate string, position string, want event.Item) {
	b.Helper()
	full := want.Clone()
	if full == nil {
		full = event.Item{}
	}
	full["pk"] = event.String("VIEW#" + aggregate)
	full["lastProcessedVersion"] = event.Number(position)
	full["lastProcessedVersionBy"] = event.String("orders|orders-events|orders-view@1")
	if got := b.item(aggregate); !got.Equal(full) {
		b.Errorf("the item is %v, want %v", got, full)
	}
}

// TestH5_AFilteredVersionMovesThePosition: alone, inside a run and at its end;
// otherwise the next version that counts would stand behind a hole.
func TestH5_AFilteredVersionMovesThePosition(t *testing.T) {
	b := newBench(t)
	s := b.sink(b.folding(words(t, "viewed")))
	b.must(s, story("a", 0, "viewed"))
	b.demand("a", "1", nil)
	b.must(s, story("a", 1, "set x", "viewed", "set y", "viewed"))
	want := event.Item{"w_x": event.Number("2"), "w_y": event.Number("4")}
	b.demand("a", "5", want)
	b.must(s, story("a", 5, "viewed", "viewed"))
	b.demand("a", "7", want)
	if got := apply(t.Context(), s, story("a", 7, "viewed", "eaten")); got.Position.Version != 8 || event.ClassOf(got.Err) != event.Permanent {
		t.Errorf("an unknown type gave %+v, want position 8 and a permanent error", got)
	}
}

// TestH13_ADeletedItemKeepsItsPosition: a redelivery does not begin again, and
// a late first write does not bring the aggregate back.
func TestH13_ADeletedItemKeepsItsPosition(t *testing.T) {
	b := newBench(t)
	s, late := b.sink(b.folding(words(t, "viewed"))), b.sink(b.folding(words(t, "viewed")))
	b.must(s, story("a", 0, "set x", "set y", "close"))
	closed := event.Item{projection.DeletedAt: event.String("2026-01-01T00:00:03Z")}
	b.demand("a", "3", closed)
	for _, last := range []int{1, 2, 3} {
		again := story("a", 0, []string{"set x", "set y", "close"}[:last]...)
		if got := apply(t.Context(), late, again); got.Position.Version != 3 || got.Err != nil {
			t.Errorf("redelivery of 1..%d: %+v, want a duplicate at 3", last, got)
		}
	}
	b.demand("a", "3", closed)
	b.must(b.sink(b.folding(words(t, "viewed"))), story("a", 3, "viewed"))
	b.demand("a", "4", closed)
	b.must(b.sink(b.folding(words(t))), story("a", 4, "set z"))
	b.demand("a", "5", event.Item{"w_z": event.Number("5")})
}

// TestH13_ATargetThatForgetsIsReported, whether or not the sink remembers the
// item.
func TestH13_ATargetThatForgetsIsReported(t *testing.T) {
	for name, cache := range map[string]int{"remembering": 0, "remembering nothing": -1} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := b.sink(func(o *readmodel.Options) { o.Cache = cache })
			b.must(s, run("a", 0, 5))
			b.edit("a", func(item event.Item) { // moved back
				item["lastProcessedVersion"], item["versions"] = event.Number("2"), event.String("1 2")
			})
			if got := apply(t.Context(), s, run("a", 5, 6)); got.Err != nil || !got.Known || got.Position.Version != 2 {
				t.Errorf("moved back: %+v, want position 2", got)
			}
			b.must(s, run("a", 2, 6))
			if err := b.remove(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if got := apply(t.Context(), s, run("a", 6, 7)); got.Err != nil || !got.Known || got.Position.Version != 0 {
				t.Errorf("removed: %+v, want position 0", got)
			}
			b.must(s, run("a", 0, 7))
			b.versions("a", 7)
		})
	}
}

// TestH13_WhatIsRememberedIsNoAnswer: the pipeline was told that the target
// fell back and refills; a sink that still remembers the old height must not
// call the refill a duplicate.
func TestH13_WhatIsRememberedIsNoAnswer(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	b.must(s, run("a", 0, 5))
	b.edit("a", func(item event.Item) {
		item["lastProcessedVersion"], item["versions"] = event.Number("2"), event.String("1 2")
	})
	b.must(s, run("a", 2, 4))
	b.versions("a", 4)
}

// TestForeignAttributesStay, and the fold's own go when the fold drops them,
// also by a worker that has never seen the item.
func TestForeignAttributesStay(t *testing.T) {
	b := newBench(t)
	b.edit("a", func(item event.Item) { item["note"] = event.String("VIP") })
	b.must(b.sink(b.folding(words(t))), story("a", 0, "set x", "set y"))
	b.demand("a", "2", event.Item{"note": event.String("VIP"), "w_x": event.Number("1"), "w_y": event.Number("2")})
	b.must(b.sink(b.folding(words(t))), story("a", 2, "clear x"))
	b.demand("a", "3", event.Item{"note": event.String("VIP"), "w_y": event.Number("2")})
	b.must(b.sink(b.folding(words(t))), story("a", 3, "close"))
	b.demand("a", "4", event.Item{"note": event.String("VIP"), projection.DeletedAt: event.String("2026-01-01T00:00:04Z")})
}

func TestAFoldMustNotWriteTheSinksAttributes(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"pk", "lastProcessedVersion", "lastProcessedVersionBy", "written"} {
		s := b.sink(b.folding(tally(t, name)), func(o *readmodel.Options) { o.Stamp = "written" })
		got := apply(t.Context(), s, run("a", 0, 1))
		if event.ClassOf(got.Err) != event.Permanent || !strings.Contains(fmt.Sprint(got.Err), "not its own") || b.calls("UpdateItem") != 0 {
			t.Errorf("attribute %s: %+v, want a permanent refusal", name, got)
		}
	}
}

// TestNumbersAreExact to the last of 38 digits.
func TestNumbersAreExact(t *testing.T) {
	const digits = "12345678901234567890123456789012345678"
	b := newBench(t)
	p := fold(t, projection.Fold[string]{
		Apply: func(s string, _ event.Event) (string, error) {
			if s != "" && s != digits {
				t.Errorf("the state came back as %s", s)
			}
			return digits, nil
		},
		Encode: func(s string) (event.Item, error) { return event.Item{"n": event.Number(s)}, nil },
		Decode: func(item event.Item) (string, error) {
			n, _ := item["n"].(event.Number)
			return string(n), nil
		},
	})
	b.must(b.sink(b.folding(p)), run("a", 0, 1))
	b.must(b.sink(b.folding(p)), run("a", 1, 2))
	if got := b.item("a")["n"]; got != event.Number(digits) {
		t.Errorf("stored %v", got)
	}
}

// TestAFoldThatChangesItsStateInPlace leaves nothing behind when it fails.
func TestAFoldThatChangesItsStateInPlace(t *testing.T) {
	b := newBench(t)
	p := fold(t, projection.Fold[*[]string]{
		Apply: func(s *[]string, e event.Event) (*[]string, error) {
			if s == nil {
				s = new([]string)
			}
			*s = append(*s, strconv.FormatUint(e.Version, 10)) // and only then looks
			return s, sinktest.Refuse(e)
		},
		Encode: func(s *[]string) (event.Item, error) {
			return event.Item{"versions": event.String(strings.Join(*s, " "))}, nil
		},
		Decode: func(item event.Item) (*[]string, error) {
			text, _ := item["versions"].(event.String)
			s := strings.Fields(string(text))
			return &s, nil
		},
	})
	r := run("a", 0, 4)
	r.Events[2] = sinktest.Poison("a", 3)
	s := b.sink(b.folding(p))
	if got := apply(t.Context(), s, r); got.Position.Version != 2 || event.ClassOf(got.Err) != event.Permanent {
		t.Errorf("%+v, want position 2 and a permanent error", got)
	}
	b.versions("a", 2)
	b.must(s, run("a", 2, 4))
	b.versions("a", 4)
}

// TestTheEventThatMakesAnItemTooLarge is found, and those before it are
// written.
func TestTheEventThatMakesAnItemTooLarge(t *testing.T) {
	b := newBench(t)
	const step = 50 << 10 // 400 KB hold seven of them and not eight, with what else is there
	p := fold(t, projection.Fold[int]{
		Apply: func(n int, _ event.Event) (int, error) { return n + 1, nil },
		Encode: func(n int) (event.Item, error) {
			return event.Item{"n": event.String(strings.Repeat("x", n*step))}, nil
		},
		Decode: func(item event.Item) (int, error) {
			text, _ := item["n"].(event.String)
			return len(text) / step, nil
		},
	})
	got := apply(t.Context(), b.sink(b.folding(p)), run("a", 0, 20))
	if got.Position.Version != 7 || !got.Known || event.ClassOf(got.Err) != event.Permanent {
		t.Errorf("%+v, want position 7 and a permanent error", got)
	}
	if at, err := b.sink(b.folding(p)).Positions(t.Context(), []string{"a"}); err != nil || at[0].Version != 7 {
		t.Errorf("position %v, %v, want 7", at, err)
	}
}
