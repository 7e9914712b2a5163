package main

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestPlan: whatever is asked for, every event is planned once and in order, on
// as many aggregates, with the poison on as many of them, and a gap wherever
// the hot aggregate is large enough for one.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := demoCommand{Events: rapid.IntRange(1, 3000).Draw(t, "events"), Seed: rapid.Uint64Min(1).Draw(t, "seed")}
		d.Aggregates = rapid.IntRange(1, min(d.Events, 300)).Draw(t, "aggregates")
		d.Hot = rapid.OneOf(rapid.SampledFrom([]float64{0, 0.5, 1}), rapid.Float64Range(0, 1)).Draw(t, "hot")
		poison := rapid.IntRange(0, d.Aggregates).Draw(t, "poison")
		d.Poison = &poison
		plan := newTraffic(d, nil)

		heads, poisoned, waiting := map[string]uint64{}, map[string]uint64{}, 0
		for _, appends := range append(plan.cold, plan.hot.appends) {
			for _, a := range appends {
				if a.n < 1 || a.expected != heads[a.aggregate] {
					t.Fatalf("an append of %d events to %s after version %d, which has %d", a.n, a.aggregate, a.expected, heads[a.aggregate])
				}
				heads[a.aggregate] += uint64(a.n)
				if a.after != nil {
					waiting++
				}
				if a.poison {
					if poisoned[a.aggregate] > 0 {
						t.Fatalf("%s is poisoned twice", a.aggregate)
					}
					poisoned[a.aggregate] = heads[a.aggregate]
				}
			}
		}
		events := 0
		for _, head := range heads {
			events += int(head)
		}
		if events != d.Events || len(heads) != d.Aggregates || plan.aggregates != d.Aggregates || len(poisoned) != poison {
			t.Fatalf("%d events of %d aggregates, %d with poison", events, len(heads), len(poisoned))
		}
		hot, cut := heads[hotAggregate], plan.hot.cut
		if plan.hot.gap != (hot >= 2) || plan.hot.gap != (waiting == 1) || plan.hot.gap && (plan.hot.before+1 >= cut || cut > hot) {
			t.Fatalf("%d hot events, %d before the split at %d, gap %v, %d appends wait", hot, plan.hot.before, cut, plan.hot.gap, waiting)
		}
		if at := poisoned[hotAggregate]; (at > 0) != (poison > 0 && hot > 0) || at > 0 && plan.hot.gap && at < cut {
			t.Fatalf("the hot aggregate's poison is version %d of %d, its split %d", at, hot, cut)
		}
		if withoutWaits(plan) != withoutWaits(newTraffic(d, nil)) {
			t.Fatal("the same seed plans something else")
		}
	})
}

// withoutWaits is a plan without its channels, which are of one demo.
func withoutWaits(t *traffic) string {
	all := append([]appendOne(nil), t.hot.appends...)
	for _, appends := range t.cold {
		all = append(all, appends...)
	}
	for i := range all {
		all[i].after = nil
	}
	return fmt.Sprint(all)
}
