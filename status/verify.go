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
	// Segments is how many parts of each table are read at a time. Default 8.
	Segments int
	// Wait is how long an aggregate that is behind may take to catch up before
	// it counts as behind: under live traffic something always is. Default: it
	// may not.
	Wait time.Duration
	// Findings bounds the findings that are kept; all are counted. Default 100.
	Findings int
	Jitter   jitter.Source
}

// Report is what verify found. The counts are of aggregates, but for Events.
type Report struct {
	Aggregates int    `json:"aggregates"`
	Events     uint64 `json:"events"`     // in effect: the sum of all positions
	Behind     int    `json:"behind"`     // position below the head; those without an item too
	Ahead      int    `json:"ahead"`      // position above the head
	Blocked    int    `json:"blocked"`    // none: nothing blocks an aggregate yet
	Skipped    int    `json:"skipped"`    // none: nothing skips a version yet
	Mismatches int    `json:"mismatches"` // the item is not the fold of its events
	Missing    int    `json:"missing"`    // a version is missing in the event store
	// Findings tells some of them, by aggregate.
	Findings []Finding `json:"findings"`
}

// Finding is one thing that is not as it should be.
type Finding struct {
	Kind      string `json:"kind"` // behind, ahead, mismatch or missing
	Aggregate string `json:"aggregate"`
	Position  uint64 `json:"position,string"`
	Head      uint64 `json:"head,string"`
	Text      string `json:"text"`
}

// Healthy reports whether nothing was found.
func (r Report) Healthy() bool { return r.Behind+r.Ahead+r.Mismatches+r.Missing == 0 }

// Run reads both tables once. Memory is bounded by one aggregate id for each
// aggregate. An error means that the comparison is not complete.
func (v Verify) Run(ctx context.Context) (Report, error) {
	if v.Segments <= 0 {
		v.Segments = 8
	}
	if v.Findings <= 0 {
		v.Findings = 100
	}
	r := &verification{Verify: v, heads: map[string]uint64{}}
	if err := r.inSegments(ctx, r.events); err != nil {
		return Report{}, fmt.Errorf("reading the events: %w", err)
	}
	if err := r.inSegments(ctx, r.view); err != nil {
		return Report{}, fmt.Errorf("reading the read model: %w", err)
	}
	slices.SortFunc(r.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Aggregate, b.Aggregate))
	})
	return r.report, nil
}

type verification struct {
	Verify
	mu     sync.Mutex
	heads  map[string]uint64 // of every aggregate that has events
	report Report
}

