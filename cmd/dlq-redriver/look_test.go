package main

import (
	"strings"
	"testing"

	"millrace/internal/cli"
	"millrace/internal/localaws"
)

// TestLooking: groups, list and show say what is blocked and why, and change
// nothing.
func TestLooking(t *testing.T) {
	w := incident(t, 3, 1)
	before := w.control()

	groups := lines[groupLine](t, w.expect(cli.Done, "groups --output json"), "millrace.groups/v1")
	if len(groups) != 2 || groups[0].Aggregates != 3 || groups[0].Waiting != 6 || groups[0].Class != "permanent" || !strings.Contains(groups[0].Text, "GiftWrapped") || groups[1].Example != "surprise-000" {
		t.Fatalf("the groups are %+v", groups)
	}
	table := w.expect(cli.Done, "groups")
	if rows := strings.Split(strings.TrimSpace(table), "\n"); len(rows) != 3 || !strings.HasPrefix(rows[0], "AGGREGATES  WAITING") || !strings.HasPrefix(rows[1], "3           6") || !strings.Contains(rows[1], groups[0].Fingerprint) {
		t.Errorf("the table is\n%s", table)
	}

	for filter, want := range map[string]string{
		"":                                       "gift-000 gift-001 gift-002 surprise-000",
		"--class permanent":                      "gift-000 gift-001 gift-002 surprise-000",
		"--class gap":                            "",
		"--fingerprint " + groups[1].Fingerprint: "surprise-000",
		"--aggregate gift-001 --aggregate plain": "gift-001",
	} {
		var names, told []string
		if strings.Contains(filter, "plain") {
			told = []string{"plain is not blocked"}
		}
		for _, line := range lines[listLine](t, w.expect(cli.Done, "list --output json "+filter, told...), "millrace.list/v1") {
			names = append(names, line.Aggregate)
			if line.State != "blocked" || line.BlockedVersion != 2 || line.SeenVersion != 3 || line.Waiting != 2 || line.Attempts < 1 {
				t.Errorf("a line is %+v", line)
			}
		}
		if got := strings.Join(sorted(names), " "); got != want {
			t.Errorf("list %s: %q, want %q", filter, got, want)
		}
	}
	if out := w.expect(cli.Done, "list --limit 1", "3 more are selected, beyond --limit"); strings.Count(out, "\n") != 2 {
		t.Errorf("with a limit it prints\n%s", out)
	}

	shown := lines[showResult](t, w.expect(cli.Done, "show gift-001 --output json"), "millrace.show/v1")[0]
	if shown.Position != 1 || shown.Head != 3 || shown.Waiting != 2 || shown.Event == nil || shown.Event.Type != "GiftWrapped" || shown.Event.Item != nil {
		t.Errorf("shown is %+v, event %+v", shown, shown.Event)
	}
	for line, payload := range map[string]bool{
		"show gift-001": false, "show gift-001 --show-payloads": true, "show gift-001 --output json --show-payloads": true,
	} {
		out := w.expect(cli.Done, line)
		if strings.Contains(out, "Ada") != payload || !strings.Contains(out, "GiftWrapped") {
			t.Errorf("%s prints\n%s", line, out)
		}
	}
	if out := w.expect(cli.Done, "show plain"); !strings.Contains(out, "plain is not blocked.") || !strings.Contains(out, "3 of 3") {
		t.Errorf("show plain prints\n%s", out)
	}
	if after := w.control(); after != before {
		t.Errorf("looking changed the control table from\n%s\nto\n%s", before, after)
	}
}

// TestNothingBlocked and no tables.
func TestNothingBlocked(t *testing.T) {
	w := incident(t, 0, 0)
	if out := w.expect(cli.Done, "groups"); out != "Nothing is blocked.\n" {
		t.Errorf("groups prints %q", out)
	}
	if out := w.expect(cli.Done, "list"); out != "Nothing that is selected is blocked.\n" {
		t.Errorf("list prints %q", out)
	}
	if out := w.expect(cli.Done, "groups --output json"); out != "" {
		t.Errorf("groups prints %q", out)
	}
	if out := w.expect(cli.Done, "redrive --all --execute", "redriving 0 aggregates"); !strings.Contains(out, "0 of 0 aggregates are released") {
		t.Errorf("redrive prints %q", out)
	}
	w.expect(cli.Usage, "groups --control none", `"none" does not exist`)
}

