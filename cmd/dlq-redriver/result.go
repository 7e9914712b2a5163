package main

import (
	"fmt"
	"io"
	"strings"

	"millrace/internal/cli"
	"millrace/service"
)

// redriveResult is what came of a redrive, or would; it is the JSON form. The
// counts are of aggregates, but for Waiting.
type redriveResult struct {
	Schema   string `json:"schema"`
	Executed bool   `json:"executed"` // false: a dry run
	Selected int    `json:"selected"`
	Beyond   int    `json:"beyondLimit"`    // selected by the filters, and left out by --limit
	Waiting  uint64 `json:"waiting,string"` // versions on record

	NotBlocked []string `json:"notBlocked"` // asked for by name, and nothing holds them back
	Unread     int      `json:"unread"`     // markers asked for that this build cannot read

	WouldRelease int `json:"wouldRelease"`
	WouldFail    int `json:"wouldFail"`
	WouldTry     int `json:"wouldTry"` // in sinks whose effects no dry run can tell

	Released  int    `json:"released"`
	Failed    int    `json:"failed"`    // blocked again
	Left      int    `json:"left"`      // somebody else's, or released already
	Paused    int    `json:"paused"`    // the tables did not answer, or the read model is somebody else's
	Untouched int    `json:"untouched"` // not begun, or cut short
	Stopped   string `json:"stopped,omitempty"`

	LettersDeleted *int `json:"lettersDeleted,omitempty"` // from the queue; absent: nobody swept it

	Aggregates []aggregateLine `json:"aggregates"`

	Unroutable int          `json:"unroutable"` // records selected; no other count has them, but for Beyond
	WouldEnd   int          `json:"wouldEnd"`
	Ended      int          `json:"ended"` // in effect everywhere, no event, or forgotten
	Records    []recordLine `json:"records"`

	groups []service.Group
}

type aggregateLine struct {
	Sink      string `json:"sink"`
	Aggregate string `json:"aggregate"`
	Outcome   string `json:"outcome"`     // would-release, would-fail, would-try, released, failed, left or paused
	From      uint64 `json:"from,string"` // position before
	To        uint64 `json:"to,string"`   // and after
	Error     string `json:"error,omitempty"`
}

// lacks reports whether something was asked for that cannot be worked on.
func (r *redriveResult) lacks() bool { return len(r.NotBlocked)+r.Unread > 0 }

// text is what a person reads.
func (r *redriveResult) text(out io.Writer) error {
	var b strings.Builder
	type count struct {
		name  string
		n     int
		about string
	}
	counts := []count{
		{"would release", r.WouldRelease, "this build's fold takes all that waits"},
		{"would fail", r.WouldFail, "and be blocked again"},
	}
	if r.WouldTry > 0 {
		counts = append(counts, count{"would try", r.WouldTry, "in a sink that is no fold: only a redrive can tell"})
	}
	if r.Executed {
		fmt.Fprintf(&b, "%s of %s aggregates are released.\n\n", cli.Grouped(r.Released), cli.Grouped(r.Selected))
		counts = []count{
			{"released", r.Released, ""},
			{"failed", r.Failed, "blocked again"},
			{"left", r.Left, "somebody else's, or released already"},
			{"paused", r.Paused, "the tables did not answer, or the read model is somebody else's"},
			{"untouched", r.Untouched, ""},
		}
	} else {
		fmt.Fprintf(&b, "A dry run: nothing is changed. %s aggregates are selected, %s versions wait.\n\n", cli.Grouped(r.Selected), cli.Grouped(r.Waiting))
	}
	for _, c := range counts {
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-13s  %9s   %s", c.name, cli.Grouped(c.n), c.about), " ") + "\n")
	}
	if r.LettersDeleted != nil {
		fmt.Fprintf(&b, "  %-13s  %9s   deleted from the queue\n", "letters", cli.Grouped(*r.LettersDeleted))
	}
	r.countRecords(&b)
	if n := len(r.NotBlocked); n > 0 {
		fmt.Fprintf(&b, "  %-13s  %9s   named, and nothing holds them back\n", "not blocked", cli.Grouped(n))
	}
	if r.Unread > 0 {
		fmt.Fprintf(&b, "  %-13s  %9s   markers that this build cannot read\n", "unread", cli.Grouped(r.Unread))
	}
	if r.Beyond > 0 {
		fmt.Fprintf(&b, "  %-13s  %9s   left out by --limit\n", "beyond", cli.Grouped(r.Beyond))
	}
	if r.Stopped != "" {
		fmt.Fprintf(&b, "\nStopped: %s. See what they fail on with groups.\n", r.Stopped)
	}
	if err := cli.PrintText(out, b.String()); err != nil || r.Executed || r.Selected+r.Unroutable == 0 {
		return err
	}
	return r.details(out)
}

// details is the dry run's tables: what would be done, by cause, and what
// would fail.
func (r *redriveResult) details(out io.Writer) error {
	if err := cli.PrintText(out, "\n"); err != nil {
		return err
	}
	err := table(out, "AGGREGATES WAITING CLASS FINGERPRINT EXAMPLE", func(row func(...any)) {
		for _, g := range r.groups {
			row(members(g), cli.Grouped(g.Waiting), g.Class, g.Fingerprint, g.Example)
		}
	})
	if err != nil {
		return err
	}
	if r.WouldFail > 0 {
		if err := cli.PrintText(out, "\n"); err != nil {
			return err
		}
		err = table(out, "AGGREGATE VERSION ERROR", func(row func(...any)) {
			for _, a := range r.Aggregates {
				if a.Error != "" {
					row(a.Aggregate, a.To+1, a.Error)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return cli.PrintText(out, "\n"+r.outlook()+"\n")
}

// outlook is what --execute would come to.
func (r *redriveResult) outlook() string {
	all, would := r.Selected+r.Unroutable, r.WouldRelease+r.WouldEnd
	switch would {
	case all:
		return "With --execute it is done."
	case 0:
		return "With --execute all of it would fail again: what it fails on is not fixed in this build or its configuration."
	default:
		return fmt.Sprintf("With --execute it is done for %s of %s; the others would fail again.", cli.Grouped(would), cli.Grouped(all))
	}
}
