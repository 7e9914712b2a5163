package status_test

import (
	"fmt"
	"strings"
	"testing"

	"millrace/event"
	"millrace/status"
)

// TestFindings: one thing is wrong beside an order that is well.
func TestFindings(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*bench)
		want  status.Report // without findings
		found []string      // a part of each finding, as kind aggregate position/head: text
	}{
		{
			name: "nothing", spoil: func(*bench) {},
			want: status.Report{Aggregates: 1, Events: 3},
		},
		{
			name:  "an order without an item",
			spoil: func(b *bench) { b.story("b", 2) },
			want:  status.Report{Aggregates: 2, Events: 3, Behind: 1},
			found: []string{"behind b 0/2: 2 versions are not in effect"},
		},
		{
			name: "an order on its way",
			spoil: func(b *bench) {
				b.story("b", 5)
				b.apply(b.view, "b", 0, 3)
			},
			want:  status.Report{Aggregates: 2, Events: 6, Behind: 1},
			found: []string{"behind b 3/5: 2 versions"},
		},
		{
			name: "an item ahead of its events",
			spoil: func(b *bench) {
				b.order("b", 3)
				b.forget("b", 3)
			},
			want:  status.Report{Aggregates: 2, Events: 6, Ahead: 1},
			found: []string{"ahead b 3/2: the read model holds versions that the event store does not have"},
		},
		{
			name: "an item without events",
			spoil: func(b *bench) {
				b.order("b", 1)
				b.forget("b", 1)
			},
			want:  status.Report{Aggregates: 1, Events: 3, Ahead: 1},
			found: []string{"ahead b 1/0: the read model has an item of an aggregate without events"},
		},
		{
			name: "an item changed by hand",
			spoil: func(b *bench) {
				b.order("b", 2)
				b.edit("b", func(i event.Item) { i["total"] = event.Number("7") })
			},
			want:  status.Report{Aggregates: 2, Events: 5, Mismatches: 1},
			found: []string{`mismatch b 2/2: attribute total is {"N":"7"}, the fold of its events gives {"N":"2"} (1 attributes differ)`},
		},
		{
			name: "an item changed by hand, and behind",
			spoil: func(b *bench) {
				b.story("b", 4)
				b.apply(b.view, "b", 0, 2)
				b.edit("b", func(i event.Item) { delete(i, "digest") })
			},
			want:  status.Report{Aggregates: 2, Events: 5, Mismatches: 1},
			found: []string{`mismatch b 2/4: attribute digest is absent, the fold of its events gives {"S":"f08610fd95854a06"} (1 attributes differ); 2 versions are not in effect`},
		},
		{
			name: "a version that took no effect",
			spoil: func(b *bench) {
				b.story("b", 4)
				b.apply(b.view, "b", 0, 2)
				b.edit("b", func(i event.Item) { i["lastProcessedVersion"] = event.Number("4") })
			},
			want:  status.Report{Aggregates: 2, Events: 7, Mismatches: 1},
			found: []string{"mismatch b 4/4"},
		},
		{
			name: "an event deleted in the middle",
			spoil: func(b *bench) {
				b.order("b", 4)
				b.forget("b", 2)
			},
			want:  status.Report{Aggregates: 2, Events: 7, Missing: 1},
			found: []string{"missing b 4/4: the event store lacks version 2"},
		},
		{
			name: "the first event deleted",
			spoil: func(b *bench) {
				b.order("b", 4)
				b.forget("b", 1)
			},
			want:  status.Report{Aggregates: 2, Events: 7, Missing: 1},
			found: []string{"missing b 4/4: the event store lacks version 1"},
		},
		{
			name: "an event missing beyond the position",
			spoil: func(b *bench) {
				b.story("b", 5)
				b.apply(b.view, "b", 0, 2)
				b.forget("b", 4)
			},
			want:  status.Report{Aggregates: 2, Events: 5, Missing: 1},
			found: []string{"missing b 2/5: the event store lacks version 4; 3 versions are not in effect"},
		},
		{
			name: "an event that cannot be folded",
			spoil: func(b *bench) {
				b.order("b", 3)
				b.put(eventsTable, event.Item{"pk": event.String("b"), "sk": event.String("000000000002"), "type": event.String("Surprise")})
			},
			want:  status.Report{Aggregates: 2, Events: 6, Mismatches: 1},
			found: []string{`mismatch b 3/3: its events cannot be folded: `},
		},
		{
			name: "an order that is blocked",
			spoil: func(b *bench) {
				b.story("b", 5)
				b.apply(b.view, "b", 0, 2)
				b.block("b", 3)
				b.story("c", 1)
			},
			want:  status.Report{Aggregates: 3, Events: 5, Blocked: 1, Behind: 1},
			found: []string{"behind c 0/1: 1 versions", "blocked b 2/5: 3 versions wait: version 3 is blocked, class permanent"},
		},
		{
			name: "an order blocked at a version that is missing",
			spoil: func(b *bench) {
				b.story("b", 5)
				b.apply(b.view, "b", 0, 2)
				b.forget("b", 3)
				b.block("b", 3)
			},
			want:  status.Report{Aggregates: 2, Events: 5, Missing: 1},
			found: []string{"missing b 2/5: the event store lacks version 3; 3 versions wait: version 3 is blocked, class permanent"},
		},
		{
			name: "an item ahead of events that lack one",
			spoil: func(b *bench) {
				b.order("b", 4)
				b.forget("b", 2)
				b.forget("b", 4)
			},
			want:  status.Report{Aggregates: 2, Events: 7, Missing: 1},
			found: []string{"missing b 4/3: the event store lacks version 2"},
		},
		{
			name: "a marker that its order has passed",
			spoil: func(b *bench) {
				b.order("b", 5)
				b.block("b", 3)
			},
			want: status.Report{Aggregates: 2, Events: 8},
		},
		{
			name:  "foreign items in the view table",
			spoil: func(b *bench) { b.put(viewTable, event.Item{"pk": event.String("note"), "text": event.String("VIP")}) },
			want:  status.Report{Aggregates: 1, Events: 3},
		},
		{
			name:  "a foreign attribute",
			spoil: func(b *bench) { b.edit("a", func(i event.Item) { i["note"] = event.String("VIP") }) },
			want:  status.Report{Aggregates: 1, Events: 3},
		},
		{
			name: "another sink's item in our place",
			spoil: func(b *bench) {
				b.story("b", 2)
				b.apply(b.sink("other"), "b", 0, 2)
			},
			want:  status.Report{Aggregates: 2, Events: 3, Mismatches: 1},
			found: []string{`mismatch b 0/2: attribute lastProcessedVersion of orders-view belongs to "g|orders-events|other@1"`},
		},
		{
			name: "another sink's item without events",
			spoil: func(b *bench) {
				b.story("b", 1)
				b.apply(b.sink("other"), "b", 0, 1)
				b.forget("b", 1)
			},
			want: status.Report{Aggregates: 1, Events: 3},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.order("a", 3)
			tc.spoil(b)
			got := b.report()
			if healthy := len(tc.found) == 0; got.Healthy() != healthy || got.Found() != len(tc.found) {
				t.Errorf("healthy: %v", got.Healthy())
			}
			var found []string
			for _, f := range got.Findings {
				found = append(found, fmt.Sprintf("%s %s %d/%d: %s", f.Kind, f.Aggregate, f.Position, f.Head, f.Text))
			}
			if len(found) != len(tc.found) {
				t.Fatalf("findings %q, want %q", found, tc.found)
			}
			for i := range found {
				if !strings.HasPrefix(found[i], tc.found[i]) {
					t.Errorf("finding %q, want %q", found[i], tc.found[i])
				}
			}
			got.Findings = nil
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("report %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestLikely: what is wrong with most items is most likely one thing, and it is
// said; of a few it is not.
func TestLikely(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*bench, *status.Verify)
		want  string
	}{
		{"the names of another sink", func(b *bench, v *status.Verify) { v.View = b.sink("other") }, "the group, the event table, or the name or version of the sink is not"},
		{"another fold", func(b *bench, _ *status.Verify) {
			for _, name := range []string{"a", "b"} {
				b.edit(name, func(i event.Item) { i["total"] = event.Number("7") })
			}
		}, "the fold is not the one that wrote the read model"},
		{"one item changed by hand", func(b *bench, _ *status.Verify) {
			b.edit("a", func(i event.Item) { i["total"] = event.Number("7") })
		}, ""},
		{"many that are behind", func(b *bench, _ *status.Verify) {
			for i := range 5 {
				b.story(fmt.Sprint("late-", i), 2)
			}
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			for _, name := range []string{"a", "b", "c"} {
				b.order(name, 3)
			}
			v := b.verify()
			tc.spoil(b, &v)
			r, err := v.Run(t.Context())
			if err != nil || !strings.HasPrefix(r.Likely, tc.want) || (r.Likely == "") != (tc.want == "") {
				t.Errorf("it is %q, %v", r.Likely, err)
			}
			if r.Found() > r.Aggregates {
				t.Errorf("%d aggregates are counted %d times", r.Aggregates, r.Found())
			}
		})
	}
}

// TestManyAggregates: all are counted, and a bounded number told.
func TestManyAggregates(t *testing.T) {
	b := newBench(t)
	b.order("order", 1)
	var events, items []event.Item
	stored, err := b.view.Item(t.Context(), "order")
	if err != nil {
		t.Fatal(err)
	}
	err = b.events.Scan(t.Context(), 0, 1, func(page []event.Item) error {
		events = append(events, page...)
		return nil
	})
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	first := events[0]
	for i := range 1999 {
		name := event.String(fmt.Sprintf("order-%04d", i))
		events = append(events, like(first, name))
		if i%10 != 0 {
			items = append(items, like(stored.Item, name))
		}
	}
	b.putAll(eventsTable, events)
	b.putAll(viewTable, items)
	r, err := b.verify().Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 100 {
		t.Errorf("%d findings", len(r.Findings))
	}
	r.Findings = nil
	if want := (status.Report{Aggregates: 2000, Events: 1800, Behind: 200}); fmt.Sprint(r) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// like is an item under another partition key.
func like(item event.Item, pk event.String) event.Item {
	other := item.Clone()
	other["pk"] = pk
	return other
}

// TestH22_UnroutableItems: an item that should be an event and is none is found,
// counted and named, and the rest is compared all the same. What the layout
// filters is not seen.
func TestH22_UnroutableItems(t *testing.T) {
	b := newBench(t)
	b.order("a", 3)
	for _, sk := range []string{"000000000000", "0000000000025", "profile"} {
		b.put(eventsTable, event.Item{"pk": event.String("a"), "sk": event.String(sk)})
	}
	r := b.report()
	if r.Unroutable != 3 || r.Found() != 3 || r.Healthy() || r.Aggregates != 1 || r.Events != 3 {
		t.Fatalf("%+v", r)
	}
	if f := r.Findings[0]; f.Kind != "unroutable" || f.Aggregate != "a" || !strings.HasPrefix(f.Text, `pk {"S":"a"}, sk {"S":"000000000000"}: version 0`) {
		t.Errorf("finding %+v", f)
	}
	v := b.verify()
	bank := event.Bank()
	v.Layout = bank // none of them has its prefix
	if r, err := v.Run(t.Context()); err != nil || r.Unroutable != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
