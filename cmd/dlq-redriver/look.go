package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"millrace/event"
	"millrace/internal/cli"
	"millrace/service"
)

// look is the flags of every verb that reads markers.
type look struct {
	cli.Look
	Output string `help:"table or json." enum:"table,json" default:"table"`
	cli.Deadline
}

// Validate is asked by the parser: with two sets of flags that have one, the
// verbs need one of their own.
func (l look) Validate() error {
	return errors.Join(l.Look.Validate(), l.Deadline.Validate())
}

// filter is the flags that select by cause.
type filter struct {
	Fingerprint string `help:"Only those of this fingerprint, as groups prints it." placeholder:"F"`
	Class       string `help:"Only those of this class: permanent, gap, unknown, transient, batch, crash, decode or schema." placeholder:"CLASS"`
	Limit       int    `name:"limit" help:"At most so many, those that failed first; 0 means no limit." default:"0"`
}

// blocking are the classes of errors that block.
var blocking = []string{
	event.Permanent.String(), event.Gap.String(), event.Unknown.String(), event.Transient.String(), event.Batch.String(),
	event.Crash.String(), event.Decode.String(), event.Schema.String(),
}

func (f filter) check() error {
	switch {
	case f.Class != "" && !slices.Contains(blocking, f.Class):
		return fmt.Errorf("--class is %q and must be one of %s", f.Class, strings.Join(blocking, ", "))
	case f.Limit < 0:
		return fmt.Errorf("--limit is %d and must not be negative; 0 means no limit", f.Limit)
	}
	return nil
}

// blocked lists what a selection selects. It warns of rows that this build cannot
// read, since what they hold back is not in the listing, and of names that
// nothing holds back. Where nothing is listed of a group that the control table
// does not know, that is an error: it must not look like the all-clear.
func (l look) blocked(ctx context.Context, s *service.Service, c cli.Console, selection service.Selection) (service.Listing, error) {
	listing, err := s.Blocked(ctx, selection)
	if err != nil {
		return listing, l.Told(ctx, err, "the list is not complete")
	}
	for _, row := range listing.Foreign {
		fmt.Fprintf(c.Err, "dlq-redriver: a marker that this build cannot read is left alone: %s: %s\n", cli.Clean(row.Row), cli.Clean(row.Reason))
	}
	for _, name := range listing.Absent {
		fmt.Fprintf(c.Err, "dlq-redriver: %s is not blocked: it may be mistyped, or released already\n", cli.Clean(name))
	}
	if listing.Selected+listing.UnroutableSelected+len(listing.Foreign) > 0 {
		return listing, nil
	}
	switch known, err := s.Known(ctx); {
	case err != nil:
		return listing, l.Told(ctx, err, "the list is not complete")
	case !known:
		return listing, &cli.ExitError{Code: cli.Failed, Cause: l.unknown()}
	}
	return listing, nil
}

// unknown is the error of a group of which the control table has nothing.
func (l look) unknown() error {
	config, err := l.Config()
	if err != nil {
		return err
	}
	return fmt.Errorf("the control table %q has nothing of group %q on event table %q: no worker of it has begun there yet, or one of the names is wrong", config.Control, config.Group, config.Events)
}

// shortened cuts a text that would fill a table's line.
func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// table prints lines of cells under a head, aligned.
func table(out io.Writer, head string, lines func(row func(cells ...any))) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(head, " ", "\t"))
	lines(func(cells ...any) {
		for i, cell := range cells {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cli.Clean(fmt.Sprint(cell)))
		}
		fmt.Fprintln(w)
	})
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return cli.PrintText(out, b.String())
}

func moment(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }
