package failure

import (
	"testing"

	"millrace/event"
)

// path applies transitions one after the other; each must hold.
func path(t *testing.T, transitions ...Transition) event.Item {
	t.Helper()
	var row event.Item
	for _, step := range transitions {
		next, ok := step.Apply(row)
		if !ok {
			t.Fatalf("%s does not hold on %v", step.Name, row)
		}
		row = next
	}
	return row
}

// TestVerdicts is the last column of the protocol's table: what a failed
// condition means to its writer.
func TestVerdicts(t *testing.T) {
	block := Block(2, "g1", Cause{})
	claim := Claim("g1", "g2", "job")
	for _, test := range []struct {
		name  string
		row   event.Item
		write Transition
		want  Verdict
	}{
		{"H2 a block meets a block", path(t, block), Block(3, "w1", Cause{}), FollowInstead},
		{"H2 a block's answer was lost", path(t, block), block, Done},
		{"H2 a block's answer was lost, and followers came", path(t, block, Follow(5)), block, Done},
		{"H2 a slower page follows", path(t, block, Follow(5)), Follow(4), Done},
		{"H2 a follower's answer was lost", path(t, block, Follow(5)), Follow(5), Done},
		{"H15 a block meets a redrive", path(t, block, claim), Block(3, "w1", Cause{}), FollowInstead},
		{"H15 a slower page follows during a redrive", path(t, block, Follow(5), claim), Follow(3), Done},
		{"H16 a follower of what is live", path(t, block, Heal(2, "h")), Follow(3), Forget},
		{"H16 a follower of no row", nil, Follow(3), Forget},
		{"H16 nothing to heal", path(t, block, Follow(5)), Heal(4, "h"), Leave},
		{"H16 a healing whose answer was lost", path(t, block, Heal(2, "h")), Heal(2, "h"), Done},
		{"C9 somebody else claimed", path(t, block, claim), Claim("g1", "other", "job 2"), Leave},
		{"C9 a claim whose answer was lost", path(t, block, claim), claim, Done},
		{"C9 a claim of a row that is gone", nil, claim, Leave},
		{"H14 followers came during a redrive", path(t, block, claim, Follow(6)), Release("g2", 5, "g3"), Again},
		{"H14 a release whose answer was lost", path(t, block, claim, Release("g2", 2, "g3")), Release("g2", 2, "g3"), Done},
		{"C9 a release of another's claim", path(t, block, claim, Claim("g2", "other", "job 2")), Release("g2", 5, "g3"), Leave},
		{"C9 a release after the row was deleted", nil, Release("g2", 5, "g3"), Leave},
		{"H2 followers passed the version that a job gives up at", path(t, block, claim, Follow(6)), BackToBlocked("g2", 4, 2, "g3", Cause{}), Again},
		{"C9 giving up another's claim", path(t, block, claim, Claim("g2", "other", "job 2")), BackToBlocked("g2", 4, 2, "g3", Cause{}), Leave},
		{"C9 giving up, and the answer was lost", path(t, block, claim, BackToBlocked("g2", 2, 2, "g3", Cause{})), BackToBlocked("g2", 2, 2, "g3", Cause{}), Done},
		{"H25 an intent under another's claim", path(t, block, claim, Claim("g2", "other", "job 2")), SkipIntent("g2", Skip{Version: 2}), Leave},
		{"H20 a letter of an earlier block", path(t, block, claim, BackToBlocked("g2", 2, 2, "g3", Cause{})), Notified("g1"), Leave},
		{"H20 a letter that is noted already", path(t, block, Notified("g1"), claim), Notified("g1"), Done},
		{"H20 a letter of what is live", nil, Notified("g1"), Leave},
	} {
		if _, held := test.write.Apply(test.row); held {
			t.Errorf("%s: the condition holds on %v", test.name, test.row)
		} else if got := Judge(test.write, test.row); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestH2GivingUpKeepsTheGreaterSeenVersion: a job fails below what followers
// were settled with, and above it.
func TestH2GivingUpKeepsTheGreaterSeenVersion(t *testing.T) {
	for _, test := range []struct{ seen, failed, want uint64 }{{6, 3, 6}, {6, 6, 6}, {6, 8, 8}} {
		row := path(t, Block(2, "g1", Cause{}), Follow(test.seen), Claim("g1", "g2", "job"), BackToBlocked("g2", test.failed, test.seen, "g3", Cause{}))
		m, err := ParseMarker(Key{}, row)
		if err != nil {
			t.Fatal(err)
		}
		if m.BlockedVersion != test.failed || m.SeenVersion != test.want || m.State != Blocked || !m.Unsent() {
			t.Errorf("seen %d, failed at %d: %+v, want seenVersion %d", test.seen, test.failed, m, test.want)
		}
	}
}

// TestC9OneJobAtATime: of jobs that read the same generation one gets the row,
// and what the others hold is of no use afterwards. The safety of the model
// does not depend on it; the truth of the audit does.
func TestC9OneJobAtATime(t *testing.T) {
	row := path(t, Block(2, "g1", Cause{}))
	row, first := Claim("g1", "job-1", "1").Apply(row)
	if !first {
		t.Fatal("the first claim does not hold")
	}
	late := []Transition{
		Claim("g1", "job-2", "2"), Release("g1", 9, "x"), BackToBlocked("g1", 2, 2, "x", Cause{}), SkipIntent("g1", Skip{Version: 2}),
	}
	for _, write := range late {
		if _, held := write.Apply(row); held {
			t.Errorf("%s under a generation that is past holds", write.Name)
		}
	}
	row, second := Claim("job-1", "job-3", "3").Apply(row)
	if !second {
		t.Fatal("a job that died cannot be taken over from (H15)")
	}
	if _, held := Release("job-1", 9, "x").Apply(row); held {
		t.Error("a job that was taken over from releases")
	}
}
