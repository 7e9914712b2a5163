package sim

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// story is a short history in which all is well: three events of one aggregate
// in a shard and its child, read by one worker and then by another; and two of
// another aggregate, the first of which the log refuses, until a redrive.
func story() Evidence {
	e := Evidence{
		Sinks:   []string{viewSink, logSink},
		Parents: map[string]string{"p": "", "c": "p"},
		Crashed: map[string]bool{},
	}
	for i, shard := range []string{"p", "p", "c"} {
		e.Events = append(e.Events, Event{
			Aggregate: "a", Version: i + 1, Amount: 10 * (i + 1), Insert: true,
			Shard: shard, Sequence: strconv.Itoa(98 + i), At: at(i),
		})
		for _, sink := range e.Sinks {
			e.Effects = append(e.Effects, Effect{Sink: sink, Aggregate: "a", From: uint64(i), To: uint64(i + 1), At: at(10 + i)}) //nolint:gosec // small
		}
	}
	for i := range e.Effects {
		if f := &e.Effects[i]; f.Sink == viewSink {
			f.Versions = strings.Join([]string{"1", "2", "3"}[:f.To], " ")
			f.Total = []int{0, 10, 30, 60}[f.To]
		}
	}
	row := func(second int, shard, by, owner, token, heartbeat, state string, c Checkpoint) {
		e.Rows = append(e.Rows, Row{
			Shard: shard, By: application(by), At: at(second), New: second < 5, Owner: owner,
			Token: token, Heartbeat: heartbeat, State: state, Checkpoint: c,
		})
	}
	start, end := Checkpoint{Kind: "trim-horizon"}, Checkpoint{Kind: "shard-end"}
	row(3, "p", "w0", "", "t0", "h0", "active", start)
	row(4, "c", "w0", "", "t0", "h0", "waiting-for-parent", start)
	row(5, "p", "w0", "w0", "t1", "h1", "active", start)
	row(14, "p", "w0", "w0", "t1", "h2", "active", Checkpoint{"after-sequence", "99"})
	row(15, "p", "w0", "", "t1", "h3", "finished", end)
	row(16, "c", "w0", "w0", "t2", "h4", "active", start)
	row(17, "c", "w0", "w0", "t2", "h5", "active", Checkpoint{"after-sequence", "100"})
	row(28, "c", "w1", "w1", "t3", "h6", "active", Checkpoint{"after-sequence", "100"})
	row(29, "c", "w1", "", "t3", "h7", "active", Checkpoint{"after-sequence", "100"})
	for i := range 2 {
		e.Events = append(e.Events, Event{Aggregate: "b", Version: i + 1, Insert: true, Shard: "p", Sequence: strconv.Itoa(96 + i), At: at(i)})
		e.Effects = append(e.Effects, Effect{Sink: logSink, Aggregate: "b", From: uint64(i), To: uint64(i + 1), At: at(31 + i)}) //nolint:gosec // small
	}
	e.Effects = append(e.Effects, Effect{Sink: viewSink, Aggregate: "b", To: 2, At: at(13), Versions: "1 2"})
	mark := func(second int, by, state string, v, seen int, generation, block, notified string) {
		e.Markers = append(e.Markers, Marker{
			Sink: logSink, Aggregate: "b", By: by, At: at(second), State: state, Blocked: v, Seen: seen,
			Generation: generation, Block: block, Notified: notified,
		})
	}
	mark(11, "w0", "blocked", 1, 1, "g1", "g1", "")
	mark(12, "w0", "blocked", 1, 2, "g1", "g1", "")
	mark(20, "w0", "blocked", 1, 2, "g1", "g1", "g1")
	mark(30, "r0", "redriving", 1, 2, "g2", "g1", "g1")
	mark(33, "r0", "live", 0, 0, "g3", "g1", "g1")
	e.Letters = []Letter{{Sink: logSink, Aggregate: "b", Version: 1, Block: "g1", At: at(19)}}
	e.Rested, e.Told = at(29), map[string]bool{"g1": true}
	e.Reads = []Read{{"p", application("w0"), at(6)}, {"c", application("w0"), at(16)}, {"c", application("w1"), at(28)}}
	return e
}

