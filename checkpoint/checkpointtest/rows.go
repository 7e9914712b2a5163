package checkpointtest

import (
	"cmp"
	"slices"

	"millrace/checkpoint"
	"millrace/source"
)

func groupsDoNotMeet(c subject) {
	t, h := c.t, c.Harness
	w := h.Open("w1")
	keys := []checkpoint.LeaseKey{
		{Group: "a", Table: "t", Label: label, Shard: "s"},
		{Group: "b", Table: "t", Label: label, Shard: "s"},
		{Group: "a", Table: "t2", Label: label, Shard: "s"},
		{Group: "a|t", Table: "x", Label: label, Shard: "s"}, // joined carelessly, these two are one
		{Group: "a", Table: "t|x", Label: label, Shard: "s"},
	}
	var held []checkpoint.Lease
	for _, k := range keys {
		held = append(held, taken(t, w, k, "w1"))
	}
	held[0].Checkpoint = after(7)
	held[0] = written(t, w, held[0])
	for _, l := range held {
		leases, err := w.List(t.Context(), l.Key.Group, l.Key.Table)
		if err != nil {
			t.Fatal(err)
		}
		if len(leases) != 1 || !leases[0].Same(l) {
			t.Errorf("%v lists %+v, want %+v alone", l.Key, leases, l)
		}
	}
}

