package checkpoint

import (
	"errors"
	"testing"

	"millrace/event"
	"millrace/source"
)

func TestMarksRepeatForOneStoreOnly(t *testing.T) {
	a, b := Marks{Boot: "w1/1"}, Marks{Boot: "w1/2"} // one worker before and after a restart
	seen := held("s", "t", "h")
	if !a.Grant(seen, "w1").Same(a.Grant(seen, "w1")) || !a.Renew(seen).Same(a.Renew(seen)) {
		t.Error("a write that is tried again plans other marks, and cannot be recognised")
	}
	if x, y := a.Grant(seen, "w1"), b.Grant(seen, "w1"); x.Token == y.Token || x.Heartbeat == y.Heartbeat {
		t.Error("two stores draw alike")
	}
	if a.Grant(seen, "w1").Token == a.Grant(seen, "w2").Token {
		t.Error("two owners get one token")
	}
	if x, _ := a.First(seen.Key, 1); x == first(a.First(seen.Key, 2)) {
		t.Error("a row that is made again repeats its token")
	}
	other := seen
	other.Key.Shard = "s2"
	if a.Renew(seen).Heartbeat == a.Renew(other).Heartbeat {
		t.Error("two shards share a heartbeat")
	}
}

func first(token, _ string) string { return token }

func TestAfterRefusal(t *testing.T) {
	m, stranger := Marks{Boot: "w1"}, Marks{Boot: "w2"}
	l := held("s", "t", "h")
	l.Checkpoint = source.Start{Kind: source.AfterSequence, Sequence: "7"}
	next := m.Renew(l)
	older := next
	older.Checkpoint.Sequence = "5"
	released, taken, theirs := next, stranger.Grant(next, "w2"), stranger.Renew(l)
	released.Owner = ""
	restored := l // a row from a backup, say
	restored.Token = "t0"
	release := l
	release.Owner = ""
	far := l
	for range lostAnswers {
		far = m.Renew(far)
	}
	for _, test := range []struct {
		name  string
		held  Lease
		row   Lease
		again string // the heartbeat from which to go on
		done  bool
		err   error
	}{
		{name: "this very write", held: l, row: next, done: true},
		{name: "this very release", held: release, row: released, done: true},
		{name: "an earlier try with older content", held: l, row: older, again: older.Heartbeat},
		{name: "many tries without an answer", held: l, row: far, again: far.Heartbeat},
		{name: "too many to be true", held: l, row: m.Renew(far), err: ErrFenced},
		{name: "as it was held", held: l, row: l, err: ErrBackwards},
		{name: "another took it", held: l, row: taken, err: ErrFenced},
		{name: "another's heartbeat under our token", held: l, row: theirs, err: ErrFenced},
		{name: "another token beside our heartbeat", held: l, row: restored, err: ErrFenced},
		{name: "released meanwhile", held: l, row: released, err: ErrFenced},
		{name: "no row", held: l, row: Lease{}, err: ErrFenced},
	} {
		again, done, err := m.AfterRefusal(test.held, test.held, test.row)
		if !errors.Is(err, test.err) || done != test.done || again.Heartbeat != test.again {
			t.Errorf("%s: got %+v, %v, %v", test.name, again, done, err)
		}
		if test.again != "" && again.Checkpoint != test.held.Checkpoint {
			t.Errorf("%s: goes on with %+v, not with what is held", test.name, again)
		}
	}
	if event.ClassOf(ErrFenced) != event.Fenced || event.ClassOf(ErrBackwards) != event.Permanent {
		t.Error("a refusal has lost its class")
	}
}

func TestStatesComeBackFromTheirNames(t *testing.T) {
	for s := WaitingForParent; s <= Finished; s++ {
		if got, ok := ParseState(s.String()); !ok || got != s {
			t.Errorf("%v became %v", s, got)
		}
	}
	for _, text := range []string{"", "unknown", "Active"} {
		if s, ok := ParseState(text); ok {
			t.Errorf("%q was read as %v", text, s)
		}
	}
}
