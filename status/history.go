package status

import (
	"context"
	"errors"
	"fmt"

	"millrace/event"
	"millrace/failure"
	"millrace/projection"
	"millrace/sinks/readmodel"
)

// history is one aggregate as its events come by.
type history struct {
	aggregate  string
	stored     readmodel.Stored
	state      projection.State
	head       uint64
	missing    uint64 // the first version missing, 0 when none is
	foldErr    error
	difference string // between the item and the fold, empty when there is none
}

// events folds one segment's aggregates one after the other: an aggregate's
// items lie together, in the order of their versions.
func (r *verification) events(ctx context.Context, segment int) error {
	var h *history
	err := r.Events.Scan(ctx, segment, r.Segments, func(items []event.Item) error {
		for _, item := range items {
			e, isEvent, err := r.Layout.FromItem(item)
			if err != nil {
				r.unroutable(item, err)
			}
			if err != nil || !isEvent {
				continue
			}
			if h == nil || h.aggregate != e.Aggregate {
				if err := r.end(ctx, h); err != nil {
					return err
				}
				if h, err = r.begin(ctx, e.Aggregate); err != nil {
					return err
				}
			}
			r.fold(h, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.end(ctx, h)
}

// unroutable counts an item that has no place among the events.
func (r *verification) unroutable(item event.Item, reason error) {
	aggregate, err := event.AggregateID(item[r.Layout.Aggregate])
	if err != nil {
		aggregate = "" // it may be the very thing that is wrong
	}
	r.find(&r.report.Unroutable, Finding{Kind: "unroutable", Aggregate: aggregate, Text: fmt.Sprintf("%s %s, %s %s: %v",
		r.Layout.Aggregate, show(item[r.Layout.Aggregate]), r.Layout.Version, show(item[r.Layout.Version]), reason)})
}

func (r *verification) begin(ctx context.Context, aggregate string) (*history, error) {
	h := &history{aggregate: aggregate}
	err := r.look(ctx, h)
	if err != nil {
		return nil, err
	}
	h.state, err = r.Projection.Start(nil)
	return h, err
}

// look reads the aggregate's item.
func (r *verification) look(ctx context.Context, h *history) error {
	return r.again(ctx, h.aggregate, func() (err error) {
		h.stored, err = r.View.Item(ctx, h.aggregate)
		return err
	})
}

// fold adds one event, and compares when the item's position is reached.
func (r *verification) fold(h *history, e event.Event) {
	if h.missing == 0 && e.Version != h.head+1 {
		h.missing = h.head + 1
	}
	h.head = e.Version
	if h.missing > 0 || h.foldErr != nil || e.Version > h.stored.Position.Version {
		return
	}
	if h.foldErr = h.state.Apply(e); h.foldErr == nil && e.Version == h.stored.Position.Version {
		r.compare(h)
	}
}

func (r *verification) compare(h *history) {
	var want event.Item
	if want, h.foldErr = h.state.Item(); h.foldErr != nil {
		return
	}
	differences, err := r.View.Compare(want, h.stored)
	switch {
	case err != nil:
		h.difference = "the fold cannot read the item: " + err.Error()
	case len(differences) > 0:
		d := differences[0]
		h.difference = fmt.Sprintf("attribute %s is %s, the fold of its events gives %s (%d attributes differ)",
			d.Attribute, show(d.Got), show(d.Want), len(differences))
	}
}

// end looks at an aggregate whose events have all come by, and judges it
// unless it may still catch up.
func (r *verification) end(ctx context.Context, h *history) error {
	if h == nil {
		return nil
	}
	r.mu.Lock()
	_, again := r.heads[h.aggregate]
	r.heads[h.aggregate] = h.head
	r.mu.Unlock()
	if again {
		return fmt.Errorf("aggregate %q was met twice in one scan; its items do not lie together", h.aggregate)
	}
	// One page may show part of an append that is just taking effect, so only
	// a read in a transaction tells that a version is missing.
	for h.missing > 0 {
		standing, err := r.Events.Confirm(ctx, h.aggregate, []uint64{h.missing})
		if err != nil {
			return err
		}
		if len(standing) == 0 {
			break
		}
		if err := r.refold(ctx, h); err != nil {
			return err
		}
	}
	if h.stored.Position.Version < h.head && h.stored.Err == nil { // nothing writes an item that is another's
		h.state = nil // many may be late
		r.mu.Lock()
		defer r.mu.Unlock()
		r.late = append(r.late, h)
		return nil
	}
	r.judge(h, failure.Marker{})
	return nil
}

// refold reads an aggregate's events anew, up to the newest version seen and
// the item's position, and compares.
func (r *verification) refold(ctx context.Context, h *history) (err error) {
	to := max(h.head, h.stored.Position.Version)
	h.head, h.missing, h.foldErr, h.difference = 0, 0, nil, ""
	if h.state, err = r.Projection.Start(nil); err != nil {
		return err
	}
	return r.Events.Range(ctx, h.aggregate, 1, to, func(page []event.Event) error {
		for _, e := range page {
			r.fold(h, e)
		}
		return nil
	})
}

// judge counts an aggregate, and says once what is wrong with it. The marker is
// the zero value where none holds it back.
func (r *verification) judge(h *history, marker failure.Marker) {
	position := h.stored.Position.Version
	lacks := "" // what is not in effect, and why
	switch {
	case position >= h.head || h.stored.Err != nil:
	case marker.NotLive():
		lacks = fmt.Sprintf("%d versions wait: version %d is blocked, class %s", h.head-position, marker.BlockedVersion, marker.Cause.Class)
	default:
		lacks = fmt.Sprintf("%d versions are not in effect", h.head-position)
	}
	finding := Finding{Aggregate: h.aggregate, Position: position, Head: h.head}
	var count *int
	found := func(kind string, of *int, text string) {
		if count == nil {
			finding.Kind, count = kind, of
		}
		finding.Text = join(finding.Text, text)
	}
	switch {
	case h.stored.Err != nil:
		found("mismatch", &r.report.Mismatches, said(h.stored.Err))
	case h.foldErr != nil:
		found("mismatch", &r.report.Mismatches, "its events cannot be folded: "+h.foldErr.Error())
	case h.difference != "":
		found("mismatch", &r.report.Mismatches, h.difference)
	}
	if h.missing > 0 {
		found("missing", &r.report.Missing, fmt.Sprintf("the event store lacks version %d", h.missing))
	}
	switch {
	case lacks == "":
	case marker.NotLive():
		found("blocked", &r.report.Blocked, lacks)
	default:
		found("behind", &r.report.Behind, lacks)
	}
	if count != nil {
		r.find(count, finding)
	}
	r.tally(h, count != nil)
}

func (r *verification) tally(h *history, bad bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Aggregates++
	r.report.Events += h.stored.Position.Version
	if bad {
		r.bad[h.aggregate] = true
	}
	switch {
	case h.stored.Err != nil:
		r.foreign++
	case h.stored.Position.Version > 0:
		r.compared++
		if h.foldErr != nil || h.difference != "" {
			r.unlike++
		}
	}
}

// said is what is wrong, without what was being done and what to do about it: a
// report has many such lines, and says that once.
func said(err error) string {
	var classed *event.Error
	if errors.As(err, &classed) && classed.Err != nil {
		err = classed.Err
	}
	return err.Error()
}

// join puts two facts of one finding behind each other.
func join(first, second string) string {
	if first == "" {
		return second
	}
	return first + "; " + second
}

// show is a value as a person reads it; long ones are cut.
func show(v event.Value) string {
	if v == nil {
		return "absent"
	}
	text := string(event.AppendJSON(nil, v))
	if len(text) > 80 {
		text = text[:77] + "..."
	}
	return text
}
