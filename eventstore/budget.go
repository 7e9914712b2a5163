package eventstore

import (
	"context"
	"fmt"
	"time"

	"millrace/event"
	"millrace/internal/jitter"
)

// Budget bounds how often and how long one call is repeated after a throttle,
// a time-out or an error of the service. A zero field means its default.
type Budget struct {
	Tries int           // attempts in all, at least 1. Default 10
	Base  time.Duration // the first wait is drawn below it, each later one below its double. Default 25 ms
	Cap   time.Duration // no wait is longer. Default 1 s
	Call  time.Duration // one attempt; one that hangs is given up and repeated. Default 3 s
	Total time.Duration // all attempts and waits together. Default 15 s
}

func (b Budget) filled() (Budget, error) {
	if b.Tries < 0 || b.Base < 0 || b.Cap < 0 || b.Call < 0 || b.Total < 0 {
		return b, fmt.Errorf("a retry budget cannot be negative: %+v", b)
	}
	def := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	if b.Tries == 0 {
		b.Tries = 10
	}
	def(&b.Base, 25*time.Millisecond)
	def(&b.Cap, time.Second)
	def(&b.Call, 3*time.Second)
	def(&b.Total, 15*time.Second)
	return b, nil
}

// retry repeats a call while it fails for a transient reason and the budget
// lasts. The name tells one wait's jitter from another's. It returns the last
// attempt's error; a stop that comes while it waits has the stop's class.
func (s *Store) retry(ctx context.Context, name string, call func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, s.budget.Total)
	defer cancel()
	for n := 0; ; n++ {
		err := s.once(within, call)
		if err == nil || event.ClassOf(err) != event.Transient || n+1 == s.budget.Tries {
			return err
		}
		wait := s.jitter.Backoff(s.budget.Base, s.budget.Cap, name, n)
		if jitter.Sleep(within, wait) == nil {
			continue
		}
		if stop := ctx.Err(); stop != nil {
			return &event.Error{Class: event.ClassOf(stop), Op: "waiting to try again", Err: err}
		}
		return err
	}
}

func (s *Store) once(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.budget.Call)
	defer cancel()
	return call(ctx)
}
