package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/failure"
	markers "millrace/failure/dynamodb"
)

// Markers is the control table's part that holds blocked aggregates.
func (s *Service) Markers() *markers.Store {
	return markers.New(markers.Options{Client: dynamodb.NewFromConfig(s.aws), Table: s.config.Control})
}

// Selection picks blocked aggregates, and unroutable records.
// Its filters all have to hold; the zero value selects all.
type Selection struct {
	Aggregates  []string // or names of unroutable records: letter: and the id
	Fingerprint string
	Class       string // as in event.Class
	Limit       int    // at most so many, unroutable records last; 0: no limit
}

func (s Selection) picks(name string, cause failure.Cause) bool {
	return (len(s.Aggregates) == 0 || slices.Contains(s.Aggregates, name)) &&
		(s.Fingerprint == "" || cause.Fingerprint == s.Fingerprint) &&
		(s.Class == "" || cause.Class == s.Class)
}

// Listing is what stood in the control table when it was read. The markers of
// a listing are what a redrive works on: what is blocked later is not touched.
type Listing struct {
	Markers  []failure.Marker // those selected, the one that failed first at the front
	Selected int              // how many the filters select, those beyond the limit too
	Foreign  []failure.Foreign

	// Absent are the names that were asked for and have no row: mistyped, or
	// released already.
	Absent []string

	Unroutable         []failure.Unroutable // those selected, the one seen first at the front
	UnroutableSelected int
}

// Beyond is how many the filters select beyond the limit.
func (l Listing) Beyond() int {
	return l.Selected - len(l.Markers) + l.UnroutableSelected - len(l.Unroutable)
}

// Blocked lists blocked aggregates. It reads the control table alone, so that
// looking changes nothing, at a queue or elsewhere.
func (s *Service) Blocked(ctx context.Context, selection Selection) (Listing, error) {
	all, foreign, err := s.listed(ctx)
	if err != nil {
		return Listing{}, err
	}
	standing := map[string]bool{}
	for _, m := range all {
		standing[m.Key.Aggregate] = true
	}
	all = slices.DeleteFunc(all, func(m failure.Marker) bool { return !selection.picks(m.Key.Aggregate, m.Cause) })
	slices.SortFunc(all, func(a, b failure.Marker) int {
		return cmp.Or(a.Cause.First.Compare(b.Cause.First), cmp.Compare(a.Key.Aggregate, b.Key.Aggregate), cmp.Compare(a.Key.Sink, b.Key.Sink))
	})
	listing := Listing{Markers: all, Selected: len(all), Foreign: foreign}
	if selection.Limit > 0 && len(all) > selection.Limit {
		listing.Markers = all[:selection.Limit]
	}
	if err := s.addUnroutable(ctx, selection, &listing, standing); err != nil {
		return Listing{}, err
	}
	for _, f := range listing.Foreign {
		standing[f.Name] = true
	}
	listing.Absent = slices.DeleteFunc(slices.Clone(selection.Aggregates), func(name string) bool { return standing[name] })
	return listing, nil
}

// Known reports whether the control table has anything of the group on the event
// table. It has lease rows as soon as a worker has begun; without any, that
// nothing is blocked means nothing.
func (s *Service) Known(ctx context.Context) (bool, error) {
	rows, err := s.control().List(ctx, s.config.Group, s.config.Events)
	return len(rows) > 0, s.absent(err, "control table", s.config.Control)
}

// listed reads the markers of all sinks that are not live.
func (s *Service) listed(ctx context.Context) (markers []failure.Marker, foreign []failure.Foreign, err error) {
	for _, t := range s.targets {
		list, strange, err := s.listedOf(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		markers, foreign = append(markers, list...), append(foreign, strange...)
	}
	return markers, foreign, nil
}

// listedOf reads those of one sink, of 64 partitions. The client itself repeats
// a call that is throttled: to begin again with the first partition would never
// come to an end on a busy table.
func (s *Service) listedOf(ctx context.Context, t *target) ([]failure.Marker, []failure.Foreign, error) {
	list, foreign, err := s.patient().Standing(ctx, t.scope)
	for i, m := range list {
		if m.Cause.Fingerprint == "" { // no build of ours leaves it out, but each marker must be in a group
			list[i].Cause.Fingerprint = failure.Fingerprint(m.Key.Sink, m.Cause.Type, m.Cause.Class, "")
		}
	}
	return list, foreign, s.absent(err, "control table", s.config.Control)
}

// patient is a store whose client repeats calls that are throttled.
func (s *Service) patient() *markers.Store {
	client := dynamodb.NewFromConfig(s.aws, func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = 10, 2*time.Second })
	})
	return markers.New(markers.Options{Client: client, Table: s.config.Control})
}

