package source

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Budget bounds one Discover.
type Budget struct {
	// Calls is the most pages to ask for; at least 1, else the default of 50
	// (5,000 shards of DynamoDB Streams, which allows 10 such calls a second).
	Calls int
	// Each bounds one call, so that a page that hangs cannot hold up the rest;
	// above 0, else the default of 5 seconds.
	Each time.Duration
}

// Discover reads pages into the listing until the pass ends, a page fails, or
// the budget is spent. It goes on where the last call stopped, and the listing
// keeps every page that was read, whatever the outcome. The error is the page's;
// a spent budget is none: Cursor tells, being empty between two passes only.
func Discover(ctx context.Context, d Discoverer, l *Listing, b Budget) error {
	if b.Calls < 1 {
		b.Calls = 50
	}
	if b.Each <= 0 {
		b.Each = 5 * time.Second
	}
	for range b.Calls {
		after := l.Cursor()
		page, next, err := shards(ctx, d, after, b.Each)
		if err != nil {
			// The cursor itself was trimmed away: only the first page is left to
			// go on from.
			if errors.Is(err, ErrShardGone) {
				l.Restart()
			}
			return fmt.Errorf("listing shards after %q: %w", after, err)
		}
		if err := l.Add(page, next); err != nil {
			return fmt.Errorf("listing shards after %q: %w", after, err)
		}
		if next == "" {
			return nil
		}
	}
	return nil
}

func shards(ctx context.Context, d Discoverer, after ShardID, limit time.Duration) ([]Shard, ShardID, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.Shards(ctx, after)
}

// Exists asks the stream for a shard by its id. Only ErrShardGone means that
// it does not exist: a shard whose data is trimmed does, and what is left of it
// is to be read. Any error, ErrStreamGone among them, means that nothing is
// known.
func Exists(ctx context.Context, r Reader, shard ShardID) (bool, error) {
	_, err := r.Iterator(ctx, shard, Start{Kind: TrimHorizon})
	switch {
	case err == nil, errors.Is(err, ErrTrimmed):
		return true, nil
	case errors.Is(err, ErrShardGone):
		return false, nil
	}
	return false, fmt.Errorf("asking for shard %s: %w", shard, err)
}
