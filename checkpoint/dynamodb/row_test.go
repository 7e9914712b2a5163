package dynamodb

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/source"
)

// start draws any start that a row can hold.
var start = rapid.Custom(func(t *rapid.T) source.Start {
	s := source.Start{Kind: source.StartKind(rapid.IntRange(int(source.TrimHorizon), int(source.ShardEnd)).Draw(t, "kind"))}
	switch s.Kind {
	case source.AtSequence, source.AfterSequence:
		// Few digits often, so that numbers of unequal length meet; up to 40.
		s.Sequence = event.SequenceNumber(rapid.OneOf(rapid.StringMatching(`[0-9]{1,3}`), rapid.StringMatching(`[0-9]{20,40}`)).Draw(t, "sequence"))
	case source.AtTime:
		s.Time = time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "time")).UTC()
	default:
	}
	return s
})

// TestPositionsSortAsCheckpointsDo: the condition that keeps a checkpoint from
// going back compares text.
func TestPositionsSortAsCheckpointsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := start.Draw(t, "a"), start.Draw(t, "b")
		x, err := position(a)
		if err != nil {
			t.Fatal(err)
		}
		y, err := position(b)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if a.Before(b) {
			want = -1
		} else if b.Before(a) {
			want = 1
		}
		if got := cmp.Compare(x, y); got != want {
			t.Fatalf("%+v and %+v compare %d, their positions %q and %q compare %d", a, b, want, x, y, got)
		}
	})
}

func TestRowsComeBack(t *testing.T) {
	shard := rapid.Custom(func(t *rapid.T) source.ShardID { return source.ShardID(rapid.String().Draw(t, "id")) })
	names := rapid.SliceOfN(rapid.String(), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		l := checkpoint.Lease{
			Key:       checkpoint.LeaseKey{Group: "g", Table: "t", Label: rapid.String().Draw(t, "label"), Shard: shard.Draw(t, "shard")},
			State:     checkpoint.State(rapid.IntRange(int(checkpoint.WaitingForParent), int(checkpoint.Finished)).Draw(t, "state")),
			Token:     rapid.String().Draw(t, "token"),
			Heartbeat: rapid.String().Draw(t, "heartbeat"), Checkpoint: start.Draw(t, "checkpoint"),
			Sinks: names.Draw(t, "sinks"), Unverified: names.Draw(t, "unverified"),
			Parents: rapid.SliceOfN(shard, 0, 2).Draw(t, "parents"), Children: rapid.SliceOfN(shard, 0, 3).Draw(t, "children"),
		}
		row, err := newRow(l)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeLease("g", "t", row)
		if err != nil || !got.Same(l) || !slices.Equal(got.Parents, l.Parents) {
			t.Fatalf("%+v came back as %+v, %v", l, got, err)
		}
	})
}

func TestNamesEscapesWhatAnExpressionUses(t *testing.T) {
	got := names("SET #owner = :owner, #seenAt = :x REMOVE #asked AND attribute_exists(#owner)")
	want := map[string]string{"#owner": "owner", "#seenAt": "seenAt", "#asked": "asked"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if strings.Contains(names("#a")["#a"], "#") || len(names("no name")) != 0 {
		t.Errorf("got %v and %v", names("#a"), names("no name"))
	}
}
