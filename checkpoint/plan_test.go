package checkpoint

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/source"
)

func shards(leases []Lease) string {
	var names []string
	for _, l := range leases {
		names = append(names, l.Key.Label+"/"+string(l.Key.Shard))
	}
	return fmt.Sprint(names)
}

func TestPlan(t *testing.T) {
	row := func(label, shard, owner string, state State, parents ...source.ShardID) Lease {
		return Lease{Key: LeaseKey{Group: "g", Table: "t", Label: label, Shard: source.ShardID(shard)}, Owner: owner, State: state, Parents: parents, Sinks: []string{"a@1"}}
	}
	foreign := row("l1", "s0", "", Active)
	foreign.Sinks = []string{"a@1", "removed@1"}
	view := View{
		Sinks: []string{"a@1"},
		Leases: []Lease{
			row("l2", "s1", "", Active),
			row("l1", "s9", "", Draining), // its holder released it while draining
			foreign,
			row("l1", "s1", "w1", Finished),
			row("l1", "s2", "dead", Active),
			row("l1", "s3", "live", Active),
			row("l1", "s4", "", WaitingForParent, "s1"),
			row("l1", "s5", "", WaitingForParent, "s1", "s2"), // one of two parents is not done
			row("l1", "s6", "", WaitingForParent, "no row"),   // no row is not no parent
			row("l1", "s7", "dead", Active),
			row("l2", "s8", "", WaitingForParent, "s1"), // the parent of its own label is not finished
			row("l1", "sa", "", Finished),
		},
		Held:    map[LeaseKey]bool{{Group: "g", Table: "t", Label: "l1", Shard: "s7"}: true},
		Expired: func(l Lease) bool { return l.Owner == "dead" },
	}
	const all = "[l1/s4 l1/s9 l2/s1 l1/s2]"
	if got := shards(Plan(view, 10)); got != all {
		t.Errorf("planned %s, want %s", got, all)
	}
	if got := shards(Plan(view, 2)); got != "[l1/s4 l1/s9]" {
		t.Errorf("two at most, and planned %s", got)
	}
	for _, limit := range []int{0, -1} {
		if got := Plan(view, limit); len(got) != 0 {
			t.Errorf("with a limit of %d planned %s", limit, shards(got))
		}
	}
	view.Ready = func(l Lease) bool { return l.Key.Shard == "s6" } // the stream says that its parent is gone
	if got, want := shards(Plan(view, 10)), "[l1/s6 l1/s9 l2/s1 l1/s2]"; got != want {
		t.Errorf("planned %s, want %s", got, want)
	}
	view.Expired = nil
	if got, want := shards(Plan(view, 10)), "[l1/s6 l1/s9 l2/s1]"; got != want {
		t.Errorf("planned %s, want %s", got, want)
	}
}

func TestPlanDependsOnTheViewAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "rows")
		v := View{Expired: func(l Lease) bool { return l.Heartbeat == "still" }, Held: map[LeaseKey]bool{}}
		for i := range n {
			l := held(fmt.Sprint("s", i), "t", rapid.SampledFrom([]string{"still", "moves"}).Draw(t, "heartbeat"))
			l.Owner = rapid.SampledFrom([]string{"", "w1"}).Draw(t, "owner")
			l.State = State(rapid.IntRange(int(WaitingForParent), int(Finished)).Draw(t, "state"))
			if i > 0 && rapid.Bool().Draw(t, "child") {
				l.Parents = []source.ShardID{source.ShardID(fmt.Sprint("s", i-1))}
			}
			v.Leases = append(v.Leases, l)
			v.Held[l.Key] = rapid.IntRange(0, 4).Draw(t, "held") == 0
		}
		limit := rapid.IntRange(0, n+1).Draw(t, "limit")
		plan := Plan(v, limit)
		if len(plan) > limit {
			t.Fatalf("%d leases, at most %d", len(plan), limit)
		}
		sawExpired := false
		for _, l := range plan {
			if l.State == Finished || v.Held[l.Key] || l.Owner != "" && !v.Expired(l) {
				t.Fatalf("took %+v", l)
			}
			if sawExpired && l.Owner == "" {
				t.Fatal("an expired lease goes before a free one")
			}
			sawExpired = sawExpired || l.Owner != ""
		}
		shuffled := v
		shuffled.Leases = rapid.Permutation(v.Leases).Draw(t, "order")
		if again := Plan(shuffled, limit); !slices.EqualFunc(plan, again, Lease.Same) {
			t.Fatalf("the listing's order changed the plan from %s to %s", shards(plan), shards(again))
		}
	})
}