// Group is the blocked aggregates of one fingerprint: in all likelihood one
// cause.
type Group struct {
	Fingerprint string
	Sink        string // failure.EverySink of records
	Class       string
	Type        string // of the error
	Aggregates  int
	Records     int    // unroutable; a group has these or aggregates
	Waiting     uint64 // versions on record from the one that failed on
	First, Last time.Time
	Example     string // the aggregate that failed first
	Text        string // its error
}

// Groups gathers markers by fingerprint, the largest group at the front.
func Groups(list []failure.Marker) []Group {
	byFingerprint := map[string]*Group{}
	for _, m := range list {
		g := byFingerprint[m.Cause.Fingerprint]
		if g == nil {
			g = &Group{Fingerprint: m.Cause.Fingerprint, Sink: m.Key.Sink, Class: m.Cause.Class, Type: m.Cause.Type, First: m.Cause.First, Example: m.Key.Aggregate, Text: m.Cause.Text}
			byFingerprint[m.Cause.Fingerprint] = g
		}
		g.Aggregates++
		g.Waiting += Waiting(m)
		if m.Cause.First.Before(g.First) {
			g.First, g.Example, g.Text = m.Cause.First, m.Key.Aggregate, m.Cause.Text
		}
		if m.Cause.Last.After(g.Last) {
			g.Last = m.Cause.Last
		}
	}
	groups := make([]Group, 0, len(byFingerprint))
	for _, g := range byFingerprint {
		groups = append(groups, *g)
	}
	sortGroups(groups)
	return groups
}

func sortGroups(groups []Group) {
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Aggregates+b.Records, a.Aggregates+a.Records), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
}

// Waiting is how many versions a marker has on record, from the one that
// failed on. Some of them are in effect already while it is redriven.
func Waiting(m failure.Marker) uint64 {
	if !m.NotLive() {
		return 0
	}
	return m.SeenVersion - m.BlockedVersion + 1
}

// Shown is all there is to know about one aggregate in one sink.
type Shown struct {
	Marker   failure.Marker // live where nothing holds it back
	Position uint64         // in the sink
	Head     uint64         // newest version in the event store
	// Event is the one that failed, as the event store has it today; nil while
	// the marker is live, or where the event store does not have it.
	Event *event.Event
}

// Waiting is how many versions on record are not in effect.
func (s Shown) Waiting() uint64 {
	if !s.Marker.NotLive() || s.Marker.SeenVersion <= s.Position {
		return 0
	}
	return s.Marker.SeenVersion - s.Position
}

// Show looks at one aggregate in each sink. The reads are consistent, each for
// itself.
func (s *Service) Show(ctx context.Context, aggregate string) ([]Shown, error) {
	all := make([]Shown, len(s.targets))
	for i, t := range s.targets {
		var err error
		if all[i], err = s.show(ctx, t, aggregate); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *Service) show(ctx context.Context, t *target, aggregate string) (Shown, error) {
	marker, err := s.Markers().Get(ctx, t.scope.Key(aggregate))
	if err != nil {
		return Shown{}, s.absent(err, "control table", s.config.Control)
	}
	shown := Shown{Marker: marker}
	if shown.Head, err = s.events.Head(ctx, aggregate); err != nil {
		return Shown{}, err
	}
	if shown.Position, err = s.position(ctx, t, aggregate); err != nil {
		return Shown{}, err
	}
	if !marker.NotLive() {
		return shown, nil
	}
	v := marker.BlockedVersion
	err = s.events.Range(ctx, aggregate, v, v, func(page []event.Event) error {
		shown.Event = &page[0]
		return nil
	})
	return shown, err
}

// position is how far a sink is with an aggregate.
func (s *Service) position(ctx context.Context, t *target, aggregate string) (uint64, error) {
	sink, err := t.shared()
	if err != nil {
		return 0, err
	}
	at, err := sink.Positions(ctx, []string{aggregate})
	if err != nil {
		return 0, fmt.Errorf("reading the position in sink %s: %w", t.config.Name, s.absentOf(t, err))
	}
	return at[0].Version, nil
}
