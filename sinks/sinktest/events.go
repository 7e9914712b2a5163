package sinktest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"millrace/event"
	"millrace/projection"
)

// The types of the suite's events.
const (
	noted  = "Noted"
	poison = "Poison"
)

// Event makes a small event in the orders layout.
func Event(aggregate string, version uint64) event.Event { return made(aggregate, version, noted) }

// Poison makes an event that Versions refuses, for the same layout.
func Poison(aggregate string, version uint64) event.Event { return made(aggregate, version, poison) }

func made(aggregate string, version uint64, kind string) event.Event {
	layout := event.Orders()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return event.Event{
		Aggregate: aggregate, Version: version, Layout: layout,
		Image: event.Decoded(event.Item{
			layout.Aggregate: event.String(aggregate),
			layout.Version:   layout.VersionKey(version),
			layout.Type:      event.String(kind),
			layout.Time:      event.String(start.Add(time.Duration(version) * time.Second).Format(time.RFC3339Nano)),
		}),
	}
}

// Refuse refuses what Poison makes, for a target that takes events as they
// are.
func Refuse(e event.Event) error {
	kind, err := e.Type()
	if err != nil {
		return err
	}
	if kind == poison {
		return &event.Error{Class: event.Permanent, Op: fmt.Sprintf("taking version %d", e.Version), Err: errPoison}
	}
	return nil
}

// versionsAttribute is what the Versions fold writes.
const versionsAttribute = "versions"

// Versions is a fold that writes down which versions it met, in order: a
// read model with it shows every effect there was, and in which order.
// VersionsOf reads them back.
func Versions() (projection.Projection, error) {
	return projection.New(projection.Fold[[]string]{
		Apply: func(met []string, e event.Event) ([]string, error) {
			if err := Refuse(e); err != nil {
				return met, err
			}
			return append(met, strconv.FormatUint(e.Version, 10)), nil
		},
		Encode: func(met []string) (event.Item, error) {
			return event.Item{versionsAttribute: event.String(strings.Join(met, " "))}, nil
		},
		Decode: func(item event.Item) ([]string, error) {
			text, _ := item[versionsAttribute].(event.String)
			return strings.Fields(string(text)), nil
		},
	})
}

// VersionsOf reads what Versions wrote into an item, nothing from no item.
func VersionsOf(item event.Item) ([]uint64, error) {
	text, _ := item[versionsAttribute].(event.String)
	var versions []uint64
	for _, field := range strings.Fields(string(text)) {
		v, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("reading attribute %s: %w", versionsAttribute, err)
		}
		versions = append(versions, v)
	}
	return versions, nil
}

var errPoison = errors.New("the event is poison")
