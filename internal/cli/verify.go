package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"millrace/service"
	"millrace/status"
)

// Verify is the verb that compares a read model with its events.
type Verify struct {
	Look
	Output string        `help:"table or json." enum:"table,json" default:"table"`
	Wait   time.Duration `help:"How long those that are behind may take to catch up, all together, before they count: under live traffic something always is behind." default:"10s"`
	Deadline
}

// Help goes on where the verb's one line ends.
func (Verify) Help() string {
	return `It reads both tables once, consistently, and changes nothing. It may run at any time, beside workers and writers.

Exit code 5 means that something differs. Behind: no worker runs, or it has not come so far. Blocked: a version cannot be applied; dlq-redriver shows why and brings it back. Ahead or missing: events were removed from the event table. Unroutable: an item is no event of the layout and not filtered by it; correct the layout, or remove the item. Mismatch: the item is another group's or sink's, it was changed by somebody else, or the fold is not the one that wrote it. An aggregate counts once, and as the first of these: mismatch, missing, blocked, behind. Where the control table cannot be read it is not known what is blocked, and that counts as behind.`
}

// Validate is asked by the parser: with two sets of flags that have one, the
// verb needs its own.
func (v Verify) Validate() error {
	if v.Wait < 0 {
		return fmt.Errorf("--wait is %v and must not be negative", v.Wait)
	}
	return errors.Join(v.Look.Validate(), v.Deadline.Validate())
}

// VerifyResult is the JSON form, of one read model.
type VerifyResult struct {
	Schema   string `json:"schema"`
	Sink     string `json:"sink"`
	Verified bool   `json:"verified"`
	status.Report
	Blocked *int `json:"blocked"` // as the report's; null where nobody knows
}

func resultOf(v service.Verified) VerifyResult {
	r := v.Report
	result := VerifyResult{Schema: "millrace.verify/v1", Sink: v.Sink, Verified: r.Healthy(), Report: r}
	if r.BlockedUnknown == "" {
		result.Blocked = &r.Blocked
	}
	return result
}

// Run compares, prints, and exits with 5 when something differs.
func (v Verify) Run(c Console, s Stop) error {
	ctx, cancel := v.Within(s.Drain)
	defer cancel()
	config, err := v.Config()
	if err != nil {
		return err
	}
	pipeline, err := v.Wire(ctx, config)
	if err != nil {
		return err
	}
	compared, err := pipeline.Verify(ctx, v.Wait)
	if err != nil {
		return v.Told(ctx, err, "the comparison is not complete")
	}
	if len(compared) == 0 {
		return &ExitError{Usage, errors.New("there is no read model among these sinks, and nothing else could be compared")}
	}
	healthy := true
	for i, one := range compared {
		healthy = healthy && one.Healthy()
		if v.Output == "json" {
			err = PrintJSON(c.Out, resultOf(one))
		} else {
			if i > 0 {
				fmt.Fprintln(c.Out)
			}
			err = printReport(c.Out, one.Report, one.Table, config.Events)
		}
		if err != nil {
			return err
		}
	}
	if !healthy {
		return &ExitError{Code: Unhealthy}
	}
	return nil
}

func printReport(out io.Writer, r status.Report, view, events string) error {
	verdict := fmt.Sprintf("%s is the fold of %s: %s aggregates, %s events in effect, each once and in order.",
		view, events, Grouped(r.Aggregates), Grouped(r.Events))
	switch {
	case !r.Healthy():
		verdict = fmt.Sprintf("%s is NOT the fold of %s.", view, events)
	case r.Aggregates == 0:
		verdict = fmt.Sprintf("0 events: nothing to compare. %s has no event, and %s no item.", events, view)
	}
	blocked, held := Grouped(r.Blocked), "and held back by a version that cannot be applied"
	if r.BlockedUnknown != "" {
		blocked, held = "unknown", "and among those behind: "+r.BlockedUnknown
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", verdict)
	for _, line := range []struct{ name, value, about string }{
		{"aggregates", Grouped(r.Aggregates), ""},
		{"events", Grouped(r.Events), "in effect"},
		{"behind", Grouped(r.Behind), "position below the newest version"},
		{"blocked", blocked, held},
		{"ahead", Grouped(r.Ahead), "position above it"},
		{"mismatches", Grouped(r.Mismatches), "the item is not the fold of its events"},
		{"missing", Grouped(r.Missing), "a version is missing in the event table"},
		{"unroutable", Grouped(r.Unroutable), "an item of the event table names no aggregate or version"},
	} {
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-10s  %12s   %s", line.name, line.value, line.about), " ") + "\n")
	}
	if r.Likely != "" {
		fmt.Fprintf(&b, "\n  In all likelihood %s.\n", r.Likely)
	}
	if len(r.Findings) > 0 {
		fmt.Fprintf(&b, "\n  %-10s %-32s %12s %12s  %s\n", "KIND", "AGGREGATE", "POSITION", "HEAD", "WHAT")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %-10s %-32s %12d %12d  %s\n", f.Kind, f.Aggregate, f.Position, f.Head, f.Text)
	}
	if more := r.Found() - len(r.Findings); more > 0 {
		fmt.Fprintf(&b, "  ... and %s more\n", Grouped(more))
	}
	return PrintText(out, b.String())
}
