package failure

import (
	"fmt"
	"time"

	"millrace/event"
	"millrace/internal/controlkey"
)

// EverySink stands for all sinks of a pipeline where a key or a letter names
// one. No sink may be called so.
const EverySink = "*"

// LetterPrefix begins the name under which an unroutable record's row stands,
// in place of the aggregate that it lacks.
const LetterPrefix = "letter:"

// InlineImage is the most bytes of an image, in DynamoDB's JSON form, that a
// row carries: an item of the control table has at most 400 KB. The JSON form
// is never smaller than what the service counts.
const InlineImage = 200 << 10

// inlineDepth is how deep an image may nest that a row carries: the service
// takes 32 levels (Developer Guide, Constraints), of which the row has two.
const inlineDepth = 29

// Unroutable is a record that names no aggregate or no version, so that no
// window can order it and no marker can hold it. Its row is the one record of
// it besides the table's item: the stream's record is settled, in every sink,
// once the row is durable. The row stands until the item was applied, turned out
// to be no event, or was given up by an operator.
type Unroutable struct {
	ID       string // of the record, among all of all streams
	Group    string
	Source   Source
	Key      event.Item // the item's primary key
	Record   Record     // the item as it was inserted; by hash alone where it is too large
	Cause    Cause
	Notified string // the ID once the queue accepted the letter
}

// Source is where in a stream a record stands.
type Source struct {
	Table    string    `json:"table"`
	Label    string    `json:"label"` // of the stream
	Shard    string    `json:"shard"`
	Sequence string    `json:"sequence"`
	EventID  string    `json:"eventId,omitempty"`
	Created  time.Time `json:"createdAt"` // about
}

// NewUnroutable is the account of a record that a layout refused for a reason,
// first seen now. It shares no memory with the record. An image that cannot be
// decoded is left out: the key tells where the item is.
func NewUnroutable(group string, at Source, r *event.Record, reason error, now time.Time) Unroutable {
	at.Sequence, at.EventID, at.Created = string(r.Sequence), r.ID, r.Created
	u := Unroutable{
		ID: r.ID, Group: group, Source: at, Key: r.Keys.Clone(),
		Cause: CauseOf(&event.Error{Class: event.Decode, Op: "routing a record", Err: reason}, EverySink, "", 1, now, now),
	}
	if u.ID == "" {
		u.ID = digest(at.Table, at.Label, at.Shard, at.Sequence)[:32]
	}
	image, err := r.New.Item()
	if err != nil || image == nil {
		return u
	}
	u.Record = recordOf(image, InlineImage)
	if u.Record.Item != nil && depth(event.Map(image)) > inlineDepth {
		u.Record.Item = nil
	}
	u.Record.Item = u.Record.Item.Clone()
	return u
}

// UnroutableKey is the key of an unroutable record's row.
func UnroutableKey(group, table, id string) Key {
	return Key{Group: group, Table: table, Sink: EverySink, SinkVersion: 1, Aggregate: LetterPrefix + id}
}

// RowKey is the key of the record's row, and of its outbox row.
func (u Unroutable) RowKey() Key { return UnroutableKey(u.Group, u.Source.Table, u.ID) }

// Letter is the record's on-failure message. It names neither an aggregate nor
// a version, and carries the record if the limit allows.
func (u Unroutable) Letter(build string, inlineLimit int) Letter {
	l := Letter{
		Schema: LetterSchema, LetterID: LetterID(u.RowKey(), 0, u.ID),
		Group: u.Group, Table: u.Source.Table, Sink: EverySink, SinkVersion: 1, BlockID: u.ID,
		Cause:    complaintOf(u.Cause),
		Attempts: u.Cause.Attempts, FirstFailed: u.Cause.First.UTC(), LastFailed: u.Cause.Last.UTC(), Build: build,
		Source: &u.Source, Key: u.Key, Record: u.Record,
	}
	if l.Record.Bytes > inlineLimit {
		l.Record.Item = nil
	}
	return l
}

// The attributes of an unroutable record's row, beside cause and notified.
const (
	sourceAttribute = "source"
	keyAttribute    = "key"
	recordAttribute = "record"
)

// Row is the record's row without its key.
func (u Unroutable) Row() event.Item {
	record := event.Map{"bytes": number(uint64(max(u.Record.Bytes, 0)))}
	if u.Record.SHA256 != "" {
		record["sha256"] = event.String(u.Record.SHA256)
	}
	if u.Record.Item != nil {
		record["item"] = event.Map(u.Record.Item)
	}
	row := event.Item{
		controlkey.Schema: number(controlkey.Version),
		sourceAttribute: event.Map{
			"label": event.String(u.Source.Label), "shard": event.String(u.Source.Shard), "sequence": event.String(u.Source.Sequence),
			"eventId": event.String(u.Source.EventID), "created": moment(u.Source.Created),
		},
		keyAttribute: event.Map(u.Key), recordAttribute: record, CauseAttribute: u.Cause.value(),
	}
	if u.Notified != "" {
		row[NotifiedAttribute] = event.String(u.Notified)
	}
	return row
}

// ParseUnroutable reads a row. An error says why this build cannot.
func ParseUnroutable(group, table, id string, row event.Item) (Unroutable, error) {
	r := reader{item: row}
	if !event.Equal(row[controlkey.Schema], number(controlkey.Version)) {
		r.fail(controlkey.Schema, "is not 1")
	}
	u := Unroutable{ID: id, Group: group, Source: Source{Table: table}, Notified: r.text(NotifiedAttribute)}
	if key := r.nested(keyAttribute); key != nil {
		u.Key = key.item
	}
	if at := r.nested(sourceAttribute); at != nil {
		u.Source = Source{
			Table: table, Label: at.text("label"), Shard: at.text("shard"), Sequence: at.text("sequence"),
			EventID: at.text("eventId"), Created: at.time("created"),
		}
		r.inherit(sourceAttribute, at)
	}
	if record := r.nested(recordAttribute); record != nil {
		u.Record = Record{SHA256: record.text("sha256"), Bytes: int(record.version("bytes"))}
		if item := record.nested("item"); item != nil {
			u.Record.Item = item.item
		}
		r.inherit(recordAttribute, record)
	}
	u.Cause = r.cause()
	if r.err != nil {
		return Unroutable{}, fmt.Errorf("reading the row of unroutable record %s: %w", id, r.err)
	}
	return u, nil
}

// depth is how many levels of lists and maps a value has.
func depth(v event.Value) int {
	deepest := 0
	switch v := v.(type) {
	case event.Map:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	case event.List:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	default:
		return 0
	}
	return deepest + 1
}
