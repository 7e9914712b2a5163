package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"millrace/event"
)

// Explained is how one aggregate stands.
type Explained struct {
	Aggregate string
	Head      uint64 // newest version in the event store; 0: it has no event
	HeadType  string
	HeadTime  time.Time // when that event happened; zero: nobody can tell
	Sinks     []Shown   // in the order of the configuration
	Names     []string  // of the sinks
}

// Explain looks at one aggregate in the event store and in every sink, and
// changes nothing. The reads are consistent, each for itself.
func (s *Service) Explain(ctx context.Context, aggregate string) (Explained, error) {
	e := Explained{Aggregate: aggregate}
	var err error
	if e.Sinks, err = s.Show(ctx, aggregate); err != nil {
		return e, err
	}
	for i, t := range s.targets {
		e.Names = append(e.Names, t.config.Name)
		e.Head = max(e.Head, e.Sinks[i].Head)
	}
	if e.Head == 0 {
		return e, nil
	}
	err = s.events.Range(ctx, aggregate, e.Head, e.Head, func(page []event.Event) error {
		// What cannot be read of it is what a fold would fail on, and no failure here.
		e.HeadType, _ = page[0].Type()
		e.HeadTime, _ = page[0].Time()
		return nil
	})
	return e, err
}

// Until says up to where a history is folded: a version, or a time, both
// included. The zero value is all of it.
type Until struct {
	Version uint64
	Time    time.Time
}

// Folded is an aggregate as it was.
type Folded struct {
	Sink    string
	Version uint64     // of the last event that was folded; 0: none was
	Time    time.Time  // when that happened; zero: nobody can tell
	Item    event.Item // what the read model's fold makes of the events
	Err     error      // why version Version+1 cannot be folded
}

// errEnough ends the reading of a history.
var errEnough = errors.New("far enough")

// Fold folds an aggregate's events, from version 1 on, as each read model would
// with this build. Sinks that are no folds are left out. The error is of a read
// that failed. A version that is missing is an error of the fold.
func (s *Service) Fold(ctx context.Context, aggregate string, until Until) ([]Folded, error) {
	var all []Folded
	for _, t := range s.targets {
		if t.view == nil {
			continue
		}
		folded, err := s.fold(ctx, t, aggregate, until)
		if err != nil {
			return nil, err
		}
		all = append(all, folded)
	}
	return all, nil
}

func (s *Service) fold(ctx context.Context, t *target, aggregate string, until Until) (Folded, error) {
	f := Folded{Sink: t.config.Name}
	state, err := t.config.ReadModel.Projection.Start(nil)
	if err != nil {
		return f, err
	}
	to := until.Version
	if to == 0 {
		to = s.events.Layout().MaxVersion()
	}
	err = s.events.Range(ctx, aggregate, 1, to, func(page []event.Event) error {
		for _, e := range page {
			at, err := e.Time()
			if !until.Time.IsZero() && (err != nil || at.After(until.Time)) {
				f.Err = err
				return errEnough
			}
			if e.Version != f.Version+1 {
				f.Err = &event.Error{Class: event.Gap, Op: fmt.Sprintf("reading version %d of %s", f.Version+1, aggregate), Err: errMissing}
				return errEnough
			}
			if f.Err = state.Apply(e); f.Err != nil {
				return errEnough
			}
			f.Version, f.Time = e.Version, at
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return f, err
	}
	if f.Err == nil {
		f.Item, f.Err = state.Item()
	}
	return f, nil
}
