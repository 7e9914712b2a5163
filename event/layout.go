package event

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Layout says how an event store keeps events in a table: which attributes
// hold the aggregate and the version, and which items are events at all.
// A layout is immutable once in use and safe for concurrent use.
type Layout struct {
	Aggregate string // the partition key's attribute
	Version   string // the sort key's attribute: text, or a number
	Prefix    string // of the version's text, "EVENT#" for example; empty for none
	Digits    int    // of the version's text, zero-padded; 0 where the version is a number
	Type      string // the event type's attribute; empty for none
	Time      string // the event time's attribute, RFC 3339; empty for none
	Only      Only   // which items are events
	Schema    string // the schema version's attribute: a number; empty for none
	Head      Head   // the aggregate's head item; the zero value for none
}

// Head is one more item of an aggregate's partition, written with each append:
// the newest version, under the condition that it was the one that the writer
// had read. It is no event.
type Head struct {
	Key     string // the sort key's text, by which no version goes
	Version string // the attribute that holds the newest version
	Kind    string // what Only's attribute holds in it
}

// Only picks the items that are events by one attribute. The zero value takes
// every item whose version has the layout's form.
type Only struct {
	Attribute string
	Equals    string
}

// Orders is the orders layout: pk is the aggregate, sk the version of 12 digits; the
// items carry type, payload and createdAt.
func Orders() *Layout {
	return &Layout{Aggregate: "pk", Version: "sk", Digits: 12, Type: "type", Time: "createdAt"}
}

// Bank is the bank layout: pk is the account, sk is EVENT# and the version of 12
// digits. What else lies in the partition, such as a snapshot or the read
// model's item, lacks the prefix and is no event.
func Bank() *Layout {
	return &Layout{Aggregate: "pk", Version: "sk", Prefix: "EVENT#", Digits: 12, Type: "type", Time: "createdAt"}
}

// Maintenance is the maintenance layout: pk is the aggregate, sk the version of
// 12 digits; kind tells an event from the head item stream-head, and
// schemaVersion says in which shape an event was written.
func Maintenance() *Layout {
	return &Layout{
		Aggregate: "pk", Version: "sk", Digits: 12, Type: "type", Time: "occurredAt", Schema: "schemaVersion",
		Only: Only{Attribute: "kind", Equals: "event"},
		Head: Head{Key: "stream-head", Version: "version", Kind: "head"},
	}
}

// Verdict is what a layout makes of a record.
type Verdict uint8

// The verdicts.
const (
	// IsEvent: the record is an event.
	IsEvent Verdict = iota + 1
	// Filtered: the item is no event; its record is settled at once.
	Filtered
	// Violation: an event item was changed or removed, which an event store
	// must never do. It is counted and shown and reaches no fold.
	Violation
	// Unroutable: the record should be an event but names no aggregate or no
	// version; the error says why.
	Unroutable
)

// MaxVersion is the highest version the layout can write.
func (l *Layout) MaxVersion() uint64 {
	if l.Digits == 0 || l.Digits > 19 {
		return 1<<63 - 1
	}
	limit := uint64(1)
	for range l.Digits {
		limit *= 10
	}
	return limit - 1
}

// Route decides what a record is. Only INSERT of an event item is an event:
// the version of a changed or removed one says nothing new.
func (l *Layout) Route(r *Record) (Event, Verdict, error) {
	version, isEvent, err := l.ParseVersion(r.Keys[l.Version])
	if !isEvent {
		return Event{}, Filtered, nil
	}
	image := r.New
	if r.Change == Remove {
		image = r.Old
	}
	if keep, kindErr := l.keeps(image); kindErr != nil {
		return Event{}, Unroutable, kindErr
	} else if !keep {
		return Event{}, Filtered, nil
	}
	if err != nil {
		return Event{}, Unroutable, err
	}
	aggregate, err := AggregateID(r.Keys[l.Aggregate])
	if err != nil {
		return Event{}, Unroutable, fmt.Errorf("attribute %q: %w", l.Aggregate, err)
	}
	e := Event{Aggregate: aggregate, Version: version, Image: r.New, Layout: l}
	if r.Change != Insert {
		return e, Violation, nil
	}
	if r.New.Absent() {
		return e, Unroutable, errNoImage
	}
	return e, IsEvent, nil
}

