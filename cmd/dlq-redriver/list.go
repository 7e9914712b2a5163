package main

import (
	"fmt"
	"time"

	"millrace/failure"
	"millrace/internal/cli"
	"millrace/service"
)

type listCommand struct {
	look
	filter
	Aggregate []string `help:"Only this aggregate; may be given more than once." placeholder:"AGGREGATE" sep:"none"`
}

// Help goes on where the verb's one line ends.
func (listCommand) Help() string {
	return `It changes nothing. The filters all have to hold. An aggregate that is redriving belongs to a job under way, or to one that has died: a redrive takes it over. A record of class decode has no aggregate and goes by the name of its letter. Errors are shortened to fit a line: show, groups and --output json have all of them.

Exit code 1 where nothing is listed and the control table has nothing of the group on that event table.`
}

// listLine is a marker's JSON form.
type listLine struct {
	Schema         string    `json:"schema"`
	Sink           string    `json:"sink"`             // *: every sink
	Aggregate      string    `json:"aggregate"`        // empty: a record that names none
	Record         string    `json:"record,omitempty"` // its name: letter: and its id
	State          string    `json:"state"`            // blocked or redriving; unroutable of a record
	BlockedVersion uint64    `json:"blockedVersion,string"`
	SeenVersion    uint64    `json:"seenVersion,string"` // up to here versions are on record
	Waiting        uint64    `json:"waiting,string"`     // from the one that failed on
	Class          string    `json:"class"`
	Type           string    `json:"type"` // of the error, as Go names it
	Text           string    `json:"text"`
	Fingerprint    string    `json:"fingerprint"`
	Attempts       int       `json:"attempts"`
	First          time.Time `json:"firstFailedAt"`
	Last           time.Time `json:"lastFailedAt"`
	Job            string    `json:"job,omitempty"` // the last that claimed it
}

func lineOf(m failure.Marker, schema string) listLine {
	return listLine{
		Schema: schema, Sink: m.Key.Sink, Aggregate: m.Key.Aggregate, State: string(m.State),
		BlockedVersion: m.BlockedVersion, SeenVersion: m.SeenVersion, Waiting: service.Waiting(m),
		Class: m.Cause.Class, Type: m.Cause.Type, Text: m.Cause.Text, Fingerprint: m.Cause.Fingerprint,
		Attempts: m.Cause.Attempts, First: m.Cause.First, Last: m.Cause.Last, Job: m.Job,
	}
}

// Run prints a line for each aggregate.
func (l listCommand) Run(c cli.Console, s cli.Stop) error {
	if err := l.check(); err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: err}
	}
	ctx, cancel := l.Within(s.Drain)
	defer cancel()
	pipeline, err := l.Service(ctx)
	if err != nil {
		return err
	}
	listing, err := l.blocked(ctx, pipeline, c, service.Selection{
		Aggregates: l.Aggregate, Fingerprint: l.Fingerprint, Class: l.Class, Limit: l.Limit,
	})
	if err != nil {
		return err
	}
	if more := listing.Beyond(); more > 0 {
		fmt.Fprintf(c.Err, "dlq-redriver: %s more are selected, beyond --limit\n", cli.Grouped(more))
	}
	if l.Output == "table" {
		return printList(c, listing)
	}
	for _, m := range listing.Markers {
		if err := cli.PrintJSON(c.Out, lineOf(m, "millrace.list/v1")); err != nil {
			return err
		}
	}
	for _, u := range listing.Unroutable {
		if err := cli.PrintJSON(c.Out, recordOf(u, "millrace.list/v1")); err != nil {
			return err
		}
	}
	return nil
}

func printList(c cli.Console, list service.Listing) error {
	if len(list.Markers)+len(list.Unroutable) == 0 {
		return cli.PrintText(c.Out, "Nothing that is selected is blocked.\n")
	}
	return table(c.Out, "AGGREGATE SINK STATE VERSION WAITING CLASS FINGERPRINT ATTEMPTS FIRST LAST ERROR", func(row func(...any)) {
		for _, m := range list.Markers {
			row(m.Key.Aggregate, m.Key.Sink, m.State, m.BlockedVersion, cli.Grouped(service.Waiting(m)), m.Cause.Class, m.Cause.Fingerprint,
				m.Cause.Attempts, moment(m.Cause.First), moment(m.Cause.Last), shortened(m.Cause.Text))
		}
		for _, u := range list.Unroutable {
			row(nameOf(u), failure.EverySink, unroutable, "-", "-", u.Cause.Class, u.Cause.Fingerprint, u.Cause.Attempts, moment(u.Cause.First), moment(u.Cause.Last), shortened(u.Cause.Text))
		}
	})
}