// inSegments runs read for each segment at the same time.
func (r *verification) inSegments(ctx context.Context, read func(ctx context.Context, segment int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, r.Segments)
	var group sync.WaitGroup
	for segment := range r.Segments {
		group.Go(func() {
			if errs[segment] = read(ctx, segment); errs[segment] != nil {
				cancel() // half a comparison is none
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// history is one aggregate as its events come by.
type history struct {
	aggregate string
	stored    readmodel.Stored
	state     projection.State
	head      uint64
	missing   uint64 // the first version missing, 0 when none is
	foldErr   error
	compared  bool
}

// events folds one segment's aggregates one after the other: an aggregate's
// items lie together, in the order of their versions.
func (r *verification) events(ctx context.Context, segment int) error {
	var h *history
	err := r.Events.Scan(ctx, segment, r.Segments, func(items []event.Item) error {
		for _, item := range items {
			e, isEvent, err := r.Layout.FromItem(item)
			if err != nil {
				return fmt.Errorf("an item of the event table is no event of this layout: %w", err)
			}
			if !isEvent {
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

func (r *verification) begin(ctx context.Context, aggregate string) (*history, error) {
	stored, err := r.item(ctx, aggregate)
	if err != nil {
		return nil, err
	}
	state, err := r.Projection.Start(nil)
	return &history{aggregate: aggregate, stored: stored, state: state}, err
}

// item reads one item; a throttled read is repeated.
func (r *verification) item(ctx context.Context, aggregate string) (readmodel.Stored, error) {
	for try := 0; ; try++ {
		stored, err := r.View.Item(ctx, aggregate)
		if err == nil || event.ClassOf(err) != event.Transient || try == 10 {
			return stored, err
		}
		if err := jitter.Sleep(ctx, r.Jitter.Backoff(50*time.Millisecond, 2*time.Second, "verify/"+aggregate, try)); err != nil {
			return stored, err
		}
	}
}

// fold adds one event, and compares when the item's position is reached.
func (r *verification) fold(h *history, e event.Event) {
	if h.missing == 0 && e.Version != h.head+1 {
		h.missing = h.head + 1
	}
	h.head = e.Version
	if h.compared || h.missing > 0 || h.foldErr != nil || e.Version > h.stored.Position.Version {
		return
	}
	if h.foldErr = h.state.Apply(e); h.foldErr == nil && e.Version == h.stored.Position.Version {
		r.compare(h)
	}
}

func (r *verification) compare(h *history) {
	h.compared = true
	want, err := h.state.Item()
	if err != nil {
		h.foldErr = err
		return
	}
	differences, err := r.View.Compare(want, h.stored)
	if err != nil {
		h.foldErr = err
		return
	}
	if len(differences) > 0 {
		d := differences[0]
		r.find(&r.report.Mismatches, h.finding("mismatch", fmt.Sprintf("attribute %s is %s, the fold of its events gives %s (%d attributes differ)",
			d.Attribute, show(d.Got), show(d.Want), len(differences))))
	}
}

func (h *history) finding(kind, text string) Finding {
	return Finding{Kind: kind, Aggregate: h.aggregate, Position: h.stored.Position.Version, Head: h.head, Text: text}
}

// end judges an aggregate whose events have all come by.
func (r *verification) end(ctx context.Context, h *history) error {
	if h == nil {
		return nil
	}
	r.mu.Lock()
	_, again := r.heads[h.aggregate]
	r.heads[h.aggregate] = max(h.head, r.heads[h.aggregate])
	r.mu.Unlock()
	if again {
		return fmt.Errorf("aggregate %q was met twice in one scan; its items do not lie together", h.aggregate)
	}
	position := h.stored.Position.Version
	switch {
	case h.stored.Err != nil:
		r.find(&r.report.Mismatches, h.finding("mismatch", h.stored.Err.Error()))
	case h.foldErr != nil:
		r.find(&r.report.Mismatches, h.finding("mismatch", "its events cannot be folded: "+h.foldErr.Error()))
	case h.missing > 0:
		r.find(&r.report.Missing, h.finding("missing", fmt.Sprintf("the event store lacks version %d", h.missing)))
	}
	if position < h.head {
		caught, err := r.catchUp(ctx, h)
		if err != nil {
			return err
		}
		if !caught {
			r.find(&r.report.Behind, h.finding("behind", fmt.Sprintf("%d versions are not in effect", h.head-h.stored.Position.Version)))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Aggregates++
	r.report.Events += h.stored.Position.Version
	return nil
}

// catchUp waits for an aggregate that is behind and then compares it.
func (r *verification) catchUp(ctx context.Context, h *history) (bool, error) {
	deadline := time.Now().Add(r.Wait)
	for try := 0; h.stored.Position.Version < h.head; try++ {
		if !time.Now().Before(deadline) {
			return false, nil
		}
		if err := jitter.Sleep(ctx, r.Jitter.Around(200*time.Millisecond, "verify/"+h.aggregate, try)); err != nil {
			return false, err
		}
		stored, err := r.item(ctx, h.aggregate)
		if err != nil {
			return false, err
		}
		h.stored = stored
	}
	if h.missing > 0 || h.foldErr != nil || h.stored.Err != nil {
		return true, nil
	}
	state, err := r.Projection.Start(nil)
	if err != nil {
		return false, err
	}
	h.state, h.compared = state, false
	var last uint64
	err = r.Events.Range(ctx, h.aggregate, 1, h.stored.Position.Version, func(page []event.Event) error {
		for _, e := range page {
			if e.Version != last+1 {
				return fmt.Errorf("aggregate %q: version %d was there and is missing now", h.aggregate, last+1)
			}
			last = e.Version
			if h.foldErr == nil {
				h.foldErr = h.state.Apply(e)
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if h.foldErr == nil {
		r.compare(h)
	}
	if h.foldErr != nil {
		r.find(&r.report.Mismatches, h.finding("mismatch", "its events cannot be folded: "+h.foldErr.Error()))
	}
	h.head = max(h.head, h.stored.Position.Version)
	return true, nil
}

// view looks for items that are ahead of their events, or have none.
func (r *verification) view(ctx context.Context, segment int) error {
	var after event.Item
	for try := 0; ; {
		page, err := r.View.Scan(ctx, segment, r.Segments, after)
		if err != nil {
			if event.ClassOf(err) != event.Transient || try == 10 {
				return err
			}
			if err := jitter.Sleep(ctx, r.Jitter.Backoff(50*time.Millisecond, 2*time.Second, fmt.Sprintf("verify/view/%d", segment), try)); err != nil {
				return err
			}
			try++
			continue
		}
		try = 0
		for _, stored := range page.Items {
			if err := r.ahead(ctx, stored); err != nil {
				return err
			}
		}
		if after = page.Next; after == nil {
			return nil
		}
	}
}

func (r *verification) ahead(ctx context.Context, stored readmodel.Stored) error {
	if stored.Aggregate == "" || stored.Err != nil {
		return nil // another sink's item
	}
	r.mu.Lock()
	head := r.heads[stored.Aggregate]
	r.mu.Unlock()
	if stored.Position.Version <= head {
		return nil
	}
	// Events may have come since the scan; only the newest read tells.
	err := r.Events.Range(ctx, stored.Aggregate, stored.Position.Version, stored.Position.Version, func(page []event.Event) error {
		for _, e := range page {
			head = max(head, e.Version)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if stored.Position.Version > head {
		text := "the read model holds versions that the event store does not have"
		if head == 0 {
			text = "the read model has an item of an aggregate without events"
		}
		r.find(&r.report.Ahead, Finding{Kind: "ahead", Aggregate: stored.Aggregate, Position: stored.Position.Version, Head: head, Text: text})
	}
	return nil
}

func (r *verification) find(count *int, f Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*count++
	if len(r.report.Findings) < r.Verify.Findings {
		r.report.Findings = append(r.report.Findings, f)
	}
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
