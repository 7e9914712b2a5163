package sim

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
)

// Evidence is what happened in a world, from the engine's history and the log
// of the sink in memory. Everything stands in the order in which it happened.
type Evidence struct {
	Sinks   []string
	Events  []Event
	Effects []Effect
	Rows    []Row
	Markers []Marker
	Letters []Letter
	Reads   []Read
	Parents map[string]string // of each shard; "" for none
	Notes   []Violation       // what the world itself saw go wrong
	Crashed map[string]bool   // the workers that crashed, by id
	Holed   map[string]bool   // the aggregates whose versions were stored out of order
	Rested  time.Time         // the last fault was over, and all applied or on record as blocked
	Told    map[string]bool   // the blocks whose letters were in the queue then
	Settled time.Duration     // how long that took, or the redrive after it
	Hash    uint64            // of the whole history, to the nanosecond
}

// Event is an event as it was stored.
type Event struct {
	Aggregate       string
	Version         int // 0 for what is no event
	Amount          int
	Insert          bool
	Shard, Sequence string // of its record
	At              time.Time
}

// Effect moves a sink's position of an aggregate. A read model's carries what
// the item holds after it.
type Effect struct {
	Sink      string
	Aggregate string
	From, To  uint64
	At        time.Time
	Versions  string
	Total     int
}

// Row is a lease row after a change.
type Row struct {
	Shard      string
	By         string // the application that wrote it
	At         time.Time
	New        bool // there was none
	Owner      string
	Token      string
	Heartbeat  string
	State      string
	Checkpoint Checkpoint
}

// Checkpoint is where reading goes on: a kind and, for two of them, a number.
type Checkpoint struct{ Kind, Sequence string }

// Read is a GetRecords that the service received.
type Read struct {
	Shard, App string
	At         time.Time
}

// evidence gathers what happened.
func (w *world) evidence(rested rest) Evidence {
	e := Evidence{
		Sinks: []string{viewSink, logSink}, Parents: map[string]string{},
		Reads: w.reads, Rested: rested.At, Told: rested.Queue, Settled: rested.Took, Crashed: map[string]bool{}, Holed: map[string]bool{},
	}
	for aggregate := range w.plan.Writes {
		e.Holed[aggregate] = w.plan.holed(aggregate)
	}
	e.Letters = w.lettersOf(w.engine.Accepted(queueName))
	e.Notes = w.notes
	for _, p := range w.processes {
		e.Crashed[p.id] = p.hasCrashed()
	}
	for _, s := range w.engine.Shards(eventsTable) {
		e.Parents[s.ID] = s.Parent
	}
	for _, c := range w.engine.History("") {
		// fmt prints maps in the order of their keys.
		e.Hash += hash(c.At.UnixNano(), c.Table, c.App, c.Shard, c.Sequence, c.Key, c.New)
		switch c.Table {
		case eventsTable:
			e.Events = append(e.Events, eventOf(c))
		case viewTable:
			e.Effects = append(e.Effects, effectOf(c))
		case controlTable:
			if row, ok := rowOf(c.New); ok {
				row.By, row.At, row.New = c.App, c.At, c.Old == nil
				e.Rows = append(e.Rows, row)
			}
			if m, ok := markerOf(c); ok {
				e.Markers = append(e.Markers, m)
			}
		}
	}
	for _, effect := range w.memory.log() {
		e.Hash += hash(effect.At.UnixNano(), effect.Aggregate, effect.To)
		e.Effects = append(e.Effects, effect)
	}
	for _, l := range e.Letters {
		e.Hash += hash(l.At.UnixNano(), l.Sink, l.Aggregate, l.Block)
	}
	slices.SortStableFunc(e.Effects, func(a, b Effect) int { return a.At.Compare(b.At) })
	return e
}

// hash is of one line; their sum takes no notice of the order within an instant,
// which no seed decides.
func hash(line ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, line...)
	return h.Sum64()
}

func eventOf(c localaws.Change) Event {
	version, _ := strconv.Atoi(text(c.Key["sk"]))
	amount, _ := strconv.Atoi(text(c.New[amountAttribute]))
	return Event{
		Aggregate: text(c.Key["pk"]), Version: version, Amount: amount, Insert: c.Old == nil && c.New != nil,
		Shard: c.Shard, Sequence: c.Sequence, At: c.At,
	}
}

func effectOf(c localaws.Change) Effect {
	position := func(item event.Item) uint64 {
		n, _ := strconv.ParseUint(text(item[positionAttribute]), 10, 64)
		return n
	}
	total, _ := strconv.Atoi(text(c.New[totalAttribute]))
	return Effect{
		Sink: viewSink, Aggregate: text(c.Key["pk"]), From: position(c.Old), To: position(c.New), At: c.At,
		Versions: text(c.New[versionsAttribute]), Total: total,
	}
}

// rowOf reads a lease row; false for any other row of the control table.
func rowOf(item event.Item) (Row, bool) {
	if !strings.HasPrefix(text(item["pk"]), "L|") {
		return Row{}, false
	}
	_, shard, _ := strings.Cut(text(item["sk"]), "|")
	at, _ := item["checkpoint"].(event.Map)
	return Row{
		Shard: shard, Owner: text(item["owner"]), Token: text(item["token"]), Heartbeat: text(item["heartbeat"]),
		State: text(item["state"]), Checkpoint: Checkpoint{Kind: text(at["kind"]), Sequence: text(at["sequence"])},
	}, true
}

func text(v event.Value) string {
	switch v := v.(type) {
	case event.String:
		return string(v)
	case event.Number:
		return string(v)
	default:
		return ""
	}
}
