package source

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// listingOf is a listing whose last whole pass showed these shards.
func listingOf(t *testing.T, shards ...Shard) *Listing {
	t.Helper()
	var l Listing
	if err := l.Add(shards, ""); err != nil {
		t.Fatal(err)
	}
	return &l
}

// partial is a listing whose second page was throttled.
func partial(t *testing.T, page ...Shard) *Listing {
	t.Helper()
	var l Listing
	if err := l.Add(page, page[len(page)-1].ID); err != nil {
		t.Fatal(err)
	}
	return &l
}

func lineage(rows map[ShardID]Row, l *Listing, asked map[ShardID]bool) Lineage {
	return Lineage{Rows: rows, Listing: l, Asked: asked}
}

var (
	child   = Shard{ID: "c", Parents: []ShardID{"p"}}
	merged  = Shard{ID: "c", Parents: []ShardID{"p", "q"}}
	parentP = Shard{ID: "p", Closed: true}
)

func TestVerdict(t *testing.T) {
	reading, finished := Row{}, Row{Finished: true}
	for _, tc := range []struct {
		name    string
		shard   Shard
		rows    map[ShardID]Row
		listing func(*testing.T) *Listing
		asked   map[ShardID]bool
		want    Verdict
	}{
		{name: "no parent", shard: parentP},
		{name: "its own parent", shard: Shard{ID: "s", Parents: []ShardID{"s"}}},
		{name: "parent finished", shard: child, rows: map[ShardID]Row{"p": finished}},
		{name: "parent with a row", shard: child, rows: map[ShardID]Row{"p": reading}, want: Verdict{Waits: []ShardID{"p"}}},
		{
			name: "parent listed, its row not made yet", shard: child,
			listing: func(t *testing.T) *Listing { t.Helper(); return listingOf(t, parentP, child) },
			want:    Verdict{Waits: []ShardID{"p"}},
		},
		{
			name: "parent listed again although the stream denied it", shard: child, asked: map[ShardID]bool{"p": false},
			listing: func(t *testing.T) *Listing { t.Helper(); return listingOf(t, parentP, child) },
			want:    Verdict{Waits: []ShardID{"p"}},
		},
		{name: "one of two finished", shard: merged, rows: map[ShardID]Row{"p": finished, "q": reading}, want: Verdict{Waits: []ShardID{"q"}}},
		{name: "both finished", shard: merged, rows: map[ShardID]Row{"p": finished, "q": finished}},
		{name: "nothing known of the parent", shard: child, want: Verdict{Unknown: []ShardID{"p"}}},
		{name: "the stream denied it", shard: child, asked: map[ShardID]bool{"p": false}, want: Verdict{Gone: []ShardID{"p"}}},
		{name: "the stream knows it", shard: child, asked: map[ShardID]bool{"p": true}, want: Verdict{Waits: []ShardID{"p"}}},
		{
			name: "a whole listing lacks it, which proves nothing", shard: child,
			listing: func(t *testing.T) *Listing { t.Helper(); return listingOf(t, child) },
			want:    Verdict{Unknown: []ShardID{"p"}},
		},
		{
			name: "one unknown, one gone", shard: merged, asked: map[ShardID]bool{"q": false},
			want: Verdict{Unknown: []ShardID{"p"}, Gone: []ShardID{"q"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			listing := partial(t, tc.shard)
			if tc.listing != nil {
				listing = tc.listing(t)
			}
			got := lineage(tc.rows, listing, tc.asked).Verdict(tc.shard.ID)
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if want := len(tc.want.Waits)+len(tc.want.Unknown) == 0; got.Ready() != want {
				t.Errorf("ready %v, want %v", got.Ready(), want)
			}
		})
	}
}

// TestFault02_ChildWaitsForItsParent, also where only the rows still know it.
func TestFault02_ChildWaitsForItsParent(t *testing.T) {
	for name, listing := range map[string]*Listing{
		"listed": listingOf(t, parentP, child), "not listed any more": listingOf(t), "parent not listed any more": listingOf(t, child),
	} {
		rows := map[ShardID]Row{"p": {}, "c": {Parents: []ShardID{"p"}}}
		if v := lineage(rows, listing, nil).Verdict("c"); v.Ready() {
			t.Errorf("%s: read beside its parent: %+v", name, v)
		}
		rows["p"] = Row{Finished: true}
		if v := lineage(rows, listing, nil).Verdict("c"); !v.Ready() || len(v.Gone) != 0 {
			t.Errorf("%s: after its parent: %+v", name, v)
		}
	}
}

// TestFault03_TrimmedParentHoldsUpNobody: the stream denies it, which is told
// since the group never read it.
func TestFault03_TrimmedParentHoldsUpNobody(t *testing.T) {
	f := newFake(1, shard("c", "p"), shard("d", "c"))
	var l Listing
	mustDiscover(t, f, &l)
	asked := make(map[ShardID]bool)
	for _, id := range lineage(nil, &l, nil).Verdict("c").Unknown {
		there, err := Exists(t.Context(), f, id)
		if err != nil {
			t.Fatal(err)
		}
		asked[id] = there
	}
	v := lineage(nil, &l, asked).Verdict("c")
	if !v.Ready() || !reflect.DeepEqual(v.Gone, []ShardID{"p"}) {
		t.Errorf("got %+v", v)
	}
}

// TestFault04_LineageFollowsFromRows: the same rows give the same verdict,
// whatever was decided before, and a row that changes back changes it back.
func TestFault04_LineageFollowsFromRows(t *testing.T) {
	listing := listingOf(t, parentP, child)
	rows := map[ShardID]Row{"c": {Parents: []ShardID{"p"}}}
	for i, finished := range []bool{false, true, false, true} {
		rows["p"] = Row{Finished: finished}
		if got := lineage(rows, listing, nil).Verdict("c").Ready(); got != finished {
			t.Errorf("step %d: ready %v, want %v", i, got, finished)
		}
	}
}

// TestFault05_FinishedParentIsNotMadeAgain after a restart, as long as the
// listing shows it.
func TestFault05_FinishedParentIsNotMadeAgain(t *testing.T) {
	listing := listingOf(t, parentP, child)
	rows := map[ShardID]Row{"p": {Finished: true}}
	if got := lineage(rows, listing, nil).Unmade(); !reflect.DeepEqual(got, []Shard{child}) {
		t.Errorf("to be made: %v", got)
	}
}

func TestUnmadeAncestorsFirst(t *testing.T) {
	a := Shard{ID: "a", Parents: []ShardID{"m"}}
	m := Shard{ID: "m", Parents: []ShardID{"z"}, Closed: true}
	z := Shard{ID: "z", Closed: true}
	if got := lineage(nil, listingOf(t, a, m, z), nil).Unmade(); !reflect.DeepEqual(got, []Shard{z, m, a}) {
		t.Errorf("got %v", got)
	}
}

// TestFault07_ChildOfAReadShardStartsAtItsHorizon.
func TestFault07_ChildOfAReadShardStartsAtItsHorizon(t *testing.T) {
	pin := Start{Kind: AtTime, Time: epoch}
	for name, row := range map[string]Row{"reading": {Read: true}, "finished": {Finished: true}} {
		got := lineage(map[ShardID]Row{"p": row}, listingOf(t, parentP, child), nil).Start("c", pin)
		if want := (Start{Kind: TrimHorizon}); got != want {
			t.Errorf("parent %s: starts at %v", name, got)
		}
	}
}

// TestH10_PinOrHorizon: the pin for every shard without an ancestor that the
// group has read, whatever rows a crash left half made.
func TestH10_PinOrHorizon(t *testing.T) {
	pin := Start{Kind: AtTime, Time: epoch.Add(-time.Minute)}
	horizon := Start{Kind: TrimHorizon}
	grandchild := Shard{ID: "g", Parents: []ShardID{"c"}}
	for _, tc := range []struct {
		name  string
		rows  map[ShardID]Row
		shard ShardID
		want  Start
	}{
		{"a root", nil, "p", pin},
		{"a closed shard of the first listing", nil, "c", pin},
		{"found late: a throttled page missed it", map[ShardID]Row{"other": {Read: true}}, "g", pin},
		{"a crash after half of the rows", map[ShardID]Row{"p": {}}, "c", pin},
		{"child of a shard that was read", map[ShardID]Row{"p": {Read: true}}, "c", horizon},
		{"descendant across a shard without a row", map[ShardID]Row{"p": {Finished: true}}, "g", horizon},
		{"descendant across a shard not read yet", map[ShardID]Row{"p": {Read: true}, "c": {Parents: []ShardID{"p"}}}, "g", horizon},
		{"only a descendant was read", map[ShardID]Row{"g": {Parents: []ShardID{"c"}, Read: true}}, "c", pin},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := lineage(tc.rows, listingOf(t, parentP, child, grandchild), nil).Start(tc.shard, pin)
			if got != tc.want {
				t.Errorf("starts at %v, want %v", got, tc.want)
			}
		})
	}
	loop := listingOf(t, Shard{ID: "a", Parents: []ShardID{"b"}}, Shard{ID: "b", Parents: []ShardID{"a"}})
	if got := lineage(nil, loop, nil).Start("a", pin); got != pin {
		t.Errorf("shards that name each other: %v", got)
	}
}