func at(second int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC)
}

// TestCheckFindsWhatIsBroken: each rule is broken by one change to the story,
// and found by its name. A checker that cannot fail proves nothing.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rule   string // that must be among those found; "" for none at all
		change func(*Evidence)
	}{
		{"as it should be", "", func(*Evidence) {}},
		{"a version stored twice", "store", func(e *Evidence) { e.Events[2].Version = 2 }},
		{"versions stored out of order", "store", func(e *Evidence) { e.Events[0], e.Events[1] = e.Events[1], e.Events[0] }},
		{"versions stored out of order, as the world would have it", "", func(e *Evidence) {
			e.Events[0], e.Events[1] = e.Events[1], e.Events[0]
			e.Holed = map[string]bool{"a": true}
		}},
		{"an event changed", "store", func(e *Evidence) { e.Events[1].Insert = false }},
		{"a version left out", "order", func(e *Evidence) { e.Effects[3].From = 2; e.Effects[3].To = 3 }},
		{"a version applied again", "once", func(e *Evidence) { e.Effects = append(e.Effects, e.Effects[5]) }},
		{"an older state written again", "once", func(e *Evidence) {
			e.Effects = append(e.Effects, Effect{Sink: logSink, Aggregate: "a", From: 1, To: 4, At: at(20)})
		}},
		{"another content", "model", func(e *Evidence) { e.Effects[4].Total++ }},
		{"another order inside a run", "model", func(e *Evidence) { e.Effects[4].Versions = "1 3 2" }},
		{"a version from nowhere", "model", func(e *Evidence) { e.Effects[4].To = 4 }},
		{"the last version missing in one sink", "lost", func(e *Evidence) { e.Effects = e.Effects[:5] }},
		{"a checkpoint a moment early", "ahead", func(e *Evidence) { e.Rows[3].At = at(10) }},
		{"a shard finished early", "ahead", func(e *Evidence) { e.Effects[3].At = at(16) }},
		{"a checkpoint past what is applied never", "ahead", func(e *Evidence) { e.Effects = e.Effects[:5] }},
		{"a checkpoint that goes back, by length", "back", func(e *Evidence) {
			e.Rows[8].Checkpoint.Sequence = "99"
		}},
		{"a checkpoint that goes back, by kind", "back", func(e *Evidence) { e.Rows[8].Checkpoint = Checkpoint{Kind: "trim-horizon"} }},
		{"a finished shard reopened", "back", func(e *Evidence) {
			e.Rows[5].Shard, e.Rows[5].Checkpoint = "p", Checkpoint{Kind: "shard-end"}
		}},
		{"a lease taken alive", "fence", func(e *Evidence) { e.Rows[7].At = at(26) }},
		{"a grant that moves the checkpoint", "fence", func(e *Evidence) { e.Rows[7].Checkpoint.Sequence = "101" }},
		{"a renewal by who lost it", "fence", func(e *Evidence) { e.Rows[8].By = application("w0") }},
		{"a release by nobody's holder", "fence", func(e *Evidence) { e.Rows[3].Owner, e.Rows[4].By = "", application("w1") }},
		{"a read by who lost it", "readers", func(e *Evidence) { e.Reads[2].App = application("w0") }},
		{"a read before the grant", "readers", func(e *Evidence) { e.Reads[0].At = at(4) }},
		{"a read after the release", "readers", func(e *Evidence) { e.Reads[2].At = at(29) }},
		{"a child read early", "lineage", func(e *Evidence) { e.Effects[3].At = at(18) }},
		{"a grandchild read early", "lineage", func(e *Evidence) {
			e.Parents = map[string]string{"p": "", "between": "p", "c": "between"}
			e.Effects[3].At = at(18)
		}},
		{"a lease left behind", "release", func(e *Evidence) { e.Rows = e.Rows[:8] }},
		{"a lease left by a crash", "", func(e *Evidence) { e.Rows, e.Crashed["w1"] = e.Rows[:8], true }},
		{"a checkpoint past what no marker has on record yet", "ahead", func(e *Evidence) { e.Markers[1].At = at(15) }},
		{"a checkpoint past what a marker had on record", "ahead", func(e *Evidence) { e.Markers[3].At, e.Markers[4].At = at(12), at(13) }},
		{"a marker freed under a checkpoint that passed it", "ahead", func(e *Evidence) { e.Effects[7].At = at(34) }},
		{"a version taken off the record", "seen", func(e *Evidence) { e.Markers[3].Seen = 1 }},
		{"a marker freed below what it has on record", "freed", func(e *Evidence) { e.Effects[7].At = at(34) }},
		{"a marker deleted", "freed", func(e *Evidence) { e.Markers[2] = Marker{Sink: logSink, Aggregate: "b", At: at(20), State: "live"} }},
		{"a claim under the block's generation", "marker", func(e *Evidence) { e.Markers[3].Generation = "g1" }},
		{"a generation that was before", "marker", func(e *Evidence) { e.Markers[4].Generation = "g1" }},
		{"a block over a block", "marker", func(e *Evidence) {
			for i := range e.Markers[1:] {
				e.Markers[i+1].Block, e.Markers[i+1].Notified = "g9", "g9"
			}
			e.Markers[1].Generation, e.Markers[1].Notified, e.Markers[2].Generation = "g9", "", "g9"
			e.Letters[0].Block, e.Told = "g9", map[string]bool{"g9": true}
		}},
		{"a claim of what is live", "marker", func(e *Evidence) {
			claim, live := e.Markers[3], e.Markers[4]
			claim.At, live.At, claim.Generation, live.Generation = at(34), at(35), "g4", "g5"
			e.Markers = append(e.Markers, claim, live)
		}},
		{"a block that begins as a claim", "marker", func(e *Evidence) { e.Markers[0].State = "redriving" }},
		{"a block before what lies below it is applied", "marker", func(e *Evidence) {
			for i := range e.Markers[:4] {
				e.Markers[i].Blocked, e.Markers[i].Seen = 2, 2
			}
		}},
		{"the version that failed moved", "marker", func(e *Evidence) { e.Markers[1].Blocked = 2 }},
		{"a block without a version on record", "marker", func(e *Evidence) { e.Markers[0].Seen = 0 }},
		{"a marker that its position has passed", "held", func(e *Evidence) { e.Effects[6].At, e.Effects[7].At = at(25), at(26) }},
		{"a hole that is filled", "held", func(e *Evidence) { e.Markers[2].Class = "gap" }},
		{"a marker left held", "held", func(e *Evidence) { e.Markers = e.Markers[:4] }},
		{"a letter of no block", "letter", func(e *Evidence) { e.Letters[0].Block = "g9" }},
		{"a letter of another version", "letter", func(e *Evidence) { e.Letters[0].Version = 2 }},
		{"a letter before its block", "letter", func(e *Evidence) { e.Letters[0].At = at(10) }},
		{"a letter on record before the queue has it", "letter", func(e *Evidence) { e.Letters[0].At = at(21) }},
		{"a block nobody was told of", "letter", func(e *Evidence) { e.Told = nil }},
		{"what the world saw", "stop", func(e *Evidence) { e.Notes = []Violation{{Rule: "stop"}} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := story()
			tc.change(&e)
			found := Check(e)
			if tc.rule == "" && len(found) > 0 || tc.rule != "" && !has(found, tc.rule) {
				t.Errorf("found %v, want %q", found, tc.rule)
			}
		})
	}
}

func has(found []Violation, rule string) bool {
	for _, v := range found {
		if v.Rule == rule {
			return true
		}
	}
	return false
}

// TestReportShowsTheAggregate: what a failing seed prints names the seed, the
// rule and the history of what it is about.
func TestReportShowsTheAggregate(t *testing.T) {
	e := story()
	e.Effects = e.Effects[:5]
	report := Report(NewPlan(7), e, Check(e))
	for _, want := range []string{"seed 7:", "[lost] a: log never applied [3] of 3", "history of a", "version 3 of a stored, record 100 of c", "view applied 3 to 3"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}
