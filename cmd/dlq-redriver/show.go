package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/cli"
	"millrace/service"
)

type showCommand struct {
	look
	Aggregate    string `arg:"" help:"The aggregate, or a record by its name: letter: and its id."`
	ShowPayloads bool   `help:"Show the event that failed as well, as the event store has it today."`
}

// Help goes on where the verb's one line ends.
func (showCommand) Help() string {
	return `It changes nothing. An aggregate of which there is neither an event nor an item is exit code 1. Payloads are hidden unless they are asked for; an error's text is shown as it is, and may quote one.`
}

// showResult is the JSON form.
type showResult struct {
	listLine
	Position uint64     `json:"position,string"` // in the sink
	Head     uint64     `json:"head,string"`     // newest version in the event store
	Notified bool       `json:"notified"`        // the queue accepted the letter of this block
	Frames   []string   `json:"frames,omitempty"`
	Event    *showEvent `json:"event"` // that failed; null where the event store does not have it
}

type showEvent struct {
	Version uint64          `json:"version,string"`
	Type    string          `json:"type"`
	Time    *time.Time      `json:"time,omitempty"`
	Item    json.RawMessage `json:"item,omitempty"` // in DynamoDB's JSON form
}

// Run prints one aggregate.
func (s showCommand) Run(c cli.Console, stop cli.Stop) error {
	ctx, cancel := s.Within(stop.Drain)
	defer cancel()
	config, err := s.Config()
	if err != nil {
		return err
	}
	pipeline, err := s.Wire(ctx, config)
	if err != nil {
		return err
	}
	record, err := pipeline.ShowUnroutable(ctx, s.Aggregate)
	if err != nil {
		return s.Told(ctx, err, "not all of it was read")
	}
	if record != nil {
		return s.record(c, *record)
	}
	inSinks, err := pipeline.Show(ctx, s.Aggregate)
	if err != nil {
		return s.Told(ctx, err, "not all of it was read")
	}
	if !slices.ContainsFunc(inSinks, known) {
		return fmt.Errorf("%s is unknown: event table %q has no event of it, no sink has any, and nothing of that name is blocked in group %q; check the name",
			cli.Clean(s.Aggregate), config.Events, config.Group)
	}
	for i, shown := range inSinks {
		if i > 0 && s.Output == "table" {
			fmt.Fprintln(c.Out)
		}
		if err := s.print(c, shown); err != nil {
			return err
		}
	}
	return nil
}

// known reports whether anything is known of an aggregate in a sink.
func known(s service.Shown) bool { return s.Marker.NotLive() || s.Head > 0 || s.Position > 0 }

// print prints the aggregate as one sink has it.
func (s showCommand) print(c cli.Console, shown service.Shown) error {
	r := showResult{
		listLine: lineOf(shown.Marker, "millrace.show/v1"), Position: shown.Position, Head: shown.Head,
		Notified: shown.Marker.NotLive() && shown.Marker.Notified == shown.Marker.BlockID, Frames: shown.Marker.Cause.Frames,
	}
	r.Waiting = shown.Waiting()
	var err error
	if r.Event, err = s.event(shown); err != nil {
		return err
	}
	if s.Output == "json" {
		return cli.PrintJSON(c.Out, r)
	}
	return cli.PrintText(c.Out, r.text())
}

// event is what failed, as far as it can be read: it may be the very thing
// that is wrong.
func (s showCommand) event(shown service.Shown) (*showEvent, error) {
	if shown.Event == nil {
		return nil, nil //nolint:nilnil // no event is an answer: null
	}
	e := &showEvent{Version: shown.Event.Version}
	if kind, err := shown.Event.Type(); err == nil {
		e.Type = kind
	}
	if at, err := shown.Event.Time(); err == nil && !at.IsZero() {
		e.Time = &at
	}
	if s.ShowPayloads {
		item, err := shown.Event.Image.Item()
		if err != nil {
			return nil, fmt.Errorf("reading the event that failed: %w", err)
		}
		e.Item = event.AppendItemJSON(nil, item)
	}
	return e, nil
}

// text is what a person reads.
func (r showResult) text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-12s %s\n", name, cli.Clean(fmt.Sprintf(format, args...)))
	}
	if r.BlockedVersion == 0 {
		fmt.Fprintf(&b, "%s is not blocked.\n\n", cli.Clean(r.Aggregate))
		line("position", "%d of %d in %s", r.Position, r.Head, r.Sink)
		return b.String()
	}
	fmt.Fprintf(&b, "%s is %s at version %d.\n\n", cli.Clean(r.Aggregate), r.State, r.BlockedVersion)
	line("position", "%d of %d in %s", r.Position, r.Head, r.Sink)
	line("waiting", "%s versions on record, up to %d", cli.Grouped(r.Waiting), r.SeenVersion)
	line("class", "%s", r.Class)
	line("error", "%s", r.Text)
	for _, frame := range r.Frames {
		line("at", "%s", frame)
	}
	line("fingerprint", "%s; groups lists what failed in the same way", r.Fingerprint)
	line("attempts", "%d, first %s, last %s", r.Attempts, moment(r.First), moment(r.Last))
	switch {
	case r.Job == "":
	case r.State == string(failure.Redriving):
		line("claimed by", "%s, a redrive under way or one that has died; the next redrive takes it over", r.Job)
	default:
		line("redriven by", "%s, which could not release it", r.Job)
	}
	letter := "not sent yet"
	if r.Notified {
		letter = "sent"
	}
	line("letter", "%s", letter)
	if r.Event == nil {
		line("event", "the event store does not have version %d", r.BlockedVersion)
		return b.String()
	}
	line("event", "%s, version %d", r.Event.Type, r.Event.Version)
	if r.Event.Time != nil {
		line("happened", "%s", moment(*r.Event.Time))
	}
	if r.Event.Item != nil {
		line("payload", "%s", r.Event.Item)
	} else {
		line("payload", "hidden; --show-payloads shows it")
	}
	return b.String()
}
