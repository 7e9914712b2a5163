package sim

import (
	"strconv"
	"strings"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
)

// Marker is the row of an aggregate in a sink after a change.
type Marker struct {
	Sink, Aggregate string
	By              string // the application that wrote it
	At              time.Time
	State           string // live, blocked or redriving
	Blocked, Seen   int    // versions; 0 for none
	Generation      string
	Block           string // the block's id
	Notified        string // the block whose letter was sent
	Class           string // of the cause
	Job             string // the last that claimed it
}

func (m Marker) holds() bool { return m.State == "blocked" || m.State == "redriving" }

// covers reports whether a version is on the marker's record.
func (m Marker) covers(version int) bool { return m.holds() && version <= m.Seen }

// Letter is a letter that the queue accepted.
type Letter struct {
	Sink, Aggregate string
	Version         int
	Block           string
	At              time.Time // to the millisecond
}

// markerOf reads a marker; false for any other row of the control table.
func markerOf(c localaws.Change) (Marker, bool) {
	m, ok := markerIn(c.Key, c.New)
	m.By, m.At = c.App, c.At
	return m, ok
}

// markerIn reads a row, which may be gone.
func markerIn(key, row event.Item) (Marker, bool) {
	parts := strings.Split(text(key["pk"]), "|")
	if len(parts) != 5 || parts[0] != "M" {
		return Marker{}, false
	}
	sink, _, _ := strings.Cut(parts[3], "@")
	m := Marker{Sink: sink, Aggregate: text(key["sk"]), State: "live"}
	if row == nil {
		return m, true
	}
	m.State = text(row["state"])
	m.Blocked, _ = strconv.Atoi(text(row["blockedVersion"]))
	m.Seen, _ = strconv.Atoi(text(row["seenVersion"]))
	m.Generation, m.Block, m.Notified, m.Job = text(row["generation"]), text(row["blockId"]), text(row["notified"]), text(row["job"])
	cause, _ := row["cause"].(event.Map)
	m.Class = text(cause["class"])
	return m, true
}

// standing are the rows that are held now.
func (w *world) standing() map[version]Marker {
	rows := map[version]Marker{}
	for _, item := range w.engine.Items(controlTable) {
		if m, ok := markerIn(item, item); ok && m.holds() {
			rows[version{m.Sink, m.Aggregate, 0}] = m
		}
	}
	return rows
}
