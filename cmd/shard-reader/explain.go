package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"millrace/event"
	"millrace/internal/cli"
	"millrace/service"
)

type explainCommand struct {
	cli.Look
	Aggregate string  `arg:"" help:"The aggregate's id."`
	Version   uint64  `name:"at-version" help:"Fold its events up to this version, and show what comes out." placeholder:"N"`
	At        *moment `help:"Fold its events up to this time, in RFC 3339, by their own event times." placeholder:"TIME"`
	State     bool    `help:"Fold all its events, and show what comes out."`
	Output    string  `help:"table or json." enum:"table,json" default:"table"`
	cli.Deadline
}

// moment is a time on the command line.
type moment struct{ time.Time }

// UnmarshalText reads RFC 3339.
func (m *moment) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is no time such as 2026-01-02T03:04:05Z", text)
	}
	m.Time = at
	return nil
}

// Help goes on where the verb's one line ends.
func (explainCommand) Help() string {
	return `How far the event store is with the aggregate, how far each sink, and what holds it back. It changes nothing.

With --at-version, --at or --state it folds the events with this build's folds, from the first one on, and shows each read model's item as it was then: that is payload. Exit code 1 when there is no such aggregate, or when the fold fails on the way; what it came to is shown.`
}

// Validate is asked by the parser.
func (e explainCommand) Validate() error {
	given := 0
	for _, one := range []bool{e.Version > 0, e.At != nil, e.State} {
		if one {
			given++
		}
	}
	if given > 1 {
		return errors.New("give one of --at-version, --at and --state")
	}
	return errors.Join(e.Look.Validate(), e.Deadline.Validate())
}

// explainResult is the JSON form.
type explainResult struct {
	Schema    string        `json:"schema"`
	Aggregate string        `json:"aggregate"`
	Head      uint64        `json:"head,string"`
	HeadType  string        `json:"headType"`
	HeadTime  *time.Time    `json:"headTime,omitempty"`
	Sinks     []explainSink `json:"sinks"`
	Folded    []foldedLine  `json:"folded,omitempty"`
}

type explainSink struct {
	Sink     string `json:"sink"`
	Position uint64 `json:"position,string"`
	Behind   uint64 `json:"behind,string"`
	Ahead    uint64 `json:"ahead,string"` // versions that the event store does not have any more
	State    string `json:"state"`        // live, blocked or redriving
	Blocked  uint64 `json:"blockedVersion,string,omitempty"`
	Class    string `json:"class,omitempty"`
	Text     string `json:"text,omitempty"`
}

type foldedLine struct {
	Sink    string          `json:"sink"`
	Version uint64          `json:"version,string"` // up to which it is folded
	Time    *time.Time      `json:"time,omitempty"`
	Item    json.RawMessage `json:"item,omitempty"` // in DynamoDB's JSON form
	Error   string          `json:"error,omitempty"`

	item event.Item
}

// Run explains one aggregate.
func (e explainCommand) Run(c cli.Console, s cli.Stop) error {
	ctx, cancel := e.Within(s.Drain)
	defer cancel()
	pipeline, err := e.Service(ctx)
	if err != nil {
		return err
	}
	explained, err := pipeline.Explain(ctx, e.Aggregate)
	if err != nil {
		return e.Told(ctx, err, "not all of it was read")
	}
	r := explainOf(explained)
	if r.unknown() {
		return fmt.Errorf("%q is unknown: the event table has no event of it, no sink has a position of it, and nothing of that name is blocked; check the name", e.Aggregate)
	}
	if e.Version > explained.Head {
		return fmt.Errorf("version %d of %q is not there: the newest one is %d", e.Version, e.Aggregate, explained.Head)
	}
	failed := false
	if e.Version > 0 || e.At != nil || e.State {
		until := service.Until{Version: e.Version}
		if e.At != nil {
			until.Time = e.At.Time
		}
		folded, err := pipeline.Fold(ctx, e.Aggregate, until)
		if err != nil {
			return e.Told(ctx, err, "not all of it was read")
		}
		for _, f := range folded {
			r.Folded = append(r.Folded, foldedOf(f))
			failed = failed || f.Err != nil
		}
	}
	if e.Output == "json" {
		err = cli.PrintJSON(c.Out, r)
	} else {
		err = cli.PrintText(c.Out, r.text())
	}
	if err == nil && failed {
		err = &cli.ExitError{Code: cli.Failed}
	}
	return err
}

