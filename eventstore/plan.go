package eventstore

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/decimal"
)

// NewEvent is an event that is to be appended.
type NewEvent struct {
	// Type is what happened. Required where the layout has a type.
	Type string
	// Time is when it happened, by the caller's clock; stored in UTC to the
	// nanosecond. Required where the layout has a time.
	Time time.Time
	// Command identifies the command that the event came from; equal for all
	// events of one append. It tells our own event from an equal one of
	// somebody else when an answer was lost, and makes an append that is sent
	// again the same append. Empty: the store draws one for this append.
	Command string
	// Schema is the version of the payload's shape; 0 means 1. It is stored where
	// the layout has an attribute for it.
	Schema uint64
	// Attributes are the payload, by attribute name. They may use any name but
	// the layout's own and the command's.
	Attributes event.Item
}

// plan is an append down to the items it will write. It holds the items as
// DynamoDB stores and returns them, so that they compare.
type plan struct {
	aggregate string
	partition event.Value
	expected  uint64
	id        string // names this append among all
	items     []event.Item
	events    []event.Event // the same, as a reader sees them
	unsettled bool          // an attempt may stand, or may land yet
}

// last is the newest version when the append took effect.
func (p *plan) last() uint64 { return p.expected + uint64(len(p.items)) }

// sent notes what an attempt's error says about its effect.
func (p *plan) sent(err error) error {
	p.unsettled = p.unsettled || awsclient.Unanswered(err)
	return err
}

// op names the append in errors.
func (p *plan) op() string {
	return fmt.Sprintf("appending to %s after version %d", p.aggregate, p.expected)
}

// plan checks an append and builds its items. It makes no call.
func (s *Store) plan(aggregate string, expected uint64, events []NewEvent) (*plan, error) {
	op := fmt.Sprintf("planning an append to %s after version %d", aggregate, expected)
	partition, err := s.partition(aggregate)
	if err != nil {
		return nil, err
	}
	if err := s.checkCounts(partition, expected, len(events)); err != nil {
		return nil, invalid(op, err)
	}
	p := &plan{aggregate: aggregate, partition: partition, expected: expected}
	p.id = s.jitter.ID(fmt.Sprintf("append|%s|%d", aggregate, expected), int(s.appends.Add(1)))
	for i, e := range events {
		version := expected + uint64(i) + 1
		if e.Command != events[0].Command {
			return nil, invalid(op, errors.New("its events come from different commands"))
		}
		item, err := s.item(p, version, e)
		if err != nil {
			return nil, invalid(op, fmt.Errorf("event %d of %d: %w", i+1, len(events), err))
		}
		p.items = append(p.items, item)
		p.events = append(p.events, event.Event{
			Aggregate: aggregate, Version: version, Image: event.Decoded(item), Layout: s.layout,
		})
	}
	if err := checkSizes(p.items, expected+1); err != nil {
		return nil, invalid(op, err)
	}
	return p, nil
}

// item is an event as it will be stored.
func (s *Store) item(p *plan, version uint64, e NewEvent) (event.Item, error) {
	item := s.key(p.partition, version)
	item[s.command] = event.String(e.Command)
	if e.Command == "" {
		item[s.command] = event.String(p.id)
	}
	if s.layout.Type != "" {
		if e.Type == "" {
			return nil, errors.New("it has no type")
		}
		item[s.layout.Type] = event.String(e.Type)
	}
	if s.layout.Time != "" {
		if e.Time.IsZero() {
			return nil, errors.New("it has no time")
		}
		item[s.layout.Time] = event.String(e.Time.UTC().Format(time.RFC3339Nano))
	}
	if s.layout.Only.Attribute != "" {
		item[s.layout.Only.Attribute] = event.String(s.layout.Only.Equals)
	}
	if s.layout.Schema != "" {
		item[s.layout.Schema] = event.Number(strconv.FormatUint(max(e.Schema, 1), 10))
	} else if e.Schema > 1 {
		return nil, errors.New("it has a schema version, and the layout has no attribute for it")
	}
	for name, v := range e.Attributes {
		if _, taken := item[name]; taken {
			return nil, fmt.Errorf("attribute %q belongs to the layout", name)
		}
		stored, err := normal(v, 0)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		item[name] = stored
	}
	return item, nil
}

// normal copies a value into the spelling in which DynamoDB will return it:
// an item that is compared with what stands must not differ by "1.0" and "1".
func normal(v event.Value, depth int) (event.Value, error) {
	if depth > MaxNesting {
		return nil, &LimitError{
			Limit: "the nesting", Unit: "levels", Found: uint64(depth), Max: MaxNesting,
			Advice: "flatten the payload, or store it as text",
		}
	}
	switch v := v.(type) {
	case nil:
		return nil, errors.New("it has no value; use event.Null for a null")
	case event.Number:
		text, err := normalNumber(string(v))
		return event.Number(text), err
	case event.NumberSet:
		out := make(event.NumberSet, len(v))
		for i, n := range v {
			text, err := normalNumber(n)
			if err != nil {
				return nil, err
			}
			out[i] = text
		}
		return out, nil
	case event.List:
		out := make(event.List, len(v))
		for i, e := range v {
			stored, err := normal(e, depth+1)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			out[i] = stored
		}
		return out, nil
	case event.Map:
		out := make(event.Map, len(v))
		for name, e := range v {
			stored, err := normal(e, depth+1)
			if err != nil {
				return nil, fmt.Errorf("element %q: %w", name, err)
			}
			out[name] = stored
		}
		return out, nil
	}
	return event.Clone(v), nil
}

func normalNumber(text string) (string, error) {
	d, err := decimal.Parse(text)
	if err != nil {
		return "", fmt.Errorf("number %q: %w", text, err)
	}
	return d.String(), nil
}