// TestNameThatIsNotBlocked: whoever names it means something to be done, and
// learns that it is not.
func TestNameThatIsNotBlocked(t *testing.T) {
	w := incident(t, 1, 0)
	for line, released := range map[string]int{"redrive plain": 0, "redrive plain --execute": 0, "redrive plain gift-000 --execute": 1} {
		r := lines[redriveResult](t, w.expect(cli.Partly, line+" --output json", "plain is not blocked: it may be mistyped"), "millrace.redrive/v1")[0]
		if len(r.NotBlocked) != 1 || r.NotBlocked[0] != "plain" || r.Released != released {
			t.Errorf("%s ended %+v", line, r)
		}
	}
	if out := w.expect(cli.Partly, "redrive gift-000 --execute", "gift-000 is not blocked"); !strings.Contains(out, "not blocked            1   named, and nothing holds them back") {
		t.Errorf("it prints\n%s", out)
	}
}

// TestUnknownNames: a group, a table or an aggregate that nobody has seen must
// not look like the all-clear.
func TestUnknownNames(t *testing.T) {
	w := incident(t, 1, 0)
	for _, line := range []string{"groups --group typo", "list --group typo", "redrive --all --group typo", "redrive --all --execute --group typo", "groups --group typo --output json"} {
		if out := w.expect(cli.Failed, line, `the control table "millrace" has nothing of group "typo" on event table "orders-events"`); out != "" {
			t.Errorf("%s prints %q", line, out)
		}
	}
	for _, line := range []string{"show gift-999", "show gift-999 --output json", "show letter:none"} {
		if out := w.expect(cli.Failed, line, `is unknown: event table "orders-events" has no event of it`); out != "" {
			t.Errorf("%s prints %q", line, out)
		}
	}
}

// TestWords: a table's lines are short, and no word is Go's.
func TestWords(t *testing.T) {
	w := incident(t, 0, 1)
	whole := lines[listLine](t, w.expect(cli.Done, "list --output json"), "millrace.list/v1")[0].Text
	if out := w.expect(cli.Done, "list"); len([]rune(whole)) <= 60 || strings.Contains(out, whole) || !strings.Contains(out, string([]rune(whole)[:59])+"…") {
		t.Errorf("the list prints\n%s", out)
	}
	if out := w.expect(cli.Done, "groups"); !strings.Contains(out, whole) {
		t.Errorf("the groups lack the whole error:\n%s", out)
	}
	out := w.expect(cli.Done, "show surprise-000")
	if !strings.Contains(out, whole) || strings.Contains(out, "*errors") || strings.Contains(out, "job") || strings.Contains(out, "redriven by") {
		t.Errorf("it shows\n%s", out)
	}
	w.expect(cli.Partly, "redrive surprise-000 --execute", "surprise-000 failed")
	if out := w.expect(cli.Done, "show surprise-000"); !strings.Contains(out, "which could not release it") {
		t.Errorf("after a redrive it shows\n%s", out)
	}
}

// TestGivingUp: half a list is none.
func TestGivingUp(t *testing.T) {
	w := incident(t, 1, 0)
	defer w.engine.Inject(localaws.Fault{Do: localaws.TimeOut, Match: func(c localaws.Call) bool { return c.Table == w.flags.Control }})()
	if out := w.expect(cli.Failed, "list --timeout 200ms", "gave up after --timeout 200ms, the list is not complete"); out != "" {
		t.Errorf("it prints %q", out)
	}
}

// TestClean: what an event's text brings along moves no cursor.
func TestClean(t *testing.T) {
	if got := cli.Clean("a\x1b[2Jb\n\tc é"); got != "a [2Jb  c é" {
		t.Errorf("it is %q", got)
	}
}
