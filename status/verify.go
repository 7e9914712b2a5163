package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/jitter"
	"millrace/projection"
	"millrace/sinks/readmodel"
)

// Events is the event store as verify reads it.
type Events interface {
	// Scan hands on every item of one segment of the table, consistently.
	Scan(ctx context.Context, segment, total int, page func([]event.Item) error) error
	// Range hands on what stands of the versions from..to, in order.
	Range(ctx context.Context, aggregate string, from, to uint64, page func([]event.Event) error) error
	// Confirm reads single versions in one transaction and returns those that
	// stand.
	Confirm(ctx context.Context, aggregate string, versions []uint64) ([]event.Event, error)
}

// View is the read model as verify reads it.
type View interface {
	Item(ctx context.Context, aggregate string) (readmodel.Stored, error)
	Scan(ctx context.Context, segment, total int, after event.Item) (readmodel.Page, error)
	Compare(want event.Item, stored readmodel.Stored) ([]readmodel.Difference, error)
}

// Verify compares every aggregate's item in a read model with the fold of its
// events.
type Verify struct {
	Events     Events                // required
	View       View                  // required
	Layout     *event.Layout         // required
	Projection projection.Projection // required
	// Blocked lists the read model's markers that are not live. Its error ends
	// nothing: the report says that it is not known what is blocked. Nil: nothing
	// is blocked.
	Blocked func(ctx context.Context) ([]failure.Marker, error)
	// Segments is how many parts of each table are read at a time. Default 8.
	Segments int
	// Wait is how long those that are behind may take to catch up, all of them
	// together, before they count as behind: under live traffic something
	// always is. Default: they may not.
	Wait time.Duration
	// Findings bounds the findings that are kept; all are counted. Default 100.
	Findings int
	// Jitter draws the waits. The zero value will do.
	Jitter event.Jitter
}

// Run reads both tables once. Memory is bounded by one aggregate id for each
// aggregate and one item for each that is behind. An error means that the
// comparison is not complete; a report that comes with one is empty.
func (v Verify) Run(ctx context.Context) (Report, error) {
	if v.Segments <= 0 {
		v.Segments = 8
	}
	if v.Findings <= 0 {
		v.Findings = 100
	}
	r := &verification{Verify: v, heads: map[string]uint64{}, bad: map[string]bool{}}
	if err := r.inSegments(ctx, r.events); err != nil {
		return Report{}, fmt.Errorf("reading the events: %w", err)
	}
	if err := r.settle(ctx, time.Now().Add(v.Wait)); err != nil {
		return Report{}, fmt.Errorf("waiting for what is behind: %w", err)
	}
	if err := r.inSegments(ctx, r.view); err != nil {
		return Report{}, fmt.Errorf("reading the read model: %w", err)
	}
	r.report.Likely = r.likely()
	slices.SortFunc(r.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Aggregate, b.Aggregate), cmp.Compare(a.Text, b.Text))
	})
	return r.report, nil
}

type verification struct {
	Verify
	mu     sync.Mutex
	heads  map[string]uint64 // of every aggregate that has events
	late   []*history        // those behind, until they are judged or waited for
	behind []*history        // those still behind after the wait
	bad    map[string]bool   // those that were found by their events

	compared, unlike, foreign int // items that are ours, those of them that are not the fold, and items of others
	report                    Report
}

// inSegments runs read for each segment at the same time and returns the error
// that ended it, not those of the segments that were stopped for it.
func (r *verification) inSegments(ctx context.Context, read func(ctx context.Context, segment int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for segment := range r.Segments {
		group.Go(func() {
			if err := read(ctx, segment); err != nil {
				cancel(err) // half a comparison is none
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// again repeats a read that was throttled, some ten times.
func (r *verification) again(ctx context.Context, name string, read func() error) error {
	for try := 0; ; try++ {
		err := read()
		if err == nil || event.ClassOf(err) != event.Transient || try == 10 {
			return err
		}
		wait := r.Jitter.Backoff(50*time.Millisecond, 2*time.Second, "verify/"+name, try)
		if stopped := jitter.Sleep(ctx, wait); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

// likely is what is wrong in all likelihood: a name or a fold in the
// configuration, where it concerns most items, and not one after the other.
func (r *verification) likely() string {
	switch {
	case 2*r.foreign > r.foreign+r.compared:
		return "the group, the event table, or the name or version of the sink is not that of the worker which keeps the read model; the findings name both owners"
	case 2*r.unlike > r.compared:
		return "the fold is not the one that wrote the read model: another --fold or configuration file, or a fold that has changed since"
	}
	return ""
}

func (r *verification) find(count *int, f Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*count++
	if len(r.report.Findings) < r.Findings {
		r.report.Findings = append(r.report.Findings, f)
	}
}
