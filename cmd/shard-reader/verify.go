package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"millrace/service"
	"millrace/status"
)

type verifyCommand struct {
	pipelineFlags
	Output  string        `help:"table or json." enum:"table,json" default:"table"`
	Wait    time.Duration `help:"How long those that are behind may take to catch up, all together, before they count: under live traffic something always is behind." default:"10s"`
	Timeout time.Duration `help:"Give up after this time. Default: never."`
}

// Help goes on where the verb's one line ends.
func (verifyCommand) Help() string {
	return `It reads both tables once, consistently, and changes nothing. It may run at any time, beside workers and writers.

Exit code 5 means that something differs. Behind: no worker runs, or it has not come so far. Ahead or missing: events were removed from the event table. Mismatch: the item was changed by somebody else, or the fold has changed since it was written.`
}

// verifyOutput is the JSON form.
type verifyOutput struct {
	Schema   string `json:"schema"`
	Verified bool   `json:"verified"`
	status.Report
}

// Run compares, prints, and exits with 5 when something differs.
func (v verifyCommand) Run(c console, s stop) error {
	switch {
	case v.Wait < 0:
		return &exitError{exitUsage, fmt.Errorf("--wait is %v and must not be negative", v.Wait)}
	case v.Timeout < 0:
		return &exitError{exitUsage, fmt.Errorf("--timeout is %v and must not be negative", v.Timeout)}
	}
	ctx := s.drain
	if v.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, v.Timeout)
		defer cancel()
		ctx = limited
	}
	folds, err := registry()
	if err != nil {
		return err
	}
	pipeline, err := service.New(ctx, v.config(), folds)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	report, err := pipeline.Verify(ctx, v.Wait)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("gave up after --timeout %v, the comparison is not complete: %w", v.Timeout, err)
		}
		return configured(err)
	}
	if v.Output == "json" {
		err = printJSON(c.out, verifyOutput{Schema: "millrace.verify/v1", Verified: report.Healthy(), Report: report})
	} else {
		err = printReport(c.out, report, v.View, v.Events)
	}
	if err == nil && !report.Healthy() {
		err = &exitError{code: exitUnhealthy}
	}
	return err
}

func printReport(out io.Writer, r status.Report, view, events string) error {
	verdict := fmt.Sprintf("%s is the fold of %s: %s aggregates, %s events in effect, each once and in order.",
		view, events, grouped(r.Aggregates), grouped(r.Events))
	if !r.Healthy() {
		verdict = fmt.Sprintf("%s is NOT the fold of %s.", view, events)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", verdict)
	for _, line := range []struct{ name, value, about string }{
		{"aggregates", grouped(r.Aggregates), ""},
		{"events", grouped(r.Events), "in effect"},
		{"behind", grouped(r.Behind), "position below the newest version"},
		{"ahead", grouped(r.Ahead), "position above it"},
		{"mismatches", grouped(r.Mismatches), "the item is not the fold of its events"},
		{"missing", grouped(r.Missing), "a version is missing in the event table"},
	} {
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-10s  %12s   %s", line.name, line.value, line.about), " ") + "\n")
	}
	if len(r.Findings) > 0 {
		fmt.Fprintf(&b, "\n  %-9s %-32s %12s %12s  %s\n", "KIND", "AGGREGATE", "POSITION", "HEAD", "WHAT")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %-9s %-32s %12d %12d  %s\n", f.Kind, f.Aggregate, f.Position, f.Head, f.Text)
	}
	if more := r.Behind + r.Ahead + r.Mismatches + r.Missing - len(r.Findings); more > 0 {
		fmt.Fprintf(&b, "  ... and %s more\n", grouped(more))
	}
	return printText(out, b.String())
}

// grouped writes a whole number with separators: 20,000.
func grouped[T int | int64 | uint64](n T) string {
	digits := fmt.Sprint(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for at := len(digits) - 3; at > start; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
