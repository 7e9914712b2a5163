package redrive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/jitter"
	"millrace/sinks"
)

// Markers executes writes on markers.
type Markers interface {
	// Apply makes one conditional write and says what came of it, with the row
	// as it stands then.
	Apply(ctx context.Context, key failure.Key, t failure.Transition) (failure.Verdict, failure.Marker, error)
}

// Events is the event store. Reads are strongly consistent.
type Events interface {
	Range(ctx context.Context, aggregate string, from, to uint64, page func([]event.Event) error) error
	// Confirm reads up to 100 versions in one transaction and returns those
	// that stand.
	Confirm(ctx context.Context, aggregate string, versions []uint64) ([]event.Event, error)
}

// Redriver redrives aggregates of one sink. It is safe for concurrent use with
// different aggregates.
type Redriver struct {
	Markers Markers
	Events  Events
	Sink    sinks.Sink
	// Job names who claims, in markers and in the audit.
	Job string
	// Patience is how long transient failures of one step are retried. Default
	// 30 s.
	Patience time.Duration
	// RunEvents is the most events of one run. Default 1000.
	RunEvents int
	// Jitter draws waits and generations. It must be unlike any other redriver's,
	// since a generation must never repeat. The zero value means a seed of its own.
	Jitter event.Jitter
}

// Outcome is how one redrive ended.
type Outcome string

// The outcomes.
const (
	Released Outcome = "released" // live again
	Failed   Outcome = "failed"   // blocked again, at a version that failed for good
	Left     Outcome = "left"     // somebody else has it, or it is live already
	Paused   Outcome = "paused"   // transient failures outlasted the patience; it can be claimed again
)

// Result tells what a redrive did.
type Result struct {
	Sink      string
	Aggregate string
	Outcome   Outcome
	From, To  uint64 // the position at its beginning and at its end
	Err       error  // why it failed or paused
}

// errHole is why a redrive fails whose event is not in the event store.
var errHole = errors.New("the event store does not have it")

// errPage ends a range behind its first page.
var errPage = errors.New("one page is enough")

// Redrive works on one aggregate whose marker was read. Its error is ctx's: a
// redrive that is stopped leaves a claim that anybody may take over.
func (r *Redriver) Redrive(ctx context.Context, marker failure.Marker) (Result, error) {
	if r.Jitter == (event.Jitter{}) {
		own := *r
		own.Jitter = jitter.New()
		r = &own
	}
	d := &drive{Redriver: r, key: marker.Key, aggregate: marker.Key.Aggregate}
	result, err := d.run(ctx, marker)
	result.Sink, result.Aggregate = d.key.Sink, d.aggregate
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if err != nil {
		result.Outcome, result.Err = Paused, err
	}
	return result, nil
}

// errNoAnswer stands for the error of a sink that knows nothing of a run.
var errNoAnswer = &event.Error{Class: event.Transient, Op: "applying a run: the sink does not know whether it took effect"}

// drive is one redrive under way.
type drive struct {
	*Redriver
	key       failure.Key
	aggregate string
	claim     string // the generation of our claim
	drawn     int
	seen      uint64        // what must be in effect before the release
	before    failure.Cause // why it was blocked
}

// generation draws one that no row has ever had.
func (d *drive) generation(held string) string {
	d.drawn++
	return d.Jitter.ID(d.Job+"/"+d.aggregate+"/"+held, d.drawn)
}

func (d *drive) run(ctx context.Context, marker failure.Marker) (Result, error) {
	d.claim = d.generation(marker.Generation)
	verdict, row, err := d.write(ctx, failure.Claim(marker.Generation, d.claim, d.Job))
	if err != nil {
		return Result{}, err
	}
	if !verdict.Succeeded() {
		return Result{Outcome: Left}, nil
	}
	d.seen, d.before = row.SeenVersion, row.Cause
	position, err := d.position(ctx)
	if err != nil {
		return Result{}, err
	}
	result := Result{From: position, To: position}
	for {
		var failed *failedAt
		if result.To, failed, err = d.apply(ctx, result.To); err != nil {
			return result, err
		}
		if failed != nil {
			return d.giveUp(ctx, result, failed)
		}
		verdict, row, err := d.write(ctx, failure.Release(d.claim, result.To, d.generation(d.claim)))
		switch {
		case err != nil:
			return result, err
		case verdict.Succeeded():
			result.Outcome = Released
			return result, nil
		case verdict == failure.Again:
			d.seen = row.SeenVersion // live traffic has put more on record meanwhile
		default:
			result.Outcome = Left
			return result, nil
		}
	}
}

// failedAt is an event that cannot be applied.
type failedAt struct {
	event event.Event // at least its version
	err   error
}

// apply applies everything on record above a position and returns how far it
// came.
func (d *drive) apply(ctx context.Context, position uint64) (uint64, *failedAt, error) {
	for position < d.seen {
		events, err := d.read(ctx, position+1)
		if err != nil {
			return position, nil, err
		}
		if len(events) == 0 {
			missing := event.Event{Aggregate: d.aggregate, Version: position + 1}
			return position, &failedAt{missing, &event.Error{Class: event.Gap, Op: fmt.Sprintf("redriving version %d", position+1), Err: errHole}}, nil
		}
		var failed *failedAt
		if position, failed, err = d.applyRun(ctx, event.Run{Aggregate: d.aggregate, After: event.Position{Version: position}, Events: events, Recheck: true}); err != nil || failed != nil {
			return position, failed, err
		}
	}
	return position, nil, nil
}