// TestH11_NoRowIsNotNoParent: the child stands on page 1, its parent on page
// 2, and page 2 is throttled.
func TestH11_NoRowIsNotNoParent(t *testing.T) {
	f := newFake(1, shard("c", "p"), shard("p").closed())
	f.fail["shards"] = []error{nil, ErrThrottled}
	var l Listing
	if err := Discover(t.Context(), f, &l, Budget{}); !errors.Is(err, ErrThrottled) {
		t.Fatal(err)
	}
	v := lineage(nil, &l, nil).Verdict("c")
	if v.Ready() || !reflect.DeepEqual(v.Unknown, []ShardID{"p"}) {
		t.Fatalf("before asking: %+v", v)
	}
	there, err := Exists(t.Context(), f, "p")
	if err != nil || !there {
		t.Fatal(there, err)
	}
	g := lineage(nil, &l, map[ShardID]bool{"p": there})
	if v := g.Verdict("c"); !reflect.DeepEqual(v, Verdict{Waits: []ShardID{"p"}}) {
		t.Fatalf("after asking: %+v", v)
	}
	if got := ids(g.Unmade()); !reflect.DeepEqual(got, []ShardID{"c"}) {
		t.Fatalf("made without its parents being known: %v", got)
	}
	mustDiscover(t, f, &l)
	if got := ids(lineage(nil, &l, nil).Unmade()); !reflect.DeepEqual(got, []ShardID{"p", "c"}) {
		t.Errorf("to be made: %v", got)
	}
}

