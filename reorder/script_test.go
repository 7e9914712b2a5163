package reorder

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"millrace/event"
)

// script plays a window step by step. Events are written as aggregate and
// version ("a7"), refs as shard and ordinal ("1/3"), gaps as "a 2-4"; times are
// milliseconds since the script began. Every event carries its own name as its
// payload, and every run is checked for it.
type script struct {
	t       *testing.T
	w       *Window
	ordinal map[Shard]uint64 // the last given out
	settled map[Ref]bool
}

func play(t *testing.T, opts Options) *script {
	t.Helper()
	return &script{t: t, w: New(opts), ordinal: map[Shard]uint64{}, settled: map[Ref]bool{}}
}

func moment(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func named(aggregate string, version uint64) event.Event {
	return event.Event{
		Aggregate: aggregate, Version: version,
		Image: event.Decoded(event.Item{"name": event.String(fmt.Sprint(aggregate, version))}),
	}
}

func (s *script) events(text string) []event.Event {
	s.t.Helper()
	var events []event.Event
	for word := range strings.FieldsSeq(text) {
		var version uint64
		if _, err := fmt.Sscan(word[1:], &version); err != nil {
			s.t.Fatalf("%q is no event: %v", word, err)
		}
		events = append(events, named(word[:1], version))
	}
	return events
}

// refs writes what was settled, and fails when it was before.
func (s *script) refs(refs []Ref) string {
	s.t.Helper()
	var out []string
	for _, r := range refs {
		if s.settled[r] {
			s.t.Fatalf("%v is settled twice", r)
		}
		s.settled[r] = true
		out = append(out, fmt.Sprintf("%d/%d", r.Shard, r.Ordinal))
	}
	return strings.Join(out, " ")
}

// offer gives a page of which every event takes 10 bytes.
func (s *script) offer(ms int, shard Shard, text string) string {
	s.t.Helper()
	var page []Offered
	for _, e := range s.events(text) {
		s.ordinal[shard]++
		page = append(page, Offered{Event: e, Ordinal: s.ordinal[shard]})
	}
	return s.refs(s.w.Offer(moment(ms), shard, 10*len(page), page))
}

func (s *script) learn(ms int, aggregate string, version uint64) string {
	s.t.Helper()
	return s.refs(s.w.Learn(moment(ms), aggregate, event.Position{Version: version}))
}

// next writes a run as its events; empty when there is none.
func (s *script) next(limit int) string {
	s.t.Helper()
	run, ok := s.w.Next(limit)
	if !ok {
		return ""
	}
	var out []string
	for i, e := range run.Events {
		if e.Aggregate != run.Aggregate || e.Version != run.After.Version+uint64(i)+1 {
			s.t.Fatalf("event %d of a run of %s after %d is %s%d", i, run.Aggregate, run.After.Version, e.Aggregate, e.Version)
		}
		name := fmt.Sprint(e.Aggregate, e.Version)
		payload, err := e.Image.Get("name")
		if err != nil || !event.Equal(payload, event.String(name)) {
			s.t.Fatalf("%s carries the payload %v, %v", name, payload, err)
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func (s *script) done(ms int, aggregate string, version uint64) string {
	s.t.Helper()
	return s.refs(s.w.Done(moment(ms), aggregate, event.Outcome{Position: event.Position{Version: version}, Known: true}, time.Time{}))
}

var errSink = errors.New("the sink does not want it")

// fail gives a run back that ended at a version, to be tried again at a time.
func (s *script) fail(ms int, aggregate string, version uint64, retry int) string {
	s.t.Helper()
	return s.refs(s.w.Done(moment(ms), aggregate, event.Outcome{Position: event.Position{Version: version}, Known: true, Err: errSink}, moment(retry)))
}

func (s *script) lose(ms int, aggregate string, retry int) string {
	s.t.Helper()
	return s.refs(s.w.Done(moment(ms), aggregate, event.Outcome{Err: errSink}, moment(retry)))
}

// due writes the gaps to be read and, behind a bar, when to call again.
func (s *script) due(ms int) string {
	s.t.Helper()
	gaps, next := s.w.Due(moment(ms))
	var out []string
	for _, g := range gaps {
		out = append(out, fmt.Sprintf("%s %d-%d", g.Aggregate, g.From, g.To))
	}
	if !next.IsZero() {
		out = append(out, fmt.Sprint("| ", next.Sub(moment(0)).Milliseconds()))
	}
	return strings.Join(out, " ")
}

// fill answers a gap with its events up to a version.
func (s *script) fill(ms int, aggregate string, from, to, upTo uint64) {
	var events []event.Event
	for v := from; v <= upTo; v++ {
		events = append(events, named(aggregate, v))
	}
	s.w.Fill(moment(ms), Gap{Aggregate: aggregate, From: from, To: to}, events)
}

func (s *script) postpone(ms int, aggregate string, from, to uint64, until int) {
	s.w.Postpone(moment(ms), Gap{Aggregate: aggregate, From: from, To: to}, moment(until))
}

func (s *script) unseen(limit int) string { return strings.Join(s.w.Unseen(limit), " ") }

// is compares what a step gave with what it should have.
func (s *script) is(step, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Fatalf("%s: got %q, want %q", step, got, want)
	}
}

func (s *script) holds(bytes, entries, fills int) {
	s.t.Helper()
	if got, want := s.w.Usage(), (Usage{Bytes: bytes, Entries: entries, Fills: fills}); got != want {
		s.t.Fatalf("the window holds %+v, want %+v", got, want)
	}
}

func (s *script) counted(want Stats) {
	s.t.Helper()
	if got := s.w.Stats(); got != want {
		s.t.Fatalf("counted %+v, want %+v", got, want)
	}
}
