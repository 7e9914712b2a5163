package status

import (
	"context"
	"fmt"
	"time"

	"millrace/failure"
	"millrace/internal/jitter"
)

// lookEvery is how often an aggregate that is behind is looked at.
const lookEvery = 200 * time.Millisecond

// settle judges those that are behind: at once what a marker holds back or
// what lacks an event, which nothing gets over, and the others when they have
// caught up or the deadline has come.
func (r *verification) settle(ctx context.Context, deadline time.Time) error {
	var err error
	if r.late, err = r.judgeBlocked(ctx, r.late); err != nil {
		return err
	}
	catchUp := func(ctx context.Context, segment int) error { return r.catchUp(ctx, segment, deadline) }
	if err := r.inSegments(ctx, catchUp); err != nil {
		return err
	}
	if r.Wait > 0 { // some may have been blocked meanwhile
		if r.behind, err = r.judgeBlocked(ctx, r.behind); err != nil {
			return err
		}
	}
	for _, h := range r.behind {
		r.judge(h, failure.Marker{})
	}
	return nil
}

// judgeBlocked judges those that nothing but an operator moves and returns the
// others. The error is that of ctx.
func (r *verification) judgeBlocked(ctx context.Context, late []*history) (others []*history, err error) {
	if len(late) == 0 {
		return nil, nil
	}
	markers := map[string]failure.Marker{}
	if r.Blocked != nil {
		var list []failure.Marker
		err := r.again(ctx, "markers", func() (err error) {
			list, err = r.Blocked(ctx)
			return err
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// Without the markers the comparison is worth as much, and what they
		// would explain is a finding all the same.
		r.report.BlockedUnknown = ""
		if err != nil {
			r.report.BlockedUnknown = err.Error()
		}
		for _, m := range list {
			markers[m.Key.Aggregate] = m
		}
	}
	for _, h := range late {
		if marker, blocked := markers[h.aggregate]; blocked || h.missing > 0 {
			r.judge(h, marker)
		} else {
			others = append(others, h)
		}
	}
	return others, nil
}

// catchUp waits until one segment's share of those that are behind has caught
// up with the versions that were seen, or until the deadline, which is the
// same for all of them: a worker that stands still is not waited for once for
// each aggregate.
func (r *verification) catchUp(ctx context.Context, segment int, deadline time.Time) error {
	var waiting []*history
	for i := segment; i < len(r.late); i += r.Segments {
		waiting = append(waiting, r.late[i])
	}
	for round := 0; len(waiting) > 0; round++ {
		left := time.Until(deadline)
		if left <= 0 {
			r.mu.Lock()
			r.behind = append(r.behind, waiting...)
			r.mu.Unlock()
			return nil
		}
		wait := r.Jitter.Around(lookEvery, fmt.Sprintf("verify/late/%d", segment), round)
		if err := jitter.Sleep(ctx, min(wait, left)); err != nil {
			return err
		}
		var still []*history
		for _, h := range waiting {
			caught, err := r.caughtUp(ctx, h)
			if err != nil {
				return err
			}
			if caught {
				r.judge(h, failure.Marker{})
			} else {
				still = append(still, h)
			}
		}
		waiting = still
	}
	return nil
}

// caughtUp looks again. What moved is compared anew, even if it is still
// behind: the comparison must belong to the position that is reported.
func (r *verification) caughtUp(ctx context.Context, h *history) (bool, error) {
	before := h.stored.Position
	if err := r.look(ctx, h); err != nil {
		return false, err
	}
	if h.stored.Position != before || h.stored.Err != nil {
		if err := r.refold(ctx, h); err != nil {
			return false, err
		}
		h.state = nil
	}
	return h.stored.Position.Version >= h.head || h.stored.Err != nil, nil
}
