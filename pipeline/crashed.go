package pipeline

import (
	"context"

	"millrace/checkpoint"
)

// learnCrashed has the lanes know the aggregates that are blocked because
// workers died at them. Of every other block a worker may learn by failing at
// the same event; these it must know before it tries: when it begins, and when
// such a block may just have been written by another worker, which is while a
// row is read carefully and one look longer.
func (k *keeper) learnCrashed(ctx context.Context, rows []checkpoint.Lease) error {
	if k.w.opts.Markers == nil {
		return nil
	}
	careful := false
	for _, l := range rows {
		careful = careful || l.Barren.Careful()
	}
	if k.learned && !careful && !k.careful {
		return nil
	}
	for _, l := range k.w.lanes {
		call, cancel := context.WithTimeout(ctx, 4*k.w.opts.Call)
		markers, err := k.w.opts.Markers.Crashed(call, l.scope())
		cancel()
		if err != nil {
			return err
		}
		for _, m := range markers {
			l.blocked(m.Key.Aggregate, m.SeenVersion)
		}
	}
	k.learned, k.careful = true, careful
	return nil
}