// applyRun hands one run to the sink until it is in effect, has failed for
// good, or patience is over.
func (d *drive) applyRun(ctx context.Context, run event.Run) (uint64, *failedAt, error) {
	deadline := time.Now().Add(orElse(d.Patience, 30*time.Second))
	for try := 0; ; try++ {
		o := sinks.Apply(ctx, d.Sink, run)
		switch {
		case !o.Known:
			position, err := d.position(ctx)
			if err != nil || position != run.After.Version {
				return position, nil, err // whatever it is, the next run starts there
			}
			o.Position.Version = position // nothing of it is in effect: a failure like others
			if o.Err == nil {
				o.Err = errNoAnswer
			}
		case o.Err == nil:
			return o.Position.Version, nil, nil
		}
		switch event.ClassOf(o.Err) {
		case event.Transient, event.Unavailable, event.Batch:
			if !time.Now().Before(deadline) {
				return o.Position.Version, nil, o.Err
			}
		case event.Stopping, event.Fenced, event.Superseded, event.Foreign:
			return o.Position.Version, nil, o.Err
		default:
			at := o.Position.Version + 1
			failed := &failedAt{event.Event{Aggregate: d.aggregate, Version: at}, o.Err}
			if i := at - run.After.Version - 1; at > run.After.Version && i < uint64(len(run.Events)) {
				failed.event = run.Events[i]
			}
			return o.Position.Version, failed, nil
		}
		if o.Position.Version != run.After.Version {
			return o.Position.Version, nil, nil // part of it is in effect: go on from there
		}
		if err := jitter.Sleep(ctx, d.Jitter.Backoff(50*time.Millisecond, 5*time.Second, d.Job+"/apply/"+d.aggregate, try)); err != nil {
			return o.Position.Version, nil, err
		}
	}
}

// giveUp blocks the aggregate again, where it failed.
func (d *drive) giveUp(ctx context.Context, result Result, failed *failedAt) (Result, error) {
	cause := failure.CauseOf(failed.err, d.key.Sink, typeOf(failed.event), d.before.Attempts+1, d.before.First, time.Now())
	for {
		verdict, row, err := d.write(ctx, failure.BackToBlocked(d.claim, failed.event.Version, d.seen, d.generation(d.claim), cause))
		switch {
		case err != nil:
			return result, err
		case verdict.Succeeded():
			result.Outcome, result.Err = Failed, failed.err
			return result, nil
		case verdict == failure.Again:
			d.seen = row.SeenVersion
		default:
			result.Outcome = Left
			return result, nil
		}
	}
}

// typeOf is an event's type as far as it can be read: an event that is not
// there has none, and one that cannot be read fails for that.
func typeOf(e event.Event) string {
	if e.Layout == nil {
		return ""
	}
	name, err := e.Type()
	if err != nil {
		return ""
	}
	return name
}

// read reads what stands from a version on, without a hole, up to one run and
// one page: a thousand events of the largest size would take 400 MB. The first one
// is read in a transaction too before it counts as missing, since a query may see
// one item of a transaction and not yet the other.
func (d *drive) read(ctx context.Context, from uint64) ([]event.Event, error) {
	limit := orElse(d.RunEvents, 1000)
	var events []event.Event
	err := d.patiently(ctx, "read", func() error {
		events = nil
		err := d.Events.Range(ctx, d.aggregate, from, min(d.seen, from+uint64(limit)-1), func(page []event.Event) error {
			events = page
			return errPage
		})
		if errors.Is(err, errPage) {
			return nil
		}
		return err
	})
	if err == nil && (len(events) == 0 || events[0].Version != from) {
		err = d.patiently(ctx, "confirm", func() (err error) {
			events, err = d.Events.Confirm(ctx, d.aggregate, []uint64{from})
			return err
		})
	}
	n := 0
	for n < len(events) && events[n].Version == from+uint64(n) {
		n++
	}
	return events[:n], err
}

func (d *drive) position(ctx context.Context) (uint64, error) {
	var at uint64
	err := d.patiently(ctx, "position", func() error {
		positions, err := sinks.Positions(ctx, d.Sink, []string{d.aggregate})
		if err == nil {
			at = positions[0].Version
		}
		return err
	})
	return at, err
}

// write makes one write on the marker. Without an answer the very same write is
// made again: its generation tells whether the first one landed.
func (d *drive) write(ctx context.Context, t failure.Transition) (verdict failure.Verdict, row failure.Marker, err error) {
	err = d.patiently(ctx, string(t.Name), func() error {
		verdict, row, err = d.Markers.Apply(ctx, d.key, t)
		return err
	})
	return verdict, row, err
}

// patiently repeats a call while its failures are transient.
func (d *drive) patiently(ctx context.Context, name string, call func() error) error {
	deadline := time.Now().Add(orElse(d.Patience, 30*time.Second))
	for try := 0; ; try++ {
		err := call()
		if err == nil || event.ClassOf(err) != event.Transient || !time.Now().Before(deadline) {
			return err
		}
		if err := jitter.Sleep(ctx, d.Jitter.Backoff(50*time.Millisecond, 5*time.Second, d.Job+"/"+name+"/"+d.aggregate, try)); err != nil {
			return err
		}
	}
}

func orElse[T int | time.Duration](v, standard T) T {
	if v <= 0 {
		return standard
	}
	return v
}
