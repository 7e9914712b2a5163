package status

import (
	"context"
	"fmt"

	"millrace/event"
	"millrace/sinks/readmodel"
)

// view looks for items that are ahead of their events, or have none.
func (r *verification) view(ctx context.Context, segment int) error {
	for after := event.Item(nil); ; {
		var page readmodel.Page
		err := r.again(ctx, fmt.Sprintf("view/%d", segment), func() (err error) {
			page, err = r.View.Scan(ctx, segment, r.Segments, after)
			return err
		})
		if err != nil {
			return err
		}
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
		return nil //nolint:nilerr // another sink's item; where it takes the place of ours it is a mismatch
	}
	r.mu.Lock()
	head, counted := r.heads[stored.Aggregate], r.bad[stored.Aggregate]
	r.mu.Unlock()
	if stored.Position.Version <= head || counted {
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
