package readmodel_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/event"
	"millrace/sinks"
	"millrace/sinks/readmodel"
)

func as(change func(*sinks.Identity)) func(*readmodel.Options) {
	return func(o *readmodel.Options) { change(&o.Identity) }
}

// TestH3_APositionOfAnotherIsRefusedLoudly: two groups, sources or sinks on
// one item and one attribute. The second must neither take the first one's
// versions for its own nor write over them.
func TestH3_APositionOfAnotherIsRefusedLoudly(t *testing.T) {
	b := newBench(t)
	b.must(b.sink(), run("42", 0, 5))
	for name, change := range map[string]func(*sinks.Identity){
		"group":                      func(i *sinks.Identity) { i.Group = "reports" },
		"source":                     func(i *sinks.Identity) { i.Source = "bank-events" },
		"sink":                       func(i *sinks.Identity) { i.Sink = "summary" },
		"a sink that looks the same": func(i *sinks.Identity) { i.Source, i.Sink = "orders-events|orders-view", ""+"x" },
		"a group with a bar in it":   func(i *sinks.Identity) { i.Group, i.Source = "orders|orders-events", "orders-view" },
		"a sink with an at sign":     func(i *sinks.Identity) { i.Sink = "orders-view@1" },
	} {
		t.Run(name, func(t *testing.T) {
			second := b.sink(as(change))
			for _, r := range []event.Run{run("42", 0, 3), run("42", 3, 8), run("42", 5, 6)} {
				got := apply(t.Context(), second, r)
				var refused *event.Error
				if !errors.As(got.Err, &refused) || refused.Class != event.Foreign || refused.Hint == "" {
					t.Errorf("run after %d: %+v, want a refusal of class foreign with a hint", r.After.Version, got)
				}
			}
			if at, err := second.Positions(t.Context(), []string{"42"}); event.ClassOf(err) != event.Foreign {
				t.Errorf("positions: %v, %v, want a refusal of class foreign", at, err)
			}
			b.versions("42", 5)
		})
	}
}

// TestH3_TwoSinksOnOneItem share it when each has its own position attribute.
func TestH3_TwoSinksOnOneItem(t *testing.T) {
	b := newBench(t)
	total := tally(t, "total")
	first, second := b.sink(), b.sink(func(o *readmodel.Options) {
		o.Position, o.Identity.Sink, o.Projection = "totalVersion", "totals", total
	})
	b.must(first, run("42", 0, 5))
	b.must(second, run("42", 0, 3))
	b.must(first, run("42", 5, 6))
	b.must(second, run("42", 3, 4))
	b.versions("42", 6)
	if got := b.item("42")["total"]; !event.Equal(got, event.Number("4")) {
		t.Errorf("the second sink's total is %v, want 4", got)
	}
}

// TestH3_KeysThatAreNotOneToOneAreRefused: aggregates in one item would take
// each other's versions for duplicates.
func TestH3_KeysThatAreNotOneToOneAreRefused(t *testing.T) {
	b := newBench(t)
	part := func(name, template string) readmodel.KeyPart {
		return readmodel.KeyPart{Attribute: name, Template: template}
	}
	for _, tc := range []struct {
		key  []readmodel.KeyPart
		text string
	}{
		{nil, "one or two attributes"},
		{[]readmodel.KeyPart{part("pk", "customers")}, "share one item"},
		{[]readmodel.KeyPart{part("pk", "customers"), part("sk", "all")}, "share one item"},
		{[]readmodel.KeyPart{part("pk", "{customer}")}, "placeholder"},
		{[]readmodel.KeyPart{part("pk", "{aggregate}{aggregate}")}, "placeholder"},
		{[]readmodel.KeyPart{part("pk", "{aggregate}"), part("sk", "")}, "template"},
		{[]readmodel.KeyPart{part("", "{aggregate}")}, "no name"},
		{[]readmodel.KeyPart{part("pk", "{aggregate}"), part("pk", "x")}, "two uses"},
		{[]readmodel.KeyPart{part("lastProcessedVersion", "{aggregate}")}, "two uses"},
	} {
		_, err := readmodel.New(b.options(func(o *readmodel.Options) { o.Key = tc.key }))
		if err == nil || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("key %v: %v, want an error about %q", tc.key, err, tc.text)
		}
	}
}

