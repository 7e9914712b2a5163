package pipeline

import (
	"context"
	"errors"
	"time"

	"millrace/checkpoint"
	"millrace/source"
)

// ErrStreamEnded is what Run returns when its stream is read to its end by the
// whole group and the table has another one by now: a worker of that one goes
// on.
var ErrStreamEnded = errors.New("the stream is read to its end, and the table has another one")

// succeed ends the worker when nothing can come of its stream any more and
// another has taken its place. A stream that is disabled ends like that; one
// that is enabled always has a shard that is not finished.
func (k *keeper) succeed(ctx context.Context, rows []checkpoint.Lease) {
	if !k.ended(rows) || time.Now().Before(k.askNext) {
		return
	}
	if k.askNext.IsZero() {
		k.w.opts.Log.Warn().Str("table", k.pin.Table).Str("label", k.pin.Label).Msg("the stream is disabled and read to its end; nothing comes until the table has another one")
	}
	k.askNext = time.Now().Add(k.w.opts.Jitter.Around(k.w.opts.Discover/4, k.w.opts.Worker+"/succeed", k.asks))
	k.asks++
	if k.w.opts.Succeeded == nil {
		return
	}
	call, cancel := context.WithTimeout(ctx, k.w.opts.Call)
	defer cancel()
	switch another, err := k.w.opts.Succeeded(call); {
	case err != nil:
		k.w.counters.retries.Add(1)
		k.w.tellCall("succeed", k.failedAsks, err)
		k.failedAsks++
	case another:
		k.w.fail(ErrStreamEnded)
	default:
		k.failedAsks = 0
	}
}

// ended reports whether every shard of the stream has a row and is finished.
func (k *keeper) ended(rows []checkpoint.Lease) bool {
	finished := make(map[source.ShardID]bool, len(rows))
	for _, l := range rows {
		if l.State != checkpoint.Finished {
			return false
		}
		finished[l.Key.Shard] = true
	}
	if len(rows) == 0 || !k.listing.Complete() || k.listing.Cursor() != "" {
		return false
	}
	for _, shard := range k.listing.Shards() {
		if !finished[shard.ID] {
			return false
		}
	}
	return true
}
