package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"millrace/event"
)

// A sink is paused when, of at least tripCalls calls in the last tripWindow,
// half have failed for reasons that are no record's. It is then asked again
// every openFor, by one call.
const (
	tripCalls  = 20
	tripWindow = 10 * time.Second
	openFor    = 5 * time.Second
)

// breaker knows whether a sink is paused. It is under its lane's lock.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	since   time.Time     // of the pause; zero while there is none
	before  time.Duration // that earlier pauses took together
	granted bool          // the next call may be made, to see whether the sink is back
	trying  bool          // that call is under way
}

// call is one call of the sink that was let through.
type call struct {
	answer func(error)
	trial  bool // of a paused sink
	began  time.Time
}

// turn is what an answer changes.
type turn uint8

const (
	steady  turn = iota
	paused       // a pause begins
	resumed      // it is over
	unclear      // the answer to a trial tells nothing of the sink
)

// errNoVerdict is an answer that tells nothing of the sink.
var errNoVerdict = errors.New("it tells nothing of the sink")

func newBreaker() breaker {
	return breaker{circuit: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Interval: tripWindow, BucketPeriod: time.Second, Timeout: openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			answered := c.TotalSuccesses + c.TotalFailures
			return answered >= tripCalls && 2*c.TotalFailures >= answered
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNoVerdict) },
	})}
}

// verdict is what the outcome of a run tells of the sink: nil, that it works; its
// failure; or errNoVerdict, where the record, our own stop or a lost lease is
// why it did not take effect.
func verdict(ctx context.Context, o event.Outcome) error {
	if o.Err == nil {
		return nil
	}
	class := event.ClassOf(o.Err)
	lost := class == event.Unknown && !o.Known
	failed := lost || class == event.Transient || class == event.Unavailable || class == event.Batch || class == event.Foreign
	if ctx.Err() != nil || !failed {
		return errNoVerdict
	}
	return o.Err
}

// shut reports whether nobody may call the sink now.
func (b *breaker) shut() bool { return !b.since.IsZero() && !b.granted }

// admit lets a call through. It is asked under the lock under which shut said
// no; then the circuit does not refuse.
func (b *breaker) admit() call {
	answer, err := b.circuit.Allow()
	if err != nil {
		answer = func(error) {}
	}
	trial := b.granted
	if trial {
		b.granted, b.trying = false, true
	}
	return call{answer: answer, trial: trial}
}

// grant lets one call through to a paused sink, if it is time for one.
func (b *breaker) grant() bool {
	if b.since.IsZero() || b.trying || b.circuit.State() != gobreaker.StateHalfOpen {
		return false
	}
	b.granted = true
	return true
}

// take takes a call's answer: nil, a failure, or errNoVerdict. Answers to calls
// from before a pause began or ended change nothing.
func (b *breaker) take(now time.Time, c call, answer error) turn {
	c.answer(answer)
	if c.trial {
		b.trying = false
	}
	switch state := b.circuit.State(); {
	case b.since.IsZero() && state != gobreaker.StateClosed:
		b.since = now
		return paused
	case !b.since.IsZero() && state == gobreaker.StateClosed:
		b.before += now.Sub(b.since)
		b.since, b.granted = time.Time{}, false
		return resumed
	case c.trial && b.grant():
		return unclear
	}
	return steady
}

// total is for how long the sink has been paused so far.
func (b *breaker) total(now time.Time) time.Duration {
	if b.since.IsZero() {
		return b.before
	}
	return b.before + now.Sub(b.since)
}