func strangeNamesComeBack(c subject) {
	t, h := c.t, c.Harness
	w := h.Open("w1")
	var rows []checkpoint.Lease
	for _, shard := range []source.ShardID{"shardId-00000001700000000000-ab", "with|bar", "100%", "%7C", "tab\t", "ü:"} {
		for _, l := range []string{label, "a:b|c", "2027-01-02T03:04:05.678"} {
			rows = append(rows, fresh(checkpoint.LeaseKey{Group: group, Table: "t:1/é", Label: l, Shard: shard}))
		}
	}
	rows[0].Parents = []source.ShardID{"with|bar", "100%"}
	if err := w.Create(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	got, err := w.List(t.Context(), group, "t:1/é")
	if err != nil {
		t.Fatal(err)
	}
	order := func(a, b checkpoint.Lease) int {
		return cmp.Or(cmp.Compare(a.Key.Label, b.Key.Label), cmp.Compare(a.Key.Shard, b.Key.Shard))
	}
	if !slices.IsSortedFunc(got, order) {
		t.Error("the listing is not by label and shard")
	}
	slices.SortFunc(rows, order)
	if !slices.EqualFunc(got, rows, func(g, r checkpoint.Lease) bool {
		return g.Key == r.Key && slices.Equal(g.Parents, r.Parents)
	}) {
		t.Errorf("listed %+v, want %+v", got, rows)
	}
}

func createIsIdempotentAndPartial(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	held := taken(t, w1, key("a"), "w1")
	held.Checkpoint = after(5)
	held = written(t, w1, held)

	// The first answer of the second row is lost: the call stops half-way.
	w2.Lose()
	batch := []checkpoint.Lease{fresh(key("b")), fresh(key("c")), fresh(key("a"))}
	unanswered(t, w2.Create(t.Context(), batch))
	b := row(t, w2, key("b"))
	if b.Owner != "" || b.Token == "" || b.Heartbeat == "" {
		t.Errorf("a row starts as %+v", b)
	}
	if err := w2.Create(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	stands(t, w2, held) // progress is not reset by whoever lists the shard later
	stands(t, w2, b)
	if c := row(t, w1, key("c")); c.Token == b.Token || c.Heartbeat == b.Heartbeat {
		t.Errorf("two rows share marks: %+v, %+v", b, c)
	}

	owned := fresh(key("d"))
	owned.Owner, owned.Token, owned.Heartbeat = "w1", "chosen", "chosen"
	if d := made(t, w1, owned); d.Owner != "" || d.Token == "chosen" || d.Heartbeat == "chosen" {
		t.Errorf("a row was made as held: %+v", d)
	}
}

func childrenBeforeFinish(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	parent := taken(t, w1, key("p"), "w1")
	parent.Unverified = []string{"view@1"}
	parent = written(t, w1, parent)
	shards := []source.Shard{{ID: "c1", Parents: []source.ShardID{"p"}}, {ID: "c2", Parents: []source.ShardID{"p"}}}

	// w1 dies when one child has a row: the parent must still be unfinished.
	if err := w1.Create(t.Context(), checkpoint.ChildRows(parent, shards[:1])); err != nil {
		t.Fatal(err)
	}
	first := row(t, w1, key("c1"))
	if first.State != checkpoint.WaitingForParent || !slices.Equal(first.Parents, shards[0].Parents) || !slices.Equal(first.Unverified, parent.Unverified) {
		t.Errorf("a child starts as %+v", first)
	}
	parent = granted(t, w2, row(t, w2, parent.Key), "w2")
	if err := w2.Create(t.Context(), checkpoint.ChildRows(parent, shards)); err != nil {
		t.Fatal(err)
	}
	stands(t, w2, first)
	parent.State, parent.Owner = checkpoint.Finished, ""
	parent.Checkpoint = source.Start{Kind: source.ShardEnd}
	parent.Children = []source.ShardID{"c1", "c2"}
	written(t, w2, parent)

	leases, err := w2.List(t.Context(), group, table)
	if err != nil {
		t.Fatal(err)
	}
	view := checkpoint.View{Leases: leases, Sinks: []string{"view@1"}}
	plan := checkpoint.Plan(view, 10)
	if len(plan) != 2 || plan[0].Key != key("c1") || plan[1].Key != key("c2") {
		t.Fatalf("the children are not to be taken: %+v", plan)
	}
	granted(t, w2, plan[0], "w2")
}

func finishedStaysFinished(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	held := taken(t, w1, key("a"), "w1")
	held.State, held.Checkpoint = checkpoint.Finished, source.Start{Kind: source.ShardEnd}
	held = written(t, w1, held)

	_, err := w2.Grant(t.Context(), held, "w2")
	fenced(t, err)
	if err := w2.Create(t.Context(), []checkpoint.Lease{fresh(key("a"))}); err != nil {
		t.Fatal(err)
	}
	reopened := held
	reopened.State = checkpoint.Active
	_, err = w1.Write(t.Context(), reopened)
	backwards(t, err)
	stands(t, w1, held)
	held.Owner = ""
	written(t, w1, held)
}

func sinksAreKept(c subject) {
	t, h := c.t, c.Harness
	w, w2 := h.Open("w1"), h.Open("w2")
	held := taken(t, w, key("a"), "w1")
	a := checkpoint.Admit(held, []string{"view@1", "mail@2", "audit@1"})
	if !a.Admitted() {
		t.Fatalf("%+v", a)
	}
	held.Sinks, held.Unverified = a.Sinks, a.Unverified
	held = written(t, w, held)
	stands(t, w, held)
	if !slices.Equal(held.Sinks, []string{"audit@1", "mail@2", "view@1"}) || !slices.Equal(held.Unverified, []string{"audit@1", "mail@2"}) {
		t.Errorf("the row lists %v, unverified %v", held.Sinks, held.Unverified)
	}
	// A lease that moves takes the lists along; a worker without them is refused.
	moved := granted(t, w2, held, "w2")
	if b := checkpoint.Admit(moved, []string{"view@1"}); b.Admitted() || !slices.Equal(b.Lacking, []string{"audit@1", "mail@2"}) {
		t.Errorf("a worker that lacks sinks is told %+v", b)
	}
	moved.Unverified = nil // as a repair that compared everything
	if cleared := written(t, w2, moved); len(cleared.Unverified) != 0 {
		t.Errorf("still unverified: %v", cleared.Unverified)
	}
}

func unknownAttributesAreKept(c subject) {
	t, h := c.t, c.Harness
	if h.Raw == nil {
		t.Skip("rows hold nothing but leases here")
	}
	w1, w2 := h.Open("w1"), h.Open("w2")
	seen := made(t, w1, fresh(key("a")))
	h.Raw.Mark(t, seen.Key)
	held := granted(t, w1, seen, "w1")
	held.Checkpoint = after(3)
	held = written(t, w1, held)
	if err := w2.Ask(t.Context(), held, "w2"); err != nil {
		t.Fatal(err)
	}
	held.Owner = ""
	written(t, w1, held)
	if err := w2.Create(t.Context(), []checkpoint.Lease{fresh(key("a"))}); err != nil {
		t.Fatal(err)
	}
	if !h.Raw.Marked(t, seen.Key) {
		t.Error("the attribute of another build is gone")
	}
}

func foreignRows(c subject) {
	t, h := c.t, c.Harness
	if h.Raw == nil {
		t.Skip("rows hold nothing but leases here")
	}
	w := h.Open("w1")
	held := taken(t, w, key("a"), "w1")
	n := h.Raw.Spoil(t, group, table)
	leases, err := w.List(t.Context(), group, table)
	if err != nil {
		t.Fatal(err)
	}
	if len(leases) != 1 || !leases[0].Same(held) {
		t.Errorf("listed %+v", leases)
	}
	listing, err := w.Listing(t.Context(), group, table)
	if err != nil {
		t.Fatal(err)
	}
	if len(listing.Foreign) != n || n == 0 || len(listing.Leases) != 1 {
		t.Errorf("%d of %d foreign rows shown: %+v", len(listing.Foreign), n, listing.Foreign)
	}
	for _, f := range listing.Foreign {
		if f.Row == "" || f.Reason == "" {
			t.Errorf("a foreign row without name or reason: %+v", f)
		}
	}
}
