package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/cli"
	"millrace/service"
)

// unroutable is the state of a record that names no aggregate.
const unroutable = "unroutable"

// nameOf is what such a record is called on a command line.
func nameOf(u failure.Unroutable) string { return failure.LetterPrefix + u.ID }

// recordOf is a record's line among those of blocked aggregates.
func recordOf(u failure.Unroutable, schema string) listLine {
	return listLine{
		Schema: schema, Sink: failure.EverySink, Record: nameOf(u), State: unroutable,
		Class: u.Cause.Class, Type: u.Cause.Type, Text: u.Cause.Text, Fingerprint: u.Cause.Fingerprint,
		Attempts: u.Cause.Attempts, First: u.Cause.First, Last: u.Cause.Last,
	}
}

// recordLine is what came of a record, or would; part of the JSON form.
type recordLine struct {
	Record    string          `json:"record"`
	Key       json.RawMessage `json:"key"`                 // of its item, in DynamoDB's JSON form
	Outcome   string          `json:"outcome"`             // would-end, ended, no-event, still-unroutable, gone, forgotten, failed or paused
	Aggregate string          `json:"aggregate,omitempty"` // of the event that it is by now
	Version   uint64          `json:"version,string,omitempty"`
	Error     string          `json:"error,omitempty"`
}

func recordLineOf(r redrive.Rerouted) recordLine {
	line := recordLine{
		Record: nameOf(r.Record), Key: event.AppendItemJSON(nil, r.Record.Key), Outcome: string(r.Outcome),
		Aggregate: r.Aggregate, Version: r.Version,
	}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	return line
}

// lookAtRecords is the dry run of records that name no aggregate.
func (redriveCommand) lookAtRecords(ctx context.Context, pipeline *service.Service, list []failure.Unroutable, result *redriveResult) error {
	for _, u := range list {
		found, err := pipeline.LookUnroutable(ctx, u)
		if err != nil {
			return err
		}
		line := recordLineOf(found)
		if found.Outcome == redrive.Ended || found.Outcome == redrive.NoEvent {
			line.Outcome = "would-end"
			result.WouldEnd++
		}
		result.Records = append(result.Records, line)
	}
	return nil
}

func (r redriveCommand) rerouteRecords(ctx context.Context, c cli.Console, s cli.Stop, pipeline *service.Service, list []failure.Unroutable, result *redriveResult) error {
	return pipeline.Reroute(ctx, s.Abort, list, r.ForgetGone, service.RedriveOptions{}, func(one redrive.Rerouted) {
		line := recordLineOf(one)
		switch one.Outcome {
		case redrive.Ended, redrive.NoEvent, redrive.Forgotten:
			result.Ended++
		case redrive.Gone:
			fmt.Fprintf(c.Err, "dlq-redriver: %s: the event table does not have its item any more; --forget-gone ends it\n", cli.Clean(line.Record))
		default:
			fmt.Fprintf(c.Err, "dlq-redriver: %s %s: %s\n", cli.Clean(line.Record), line.Outcome, cli.Clean(line.Error))
		}
		result.Records = append(result.Records, line)
	})
}

// countRecords adds what came of records to the text that a person reads.
func (r *redriveResult) countRecords(b *strings.Builder) {
	if r.Unroutable == 0 {
		return
	}
	count := func(name string, n int, about string) {
		fmt.Fprintf(b, "  %-13s  %9s   %s\n", name, cli.Grouped(n), about)
	}
	count("records", r.Unroutable, "name no aggregate")
	if r.Executed {
		count("ended", r.Ended, "in effect everywhere, no event, or forgotten")
	} else {
		count("would end", r.WouldEnd, "an event by now, or filtered by the layout")
	}
	for _, line := range r.Records {
		if line.Error != "" || line.Outcome == string(redrive.Gone) {
			fmt.Fprintf(b, "    %s %s %s: %s\n", cli.Clean(line.Record), cli.Clean(string(line.Key)), line.Outcome, cli.Clean(line.Error))
		}
	}
}

// recordResult is the JSON form of one record that names no aggregate.
type recordResult struct {
	listLine
	Key      json.RawMessage `json:"key"`      // of its item, in DynamoDB's JSON form
	Source   failure.Source  `json:"source"`   // of its record
	Notified bool            `json:"notified"` // the queue accepted its letter
	Frames   []string        `json:"frames,omitempty"`
	Now      string          `json:"now"`              // event, no-event, still-unroutable or gone: what the item is today
	Item     json.RawMessage `json:"item,omitempty"`   // as it was inserted
	SHA256   string          `json:"sha256,omitempty"` // of it
}

// record prints a record that names no aggregate.
func (s showCommand) record(c cli.Console, shown redrive.Rerouted) error {
	u := shown.Record
	r := recordResult{
		listLine: recordOf(u, "millrace.show/v1"), Key: event.AppendItemJSON(nil, u.Key), Source: u.Source,
		Notified: u.Notified != "", Frames: u.Cause.Frames, Now: string(shown.Outcome), SHA256: u.Record.SHA256,
	}
	if shown.Outcome == redrive.Ended {
		r.Now = "event"
	}
	if s.ShowPayloads && u.Record.Item != nil {
		r.Item = event.AppendItemJSON(nil, u.Record.Item)
	}
	if s.Output == "json" {
		return cli.PrintJSON(c.Out, r)
	}
	return cli.PrintText(c.Out, r.text(shown, u.Record.Item != nil))
}

// text is what a person reads.
func (r recordResult) text(shown redrive.Rerouted, inline bool) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-12s %s\n", name, cli.Clean(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(&b, "%s is a record that names no aggregate or no version.\n\n", cli.Clean(r.Record))
	line("key", "%s", r.Key)
	switch shown.Outcome {
	case redrive.Ended:
		line("now", "version %d of %s; a redrive brings it in", shown.Version, shown.Aggregate)
	case redrive.NoEvent:
		line("now", "no event of the layout; a redrive ends it")
	case redrive.Gone:
		line("now", "the event table does not have it any more; a redrive with --forget-gone ends it")
	default:
		line("now", "%s", r.Now)
	}
	line("class", "%s", r.Class)
	line("error", "%s", r.Text)
	for _, frame := range r.Frames {
		line("at", "%s", frame)
	}
	line("fingerprint", "%s; groups lists what failed in the same way", r.Fingerprint)
	line("first seen", "%s", moment(r.First))
	line("record", "%s of shard %s, stream %s, created %s", r.Source.Sequence, r.Source.Shard, r.Source.Label, r.Source.Created.UTC().Format(time.RFC3339))
	letter := "not sent yet"
	if r.Notified {
		letter = "sent"
	}
	line("letter", "%s", letter)
	switch {
	case r.Item != nil:
		line("payload", "%s", r.Item)
	case inline:
		line("payload", "hidden; --show-payloads shows it")
	default:
		line("payload", "too large to be kept; SHA-256 %s", r.SHA256)
	}
	return b.String()
}
