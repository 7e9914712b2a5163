package failure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"millrace/event"
)

// LetterSchema names the layout of a letter.
const LetterSchema = "millrace.letter/v1"

// Letter is the on-failure message of one block, or of one unroutable record: all that is needed to see what
// happened, also when the stream has forgotten the record. It is built from the
// marker and the event store, so it can be built again at any time.
type Letter struct {
	Schema      string    `json:"schema"`
	LetterID    string    `json:"letterId"`
	Group       string    `json:"group"`
	Table       string    `json:"table"`
	Sink        string    `json:"sink"`
	SinkVersion int       `json:"sinkVersion"`
	Aggregate   string    `json:"aggregate,omitempty"`      // empty: an unroutable record has none,
	Version     uint64    `json:"version,string,omitempty"` // and no version
	EventType   string    `json:"eventType,omitempty"`
	BlockID     string    `json:"blockId"`
	Cause       Complaint `json:"cause"`
	Attempts    int       `json:"attempts"`
	FirstFailed time.Time `json:"firstFailedAt"`
	LastFailed  time.Time `json:"lastFailedAt"`
	Build       string    `json:"build"`
	// Where an unroutable record stands in its stream, and its item in the
	// table. A block needs neither: aggregate and version name the item.
	Source *Source    `json:"source,omitempty"`
	Key    event.Item `json:"key,omitempty"`
	Record Record     `json:"record"`
}

// Complaint is the cause as a letter tells it.
type Complaint struct {
	Class       string   `json:"class"`
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Frames      []string `json:"frames,omitempty"`
	Fingerprint string   `json:"fingerprint"`
}

// Record is the event that failed: inline, in DynamoDB's JSON form, or where it
// is too large its hash, which tells whether what the event store holds under
// the letter's aggregate and version is still the same.
type Record struct {
	Item   event.Item `json:"item,omitempty"`
	SHA256 string     `json:"sha256,omitempty"` // of the item (see Hash); empty when the event store has none
	Bytes  int        `json:"bytes"`            // of the item in DynamoDB's JSON form
}

// NewLetter builds the letter of a marker's present block. The item is the
// event that failed, nil when the event store does not have it; inlineLimit is
// the most bytes of it that a letter carries.
func NewLetter(m Marker, item event.Item, eventType, build string, inlineLimit int) Letter {
	l := Letter{
		Schema: LetterSchema, LetterID: LetterID(m.Key, m.BlockedVersion, m.BlockID),
		Group: m.Key.Group, Table: m.Key.Table, Sink: m.Key.Sink, SinkVersion: m.Key.SinkVersion,
		Aggregate: m.Key.Aggregate, Version: m.BlockedVersion, EventType: eventType, BlockID: m.BlockID,
		Cause:    complaintOf(m.Cause),
		Attempts: m.Cause.Attempts, FirstFailed: m.Cause.First.UTC(), LastFailed: m.Cause.Last.UTC(), Build: build,
	}
	if item == nil {
		return l
	}
	l.Record = recordOf(item, inlineLimit)
	return l
}

func complaintOf(c Cause) Complaint {
	return Complaint{Class: c.Class, Type: c.Type, Text: Truncate(c.Text), Frames: c.Frames, Fingerprint: c.Fingerprint}
}

func recordOf(item event.Item, inlineLimit int) Record {
	r := Record{SHA256: Hash(item), Bytes: len(event.AppendItemJSON(nil, item))}
	if r.Bytes <= inlineLimit {
		r.Item = item
	}
	return r
}

// LetterID tells letters apart: each block, and each return to blocked, has one
// of its own, and the same block always the same.
func LetterID(k Key, version uint64, blockID string) string {
	return digest(k.Group, k.Table, k.Sink, strconv.Itoa(k.SinkVersion), k.Aggregate, strconv.FormatUint(version, 10), blockID)[:32]
}

// ID is the letter's id.
func (l Letter) ID() string { return l.LetterID }

// Body is the letter in JSON.
func (l Letter) Body() ([]byte, error) {
	body, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encoding letter %s: %w", l.LetterID, err)
	}
	return body, nil
}

// Attributes are what a queue's consumers filter by.
func (l Letter) Attributes() map[string]string {
	attributes := map[string]string{
		"group": l.Group, "sink": l.Sink, "class": l.Cause.Class, "fingerprint": l.Cause.Fingerprint,
	}
	if l.Aggregate != "" {
		attributes["aggregateHash"] = digest(l.Table, l.Aggregate)[:32]
	}
	return attributes
}

// Hash is the SHA-256 of an item, whatever the order of its attributes.
func Hash(item event.Item) string {
	var parts []string
	for name, v := range item {
		parts = append(parts, digest(name, canonical(v)))
	}
	return digest(sorted(parts)...)
}

// MayDelete reports whether the letter of a block may be deleted, given the
// aggregate's marker as it stands. Only the letter of the block that stands is
// kept: letters of one aggregate are not alike, since a new block can be made
// a moment after a release.
func MayDelete(m Marker, blockID string) bool {
	return !m.NotLive() || m.BlockID != blockID
}

// digest is the SHA-256 of some texts, each told apart from the next.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
