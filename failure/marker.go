package failure

import (
	"errors"
	"fmt"
	"time"

	"millrace/event"
	"millrace/internal/controlkey"
)

// Key says whose marker a row is. Two sources, sinks or versions of a sink
// never share one.
type Key struct {
	Group       string // the consumer group
	Table       string // the source table
	Sink        string
	SinkVersion int // at least 1
	Aggregate   string
}

// String shows the key in messages.
func (k Key) String() string {
	return fmt.Sprintf("%s of %s in %s@%d of %s", k.Aggregate, k.Table, k.Sink, k.SinkVersion, k.Group)
}

// Scope is one sink's markers and outbox: what their keys have in common.
type Scope struct {
	Group       string
	Table       string
	Sink        string
	SinkVersion int
}

// Key is the key of one aggregate's marker.
func (s Scope) Key(aggregate string) Key {
	return Key{Group: s.Group, Table: s.Table, Sink: s.Sink, SinkVersion: s.SinkVersion, Aggregate: aggregate}
}

// Foreign is a row among the markers that this build cannot read: of another
// layout, or damaged. It is left alone and shown.
type Foreign struct {
	Row    string // its key, as text
	Name   string // of the aggregate whose row it is, or of the record
	Reason string
}

// State is a marker's state.
type State string

// The states. A missing row is the same as a live one.
const (
	Live      State = "live"
	Blocked   State = "blocked"
	Redriving State = "redriving"
)

// A marker's attributes beside its key and schema.
const (
	StateAttribute          = "state"
	BlockedVersionAttribute = "blockedVersion"
	SeenVersionAttribute    = "seenVersion"
	GenerationAttribute     = "generation"
	BlockIDAttribute        = "blockId"
	NotifiedAttribute       = "notified"
	CauseAttribute          = "cause"
	JobAttribute            = "job"
	SkipAttribute           = "skip"
)

// Marker is the row of one aggregate in one sink.
type Marker struct {
	Key            Key
	State          State
	BlockedVersion uint64 // the version that failed; 0 while live
	SeenVersion    uint64 // up to here records count as settled; 0 while live
	Generation     string // new at every change of state, never repeated
	BlockID        string // of the last block
	Notified       string // the block whose letter the queue accepted; empty: none
	Cause          Cause  // of the last block
	Job            string // the last that claimed the row; empty: none
	Skip           *Skip  // the last skip that was intended; outlives the block
}

// NotLive reports whether the aggregate is held back.
func (m Marker) NotLive() bool { return m.State == Blocked || m.State == Redriving }

// Unsent reports whether the letter of the present block is still to be sent.
func (m Marker) Unsent() bool { return m.State == Blocked && m.Notified == "" }

// Cause says why an aggregate was blocked.
type Cause struct {
	Class       string
	Type        string // of the error
	Text        string // of the error, at most MaxText bytes
	Frames      []string
	Fingerprint string
	Attempts    int
	First, Last time.Time // failed; to the millisecond
}

// Skip is the record of a version that an operator leaves out.
type Skip struct {
	Version uint64
	Reason  string
	Actor   string
	At      time.Time // to the millisecond
}

func (c Cause) value() event.Value {
	frames := make(event.List, len(c.Frames))
	for i, f := range c.Frames {
		frames[i] = event.String(f)
	}
	return event.Map{
		"class":       event.String(c.Class),
		"type":        event.String(c.Type),
		"text":        event.String(Truncate(c.Text)),
		"frames":      frames,
		"fingerprint": event.String(c.Fingerprint),
		"attempts":    number(uint64(max(c.Attempts, 0))),
		"first":       moment(c.First),
		"last":        moment(c.Last),
	}
}

func (s Skip) value() event.Value {
	return event.Map{
		"version": number(s.Version),
		"reason":  event.String(s.Reason),
		"actor":   event.String(s.Actor),
		"at":      moment(s.At),
	}
}

const timeLayout = "2006-01-02T15:04:05.000Z"

func moment(at time.Time) event.String { return event.String(at.UTC().Format(timeLayout)) }

