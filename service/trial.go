package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/jitter"
)

// Trial is what this build's fold says of one aggregate's waiting versions.
type Trial struct {
	Marker failure.Marker
	From   uint64 // the position in the sink
	To     uint64 // how far the fold comes: seenVersion, unless Err is set
	Err    error  // why version To+1 would fail
	// Untold: the sink is no fold, and only a redrive can tell; To is From.
	Untold bool
}

var errMissing = errors.New("the event store does not have it")

// Try folds what the markers of a listing of this service have on record, as a redrive would, and
// writes nothing. Each is told every trial, one at a time. What a target would
// refuse, such as an item too large, no trial finds. The error is of a read
// that failed, or ctx's; the trials are not complete then.
func (s *Service) Try(ctx context.Context, list []failure.Marker, each func(Trial)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var under sync.WaitGroup
	slots := make(chan struct{}, RedriveOptions{}.withDefaults().Parallel)
	for _, marker := range list {
		slots <- struct{}{}
		under.Go(func() {
			defer func() { <-slots }()
			trial, err := s.try(ctx, marker)
			if err != nil {
				cancel(fmt.Errorf("trying %s: %w", marker.Key.Aggregate, err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			each(trial)
		})
	}
	under.Wait()
	return context.Cause(ctx)
}

func (s *Service) try(ctx context.Context, marker failure.Marker) (Trial, error) {
	aggregate, source := marker.Key.Aggregate, jitter.New()
	for n := 0; ; n++ {
		trial, err := s.tryOnce(ctx, marker)
		if err == nil || event.ClassOf(err) != event.Transient || n == 10 {
			return trial, err
		}
		if stopped := jitter.Sleep(ctx, source.Backoff(50*time.Millisecond, 2*time.Second, "try/"+aggregate, n)); stopped != nil {
			return trial, errors.Join(stopped, err)
		}
	}
}

// tryOnce returns an error where a read failed: it says nothing about the
// aggregate.
func (s *Service) tryOnce(ctx context.Context, marker failure.Marker) (Trial, error) {
	t := Trial{Marker: marker}
	target := s.of(marker.Key)
	if target.view == nil {
		var err error
		t.From, err = s.position(ctx, target, marker.Key.Aggregate)
		t.To, t.Untold = t.From, true
		return t, err
	}
	stored, err := target.view.Item(ctx, marker.Key.Aggregate)
	if err != nil {
		return t, err
	}
	t.From, t.To, t.Err = stored.Position.Version, stored.Position.Version, stored.Err
	if t.Err != nil || t.To >= marker.SeenVersion {
		return t, nil //nolint:nilerr // that is the trial's result, not its failure
	}
	state, err := target.config.ReadModel.Projection.Start(stored.Item)
	if err != nil {
		t.Err = err
		return t, nil //nolint:nilerr // likewise
	}
	err = s.events.Range(ctx, marker.Key.Aggregate, t.From+1, marker.SeenVersion, func(page []event.Event) error {
		for _, e := range page {
			if t.Err != nil || e.Version != t.To+1 {
				return nil //nolint:nilerr // likewise
			}
			if t.Err = state.Apply(e); t.Err == nil {
				t.To = e.Version
			}
		}
		return nil
	})
	if err == nil && t.Err == nil && t.To < marker.SeenVersion {
		t.Err = &event.Error{Class: event.Gap, Op: fmt.Sprintf("reading version %d of %s", t.To+1, marker.Key.Aggregate), Err: errMissing}
	}
	return t, err
}
