package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
)

func classed(class event.Class) error { return &event.Error{Class: class, Op: "applying"} }

// TestWhatAnOutcomeTellsOfTheSink: poison, our own stop and a lost lease are no
// failures of the sink, and no successes either.
func TestWhatAnOutcomeTellsOfTheSink(t *testing.T) {
	const works, fails, nothing = "works", "fails", "nothing"
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		ctx     context.Context
		outcome event.Outcome
		want    string
	}{
		{t.Context(), event.Outcome{Known: true}, works},
		{stopped, event.Outcome{Known: true}, works},
		{t.Context(), event.Outcome{Known: true, Err: classed(event.Transient)}, fails},
		{t.Context(), event.Outcome{Known: true, Err: classed(event.Unavailable)}, fails},
		{t.Context(), event.Outcome{Known: true, Err: classed(event.Batch)}, fails},
		{t.Context(), event.Outcome{Err: errNoAnswer}, fails},
		{t.Context(), event.Outcome{Err: errors.New("who knows")}, fails},
		{t.Context(), event.Outcome{Known: true, Err: errors.New("who knows")}, nothing},
		{t.Context(), event.Outcome{Known: true, Err: classed(event.Permanent)}, nothing},
		{t.Context(), event.Outcome{Err: classed(event.Permanent)}, nothing},
		{t.Context(), event.Outcome{Known: true, Err: classed(event.Stopping)}, nothing},
		{t.Context(), event.Outcome{Known: true, Err: classed(event.Fenced)}, nothing},
		{t.Context(), event.Outcome{Known: true, Err: classed(event.Superseded)}, nothing},
		{stopped, event.Outcome{Known: true, Err: classed(event.Transient)}, nothing},
	} {
		got := works
		switch err := verdict(tc.ctx, tc.outcome); {
		case errors.Is(err, errNoVerdict):
			got = nothing
		case err != nil:
			got = fails
		}
		if got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.outcome, got, tc.want)
		}
	}
}

// circuit makes calls through a breaker, one after the other, and tells what
// each changed.
type circuit struct {
	t *testing.T
	b breaker
}

func (c *circuit) answer(n int, answer error) (last turn) {
	c.t.Helper()
	for range n {
		if c.b.shut() {
			c.t.Fatal("the breaker is shut")
		}
		last = c.b.take(time.Now(), c.b.admit(), answer)
	}
	return last
}

func (c *circuit) is(what string, got, want any) {
	c.t.Helper()
	if got != want {
		c.t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func TestWhenASinkIsPaused(t *testing.T) {
	down := classed(event.Transient)
	for name, tc := range map[string]struct {
		play func(c *circuit) turn
		want turn
	}{
		"nineteen failures":           {func(c *circuit) turn { return c.answer(19, down) }, steady},
		"twenty failures":             {func(c *circuit) turn { return c.answer(20, down) }, paused},
		"ten of twenty":               {func(c *circuit) turn { c.answer(10, nil); return c.answer(10, down) }, paused},
		"nine of twenty":              {func(c *circuit) turn { c.answer(11, nil); return c.answer(9, down) }, steady},
		"poison counts neither way":   {func(c *circuit) turn { c.answer(1000, errNoVerdict); return c.answer(19, down) }, steady},
		"poison hides no outage":      {func(c *circuit) turn { c.answer(1000, errNoVerdict); return c.answer(20, down) }, paused},
		"spread over more than 10 s":  {func(c *circuit) turn { c.answer(10, down); <-time.After(11 * time.Second); return c.answer(19, down) }, steady},
		"spread over less than 10 s":  {func(c *circuit) turn { c.answer(10, down); <-time.After(8 * time.Second); return c.answer(10, down) }, paused},
		"after a minute of good days": {func(c *circuit) turn { c.answer(1000, nil); <-time.After(time.Minute); return c.answer(20, down) }, paused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &circuit{t, newBreaker()}
				if got := tc.play(c); got != tc.want || c.b.shut() != (got == paused) {
					t.Errorf("got %v, shut %v; want %v", got, c.b.shut(), tc.want)
				}
			})
		})
	}
}

// TestOneTrialAtATime: a paused sink gets one call when its time has come. One
// that fails begins another five seconds, one that tells nothing is followed by
// another at once, and one that succeeds ends the pause. Answers to calls from
// before the pause change nothing.
func TestOneTrialAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &circuit{t, newBreaker()}
		early, late := c.b.admit(), c.b.admit()
		began := time.Now()
		c.is("twenty failures", c.answer(20, classed(event.Unavailable)), paused)
		c.is("an earlier call succeeds", c.b.take(time.Now(), early, nil), steady)
		c.is("it is too early", c.b.grant(), false)
		<-time.After(openFor + time.Millisecond)
		c.is("its time has come", c.b.grant(), true)
		trial := c.b.admit()
		c.is("nobody else", c.b.shut(), true)
		c.is("and nobody is let in before the answer", c.b.grant(), false)
		c.is("another earlier call fails", c.b.take(time.Now(), late, classed(event.Transient)), steady)
		c.is("the trial is still under way", c.b.grant(), false)
		c.is("the trial fails", c.b.take(time.Now(), trial, classed(event.Transient)), steady)
		c.is("it is too early again", c.b.grant(), false)
		<-time.After(openFor + time.Millisecond)
		c.is("its time has come again", c.b.grant(), true)
		c.is("poison tells nothing", c.answer(1, errNoVerdict), unclear)
		c.is("another is let in at once", c.b.shut(), false)
		c.is("the sink is back", c.answer(1, nil), resumed)
		c.is("everybody is let in", c.b.shut(), false)
		c.is("the pause took", c.b.total(time.Now().Add(time.Hour)), time.Since(began))
		c.is("old failures are forgotten", c.answer(19, classed(event.Transient)), steady)
	})
}