// FromItem makes an event of an item read from the event store. It reports
// false for an item that is no event.
func (l *Layout) FromItem(item Item) (Event, bool, error) {
	image := Decoded(item)
	version, isEvent, err := l.ParseVersion(item[l.Version])
	if !isEvent {
		return Event{}, false, nil
	}
	if keep, kindErr := l.keeps(image); kindErr != nil || !keep {
		return Event{}, false, kindErr
	}
	if err != nil {
		return Event{}, false, err
	}
	aggregate, err := AggregateID(item[l.Aggregate])
	if err != nil {
		return Event{}, false, fmt.Errorf("attribute %q: %w", l.Aggregate, err)
	}
	return Event{Aggregate: aggregate, Version: version, Image: image, Layout: l}, true, nil
}

// keeps applies Only. A record without an image cannot be judged by an
// attribute and is kept: losing an event is worse than looking at one more.
func (l *Layout) keeps(image Image) (bool, error) {
	if l.Only.Attribute == "" || image.Absent() {
		return true, nil
	}
	v, err := image.Get(l.Only.Attribute)
	if err != nil {
		return false, fmt.Errorf("attribute %q: %w", l.Only.Attribute, err)
	}
	text, ok := v.(String)
	return ok && string(text) == l.Only.Equals, nil
}

// ParseVersion reads a version. It reports false for an item that is none of
// the layout's events: with a prefix, everything that lacks it.
func (l *Layout) ParseVersion(v Value) (version uint64, isEvent bool, err error) {
	var text string
	switch v := v.(type) {
	case String:
		if l.Digits == 0 {
			return 0, true, misfit("version-type", "version attribute %q is text, the layout expects a number", l.Version)
		}
		rest, found := strings.CutPrefix(string(v), l.Prefix)
		if !found {
			return 0, false, nil
		}
		if len(rest) != l.Digits {
			return 0, true, misfit("version-digits", "version %q has %d digits after its prefix, the layout says %d", string(v), len(rest), l.Digits)
		}
		text = rest
	case Number:
		if l.Digits != 0 {
			return 0, true, misfit("version-type", "version attribute %q is a number, the layout expects text of %d digits", l.Version, l.Digits)
		}
		text = string(v)
	case nil:
		return 0, true, misfit("version-missing", "version attribute %q is missing", l.Version)
	default:
		return 0, true, misfit("version-type", "version attribute %q has type %s", l.Version, v.Tag())
	}
	version, err = strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, true, misfit("version-number", "version %q is not a whole number", text)
	}
	if version == 0 {
		return 0, true, misfit("version-zero", "version 0: versions start at 1")
	}
	return version, true, nil
}

// VersionKey is the sort key of a version. It panics for a version above
// MaxVersion, which callers check before.
func (l *Layout) VersionKey(version uint64) Value {
	if version > l.MaxVersion() {
		panic(fmt.Sprintf("version %d is above the layout's %d", version, l.MaxVersion()))
	}
	if l.Digits == 0 {
		return Number(strconv.FormatUint(version, 10))
	}
	return String(fmt.Sprintf("%s%0*d", l.Prefix, l.Digits, version))
}

// binaryPrefix marks an aggregate id that was a binary partition key.
const binaryPrefix = "b64:"

// AggregateID is the partition key as text: text as it stands, numbers as
// decimal text, binary as b64: and base64.
func AggregateID(key Value) (string, error) {
	switch key := key.(type) {
	case String:
		if key == "" {
			return "", errors.New("the partition key is empty")
		}
		return string(key), nil
	case Number:
		return string(key), nil
	case Binary:
		return binaryPrefix + base64.StdEncoding.EncodeToString(key), nil
	case nil:
		return "", errors.New("the partition key is missing")
	}
	return "", fmt.Errorf("a partition key cannot have type %s", key.Tag())
}

// PartitionKey turns an aggregate id back into the partition key, whose type
// tag is S, N or B.
func PartitionKey(aggregate, tag string) (Value, error) {
	switch tag {
	case "S":
		return String(aggregate), nil
	case "N":
		return Number(aggregate), nil
	case "B":
		text, found := strings.CutPrefix(aggregate, binaryPrefix)
		if !found {
			return nil, fmt.Errorf("aggregate %q is no binary key: it lacks %q", aggregate, binaryPrefix)
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("aggregate %q is no binary key: %w", aggregate, err)
		}
		return Binary(b), nil
	}
	return nil, fmt.Errorf("a partition key has type S, N or B, not %q", tag)
}

var errNoImage = misfit("image", "the record has no new image: the stream's view type must be NEW_IMAGE or NEW_AND_OLD_IMAGES")
