package status

import (
	"context"
	"fmt"
	"time"

	"millrace/internal/jitter"
)

// lookEvery is how often an aggregate that is behind is looked at.
const lookEvery = 200 * time.Millisecond

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
			for _, h := range waiting {
				r.judge(h)
			}
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
				r.judge(h)
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