func explainOf(e service.Explained) explainResult {
	r := explainResult{Schema: "millrace.explain/v1", Aggregate: e.Aggregate, Head: e.Head, HeadType: e.HeadType, HeadTime: told(e.HeadTime), Sinks: []explainSink{}}
	for i, shown := range e.Sinks {
		line := explainSink{Sink: e.Names[i], Position: shown.Position, State: "live"}
		if shown.Position < e.Head {
			line.Behind = e.Head - shown.Position
		} else {
			line.Ahead = shown.Position - e.Head
		}
		if m := shown.Marker; m.NotLive() {
			line.State, line.Blocked, line.Class, line.Text = string(m.State), m.BlockedVersion, m.Cause.Class, m.Cause.Text
		}
		r.Sinks = append(r.Sinks, line)
	}
	return r
}

// told is a time that is known, nil otherwise.
func told(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func (r explainResult) unknown() bool {
	return r.Head == 0 && !slices.ContainsFunc(r.Sinks, func(s explainSink) bool { return s.Position > 0 || s.State != "live" })
}

func foldedOf(f service.Folded) foldedLine {
	line := foldedLine{Sink: f.Sink, Version: f.Version, Time: told(f.Time), item: f.Item}
	if f.Err != nil {
		line.Error = f.Err.Error()
	} else {
		line.Item = event.AppendItemJSON(nil, f.Item)
	}
	return line
}

// plain is a value as a person reads it.
func plain(v event.Value) string {
	switch v := v.(type) {
	case event.String:
		return string(v)
	case event.Number:
		return string(v)
	default:
		return string(event.AppendJSON(nil, v))
	}
}

// text is what a person reads.
func (r explainResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q has %s events", r.Aggregate, cli.Grouped(r.Head))
	if r.HeadType != "" {
		fmt.Fprintf(&b, ", the last one %s", cli.Clean(r.HeadType))
	}
	if r.HeadTime != nil {
		fmt.Fprintf(&b, ", %s", r.HeadTime.UTC().Format(time.RFC3339))
	}
	b.WriteString(".\n\n")
	for _, s := range r.Sinks {
		fmt.Fprintf(&b, "  %-20s  position %d", s.Sink, s.Position)
		switch {
		case s.State != "live":
			fmt.Fprintf(&b, ", %s at version %d (%s): %s\n%24sdlq-redriver show tells more", s.State, s.Blocked, s.Class, cli.Clean(s.Text), "")
		case s.Ahead > 0:
			fmt.Fprintf(&b, ", %d ahead: events were removed from the event table", s.Ahead)
		case s.Behind > 0:
			fmt.Fprintf(&b, ", %d behind: a worker comes to it, or none runs", s.Behind)
		default:
			b.WriteString(", up to date")
		}
		b.WriteString("\n")
	}
	for _, f := range r.Folded {
		fmt.Fprintf(&b, "\n%s at version %d", f.Sink, f.Version)
		if f.Time != nil {
			fmt.Fprintf(&b, ", %s", f.Time.UTC().Format(time.RFC3339))
		}
		b.WriteString("\n")
		if f.Error != "" {
			fmt.Fprintf(&b, "  version %d cannot be folded: %s\n", f.Version+1, cli.Clean(f.Error))
		}
		for _, name := range slices.Sorted(maps.Keys(f.item)) {
			fmt.Fprintf(&b, "  %-20s  %s\n", name, cli.Clean(plain(f.item[name])))
		}
	}
	return b.String()
}