// ParseMarker reads a row. A nil row is a live marker. An error says why the
// row cannot be used by this build; its key is in it.
func ParseMarker(key Key, row event.Item) (Marker, error) {
	if row == nil {
		return Marker{Key: key, State: Live}, nil
	}
	r := reader{item: row}
	if !event.Equal(row[controlkey.Schema], number(controlkey.Version)) {
		r.fail(controlkey.Schema, "is not 1")
	}
	m := Marker{
		Key:            key,
		State:          State(r.text(StateAttribute)),
		BlockedVersion: r.version(BlockedVersionAttribute),
		SeenVersion:    r.version(SeenVersionAttribute),
		Generation:     r.text(GenerationAttribute),
		BlockID:        r.text(BlockIDAttribute),
		Notified:       r.text(NotifiedAttribute),
		Job:            r.text(JobAttribute),
	}
	m.Cause = r.cause()
	if skip := r.nested(SkipAttribute); skip != nil {
		m.Skip = &Skip{Version: skip.version("version"), Reason: skip.text("reason"), Actor: skip.text("actor"), At: skip.time("at")}
		r.inherit(SkipAttribute, skip)
	}
	switch {
	case m.State != Live && !m.NotLive():
		r.fail(StateAttribute, "is unknown")
	case m.Generation == "":
		r.fail(GenerationAttribute, "is missing")
	case m.NotLive() && (m.BlockedVersion == 0 || m.SeenVersion < m.BlockedVersion || m.BlockID == ""):
		r.fail(SeenVersionAttribute, "is below blockedVersion, or one of them or blockId is missing")
	case m.State == Live && m.SeenVersion != 0:
		// Conditions that compare it rely on a live row having none.
		r.fail(SeenVersionAttribute, "stands in a live row")
	}
	if r.err != nil {
		return Marker{}, fmt.Errorf("reading the marker of %v: %w", key, r.err)
	}
	return m, nil
}

// cause reads the cause; the zero value where the row has none.
func (r *reader) cause() Cause {
	cause := r.nested(CauseAttribute)
	if cause == nil {
		return Cause{}
	}
	c := Cause{
		Class: cause.text("class"), Type: cause.text("type"), Text: cause.text("text"), Frames: cause.texts("frames"),
		Fingerprint: cause.text("fingerprint"), Attempts: int(cause.version("attempts")), First: cause.time("first"), Last: cause.time("last"),
	}
	r.inherit(CauseAttribute, cause)
	return c
}

// reader reads attributes that may be absent and keeps the first thing wrong.
type reader struct {
	item event.Item
	err  error
}

func (r *reader) fail(attribute, what string) {
	if r.err == nil {
		r.err = errors.New(attribute + " " + what)
	}
}

func (r *reader) text(attribute string) string {
	switch v := r.item[attribute].(type) {
	case event.String:
		return string(v)
	case nil:
	default:
		r.fail(attribute, "is not text")
	}
	return ""
}

func (r *reader) texts(attribute string) []string {
	list, ok := r.item[attribute].(event.List)
	if !ok && r.item[attribute] != nil {
		r.fail(attribute, "is not a list")
	}
	var texts []string
	for _, v := range list {
		text, ok := v.(event.String)
		if !ok {
			r.fail(attribute, "does not hold text alone")
		}
		texts = append(texts, string(text))
	}
	return texts
}

func (r *reader) version(attribute string) uint64 {
	v := r.item[attribute]
	n, ok := asVersion(v)
	if !ok && v != nil {
		r.fail(attribute, "is not a version")
	}
	return n
}

func (r *reader) time(attribute string) time.Time {
	at, err := time.Parse(timeLayout, r.text(attribute))
	if err != nil {
		r.fail(attribute, "is not a time")
	}
	return at
}

func (r *reader) nested(attribute string) *reader {
	switch v := r.item[attribute].(type) {
	case event.Map:
		return &reader{item: event.Item(v)}
	case nil:
	default:
		r.fail(attribute, "is not a map")
	}
	return nil
}

func (r *reader) inherit(attribute string, inner *reader) {
	if inner.err != nil {
		r.fail(attribute, inner.err.Error())
	}
}
