package sim

import (
	"fmt"
	"strings"
)

// Report is what a failing seed shows: its schedule, what was violated, and the
// history of each aggregate and shard concerned.
func Report(plan Plan, e Evidence, found []Violation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n\n", plan)
	shown := map[string]bool{}
	for i, v := range found {
		if i == 20 {
			fmt.Fprintf(&b, "and %d more\n", len(found)-i)
			break
		}
		fmt.Fprintln(&b, v)
	}
	for _, v := range found {
		if v.Subject == "" || shown[v.Subject] || len(shown) == 3 {
			continue
		}
		shown[v.Subject] = true
		e.history(&b, v.Subject)
	}
	return b.String()
}

// history writes what happened to an aggregate or a shard.
func (e Evidence) history(b *strings.Builder, subject string) {
	fmt.Fprintf(b, "\nhistory of %s\n", subject)
	for _, v := range e.Events {
		if v.Aggregate == subject || v.Shard == subject {
			fmt.Fprintf(b, "  %s version %d of %s stored, record %s of %s\n", v.At.Format(clock), v.Version, v.Aggregate, v.Sequence, v.Shard)
		}
	}
	for _, f := range e.Effects {
		if f.Aggregate == subject {
			fmt.Fprintf(b, "  %s %s applied %d to %d\n", f.At.Format(clock), f.Sink, f.From+1, f.To)
		}
	}
	for _, m := range e.Markers {
		if m.Aggregate == subject {
			fmt.Fprintf(b, "  %s marker in %s: %s at %d, seen %d, generation %s, block %s, notified %q, %s, job %q, by %s\n",
				m.At.Format(clock), m.Sink, m.State, m.Blocked, m.Seen, m.Generation, m.Block, m.Notified, m.Class, m.Job, m.By)
		}
	}
	for _, l := range e.Letters {
		if l.Aggregate == subject {
			fmt.Fprintf(b, "  %s letter of block %s at %d in %s\n", l.At.Format(clock), l.Block, l.Version, l.Sink)
		}
	}
	var last Row
	for _, r := range e.Rows {
		if r.Shard != subject {
			continue
		}
		// Renewals that move nothing would hide the rest.
		if last.Checkpoint != r.Checkpoint || last.Owner != r.Owner || last.State != r.State || last.Token != r.Token {
			fmt.Fprintf(b, "  %s lease: owner %q, token %s, %s, %v, by %s\n", r.At.Format(clock), r.Owner, r.Token, r.State, r.Checkpoint, r.By)
		}
		last = r
	}
}