// TestH11_WhatCountsAsGone: only the stream's word on that shard.
func TestH11_WhatCountsAsGone(t *testing.T) {
	for _, tc := range []struct {
		answer error
		there  bool
		known  bool
	}{
		{nil, true, true},
		{ErrTrimmed, true, true}, // what is left of it is read
		{ErrShardGone, false, true},
		{ErrStreamGone, false, false},
		{ErrThrottled, false, false},
	} {
		f := newFake(1, shard("p").closed())
		f.fail["iterator"] = []error{tc.answer}
		there, err := Exists(t.Context(), f, "p")
		if there != tc.there || (err == nil) != tc.known || (err != nil && !errors.Is(err, tc.answer)) {
			t.Errorf("%v: there %v, error %v", tc.answer, there, err)
		}
	}
}

// TestH11_ListingThatHidesAParent holds its child up, however often the listing
// is whole, and the parent is read once it is found: here by the child filter.
func TestH11_ListingThatHidesAParent(t *testing.T) {
	f := newFake(10, shard("g").closed(), shard("p", "g").closed(), shard("c", "p"))
	f.shards["p"].hidden = true
	rows := map[ShardID]Row{"g": {Finished: true}, "c": {Parents: []ShardID{"p"}}}
	var l Listing
	for range 3 {
		mustDiscover(t, f, &l)
		v := lineage(rows, &l, nil).Verdict("c")
		if !reflect.DeepEqual(v, Verdict{Unknown: []ShardID{"p"}}) {
			t.Fatalf("before asking: %+v", v)
		}
		there, err := Exists(t.Context(), f, "p")
		if err != nil {
			t.Fatal(err)
		}
		g := lineage(rows, &l, map[ShardID]bool{"p": there})
		if v := g.Verdict("c"); v.Ready() || len(g.Unmade()) != 0 {
			t.Fatalf("after asking: %+v, to be made %v", v, g.Unmade())
		}
	}
	children, err := f.Children(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	l.Found(children...)
	g := lineage(rows, &l, nil)
	if got := g.Unmade(); !reflect.DeepEqual(got, []Shard{{ID: "p", Parents: []ShardID{"g"}, Closed: true}}) {
		t.Errorf("to be made: %v", got)
	}
	if got := g.Start("p", Start{Kind: AtTime, Time: epoch}); got.Kind != TrimHorizon {
		t.Errorf("starts at %v", got)
	}
}
