package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"millrace/internal/cli"
	"millrace/status"
)

// demoResult is the demo's outcome; its JSON form is millrace.demo/v1.
type demoResult struct {
	Schema          string  `json:"schema"`
	Appended        uint64  `json:"appended"`        // events written
	Applied         uint64  `json:"applied"`         // versions in effect at the end
	Duplicates      uint64  `json:"duplicates"`      // records dropped as already applied
	GapsFilled      uint64  `json:"gapsFilled"`      // gaps closed from the event store
	Blocked         int     `json:"blocked"`         // aggregates ever blocked
	Letters         int     `json:"letters"`         // distinct ones that the on-failure queue accepted
	Redriven        int     `json:"redriven"`        // aggregates released
	ReadModelWrites int     `json:"readModelWrites"` // accepted by the engine
	Verified        bool    `json:"verified"`        // no mismatches, applied is appended, and no poison is left
	Mismatches      int     `json:"mismatches"`
	Seconds         float64 `json:"seconds"` // from the first append to the last effect
	EventsPerSecond float64 `json:"eventsPerSecond"`
	Seed            uint64  `json:"seed,string"`

	aggregates int
	shards     int
	restarts   int
	takeover   time.Duration
	backward   int
	followed   uint64        // events that waited by reference while their aggregates were blocked
	poison     int           // aggregates with an event that the first release could not apply
	recovered  time.Duration // from the fix to the last release
	changes    []string
	report     status.Report
}

// write is the summary a person reads.
func (r *demoResult) write(out io.Writer) error {
	var b strings.Builder
	if r.Verified {
		fmt.Fprintf(&b, "\nVERIFIED: all %s events of %s aggregates took effect, each once and in order.\n\n", cli.Grouped(r.Appended), cli.Grouped(r.aggregates))
	} else {
		fmt.Fprintf(&b, "\nNOT VERIFIED: %s of %s events are in effect, and %s things are not as they should be.\n\n", cli.Grouped(r.Applied), cli.Grouped(r.Appended), cli.Grouped(r.Mismatches))
	}
	perWrite := 0.0
	if r.ReadModelWrites > 0 {
		perWrite = float64(r.Applied) / float64(r.ReadModelWrites)
	}
	type row struct{ name, value, about string }
	rows := []row{
		{"events appended", cli.Grouped(r.Appended), fmt.Sprintf("in effect %.1f s after the first append", r.Seconds)},
		{"versions in effect", cli.Grouped(r.Applied), "every item equals the fold of its events"},
		{"read-model writes", cli.Grouped(r.ReadModelWrites), fmt.Sprintf("%.1f events a write", perWrite)},
		{"duplicates dropped", cli.Grouped(r.Duplicates), "delivered again, took effect once"},
		{"gaps filled", cli.Grouped(r.GapsFilled), "from the event store, as the stream was late"},
		{"shards read", cli.Grouped(r.shards), "parents before children"},
		{"workers killed", cli.Grouped(r.restarts), fmt.Sprintf("the successor went on after %.1f s", r.takeover.Seconds())},
		{"events a second", cli.Grouped(int64(r.EventsPerSecond)), "paced by the demo; make bench measures speed"},
	}
	if r.Blocked > 0 {
		rows = append(rows,
			row{"aggregates blocked", cli.Grouped(r.Blocked), fmt.Sprintf("%s of their events waited by reference", cli.Grouped(r.followed))},
			row{"letters sent", cli.Grouped(r.Letters), "to the on-failure queue"},
			row{"redriven", cli.Grouped(r.Redriven), fmt.Sprintf("the last one was back %.1f s after the fix was started", r.recovered.Seconds())})
	}
	for _, line := range rows {
		fmt.Fprintf(&b, "  %-18s %9s   %s\n", line.name, line.value, line.about)
	}
	if len(r.changes) > 0 {
		b.WriteString("\nOn the way:\n")
		for _, c := range r.changes {
			fmt.Fprintf(&b, "  - %s\n", c)
		}
	}
	if r.backward > 0 {
		fmt.Fprintf(&b, "\n%s writes moved a position by something else than forward.\n", cli.Grouped(r.backward))
	}
	if lack := r.lack(); lack != "" {
		fmt.Fprintf(&b, "\n%s.\n", lack)
	}
	for _, f := range r.report.Findings {
		fmt.Fprintf(&b, "  %s %s: position %d of %d: %s\n", f.Kind, f.Aggregate, f.Position, f.Head, f.Text)
	}
	fmt.Fprintf(&b, "\nWith the same flags, the same events and incidents again, in a timing of their own:\n  shard-reader demo --seed %d\n", r.Seed)
	return cli.PrintText(out, b.String())
}

// lack says what is missing from the story of the poison; empty: nothing.
func (r *demoResult) lack() string {
	switch {
	case r.Blocked < r.poison:
		return fmt.Sprintf("Aggregates with poison: %d; ever blocked: %d", r.poison, r.Blocked)
	case r.Redriven != r.Blocked:
		return fmt.Sprintf("Aggregates blocked: %d; released: %d", r.Blocked, r.Redriven)
	case r.Letters < r.Blocked:
		return fmt.Sprintf("Aggregates blocked: %d; letters in the on-failure queue: %d", r.Blocked, r.Letters)
	}
	return ""
}
