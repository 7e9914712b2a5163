package checkpoint

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/source"
)

func TestH4_ACheckpointKnowsItsSinks(t *testing.T) {
	row := Lease{Sinks: []string{"a@1", "b@1"}, Unverified: []string{"b@1"}}
	for _, test := range []struct {
		name                               string
		sinks                              []string
		lacking, joining, all, notVerified []string
	}{
		{"the same", []string{"b@1", "a@1"}, nil, nil, row.Sinks, row.Unverified},
		{"a new sink", []string{"a@1", "b@1", "c@1"}, nil, []string{"c@1"}, []string{"a@1", "b@1", "c@1"}, []string{"b@1", "c@1"}},
		{"a sink taken out", []string{"a@1"}, []string{"b@1"}, nil, row.Sinks, row.Unverified},
		{"a new version is another sink", []string{"a@2", "b@1"}, []string{"a@1"}, []string{"a@2"}, []string{"a@1", "a@2", "b@1"}, []string{"a@2", "b@1"}},
	} {
		got := Admit(row, test.sinks)
		if got.Admitted() != (test.lacking == nil) || !slices.Equal(got.Lacking, test.lacking) || !slices.Equal(got.Joining, test.joining) ||
			!slices.Equal(got.Sinks, test.all) || !slices.Equal(got.Unverified, test.notVerified) {
			t.Errorf("%s: got %+v", test.name, got)
		}
	}
}

// TestH4_RollingDeploys: whatever workers come and go, no sink that a row ever
// listed is passed by a checkpoint unseen: it is missing at no holder, and what
// joined late is marked until a repair.
func TestH4_RollingDeploys(t *testing.T) {
	names := []string{"a@1", "a@2", "b@1", "c@1"}
	subset := rapid.SliceOfDistinct(rapid.SampledFrom(names), func(s string) string { return s })
	rapid.Check(t, func(t *rapid.T) {
		first := subset.Draw(t, "first")
		row := Lease{Sinks: set(first)}
		for range rapid.IntRange(0, 6).Draw(t, "workers") {
			sinks := subset.Draw(t, "sinks")
			a := Admit(row, sinks)
			if !a.Admitted() {
				continue
			}
			row.Sinks, row.Unverified = a.Sinks, a.Unverified
			for _, s := range row.Sinks {
				if !slices.Contains(sinks, s) {
					t.Fatalf("%v was admitted without %s", sinks, s)
				}
				if !slices.Contains(first, s) && !slices.Contains(row.Unverified, s) {
					t.Fatalf("%s joined and counts as verified", s)
				}
			}
			if !slices.Equal(row.Sinks, set(row.Sinks)) || !slices.Equal(row.Unverified, set(row.Unverified)) {
				t.Fatalf("lists are not sorted sets: %+v", row)
			}
			if again := Admit(row, sinks); len(again.Joining) != 0 || !slices.Equal(again.Unverified, row.Unverified) {
				t.Fatalf("joining twice changes something: %+v", again)
			}
		}
		for _, s := range first {
			if !slices.Contains(row.Sinks, s) || slices.Contains(row.Unverified, s) {
				t.Fatalf("%s was there from the start, and the row is %+v", s, row)
			}
		}
	})
}

func TestH4_ChildrenInheritTheMark(t *testing.T) {
	parent := held("p", "t", "h")
	parent.Sinks, parent.Unverified = []string{"a@1", "b@1"}, []string{"b@1"}
	rows := ChildRows(parent, []source.Shard{{ID: "c", Parents: []source.ShardID{"p", "q"}, Closed: true}})
	want := Lease{
		Key: parent.Key, State: WaitingForParent, Checkpoint: source.Start{Kind: source.TrimHorizon},
		Sinks: parent.Sinks, Unverified: parent.Unverified,
	}
	want.Key.Shard = "c"
	if len(rows) != 1 || !rows[0].Same(want) || !slices.Equal(rows[0].Parents, []source.ShardID{"p", "q"}) {
		t.Errorf("got %+v", rows)
	}
}