func TestKeysGoBothWays(t *testing.T) {
	b := newBench(t)
	rapid.Check(t, func(t *rapid.T) {
		affix := rapid.StringMatching(`[a-z#]{0,3}`)
		key := []readmodel.KeyPart{{
			Attribute: "pk", Template: affix.Draw(t, "prefix") + "{aggregate}" + affix.Draw(t, "suffix"),
		}}
		if rapid.Bool().Draw(t, "sort key") {
			key = append(key, readmodel.KeyPart{Attribute: "sk", Template: "view"})
		}
		s, err := readmodel.New(b.options(func(o *readmodel.Options) { o.Key = key }))
		if err != nil {
			t.Fatal(err)
		}
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z#]{1,4}`), 2, 2, rapid.ID).Draw(t, "aggregates")
		if s.Key(ids[0]).Equal(s.Key(ids[1])) {
			t.Fatalf("%q and %q have the same key", ids[0], ids[1])
		}
		item := s.Key(ids[0])
		item["else"] = event.Bool(true)
		if got, ok := s.AggregateOf(item); !ok || got != ids[0] {
			t.Fatalf("aggregate %q came back as %q, %v", ids[0], got, ok)
		}
		item["pk"] = event.Number("1")
		if got, ok := s.AggregateOf(item); ok {
			t.Fatalf("a key of another form gave %q", got)
		}
	})
}

// TestH28_AnOldBuildStops: the read model was repaired by version 2 of the
// sink at the very position that version 1 remembers. Without the version in
// the condition its next write would put the old fold's state over it.
func TestH28_AnOldBuildStops(t *testing.T) {
	b := newBench(t)
	old := b.sink()
	b.must(old, run("42", 0, 7))
	b.edit("42", func(item event.Item) {
		item["lastProcessedVersionBy"] = event.String("orders|orders-events|orders-view@2")
		item["versions"] = event.String("repaired")
	})
	before := b.item("42")
	for _, r := range []event.Run{run("42", 7, 8), run("42", 6, 8), run("42", 0, 2)} {
		if got := apply(t.Context(), old, r); event.ClassOf(got.Err) != event.Superseded {
			t.Errorf("run after %d: %+v, want class superseded", r.After.Version, got)
		}
	}
	if _, err := old.Positions(t.Context(), []string{"42"}); event.ClassOf(err) != event.Superseded {
		t.Errorf("positions: %v, want class superseded", err)
	}
	if !b.item("42").Equal(before) {
		t.Errorf("the item became %v", b.item("42"))
	}
	if got := apply(t.Context(), b.sink(as(func(i *sinks.Identity) { i.Version = 2 })), run("42", 7, 7)); got.Err != nil {
		t.Errorf("version 2 on its own item: %v", got.Err)
	}
}

// TestH28_ANewBuildAsksForARebuild: it must not go on with the old fold's
// state.
func TestH28_ANewBuildAsksForARebuild(t *testing.T) {
	b := newBench(t)
	b.must(b.sink(), run("42", 0, 7))
	young := b.sink(as(func(i *sinks.Identity) { i.Version = 2 }))
	got := apply(t.Context(), young, run("42", 7, 8))
	if event.ClassOf(got.Err) != event.Foreign || !strings.Contains(got.Err.Error(), "rebuild") {
		t.Errorf("%+v, want an error of class foreign that speaks of a rebuild", got)
	}
	b.versions("42", 7)
}

func TestAPositionThatIsNoneIsRefused(t *testing.T) {
	b := newBench(t)
	s := b.sink()
	for _, wrong := range []event.Value{event.Number("0"), event.Number("-1"), event.Number("1.5"), event.String("3")} {
		b.must(s, run("42", 0, 3))
		b.edit("42", func(item event.Item) { item["lastProcessedVersion"] = wrong })
		if got := apply(t.Context(), s, run("42", 3, 4)); event.ClassOf(got.Err) != event.Permanent {
			t.Errorf("position %v: %+v, want a permanent error", wrong, got)
		}
		if err := b.remove(t.Context(), "42"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatNewRefuses(t *testing.T) {
	b := newBench(t)
	for name, change := range map[string]func(*readmodel.Options){
		"no client":     func(o *readmodel.Options) { o.Client = nil },
		"no table":      func(o *readmodel.Options) { o.Table = "" },
		"no projection": func(o *readmodel.Options) { o.Projection = nil },
		"two uses":      func(o *readmodel.Options) { o.Stamp = "pk" },
		"identity":      as(func(i *sinks.Identity) { i.Version = 0 }),
	} {
		if _, err := readmodel.New(b.options(change)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
