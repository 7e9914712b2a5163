package reorder

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestH24a_WhatMayHaveBeenPassedIsRechecked: a run says so when somebody else
// may have gone on from its position, and only then: a sink without a guard
// pays a read for it.
func TestH24a_WhatMayHaveBeenPassedIsRechecked(t *testing.T) {
	start := func(s *script) { // a is at 2, as its own run has answered
		s.offer(0, 1, "a1 a2")
		s.is("first run", s.next(9), "a1 a2")
		s.done(0, "a", 2)
	}
	for _, tc := range []struct {
		name   string
		before func(s *script)
		run    string
		want   bool
	}{
		{"it follows its own run", func(s *script) { start(s); s.offer(0, 1, "a3") }, "a3", false},
		{"its position was read", func(s *script) { s.offer(0, 1, "a3"); s.unseen(9); s.learn(0, "a", 2) }, "a3", false},
		{"the first sight of a first version", func(s *script) { s.offer(0, 1, "a1") }, "a1", true},
		{"a fill contributed", func(s *script) {
			start(s)
			s.offer(0, 1, "a4")
			s.due(500)
			s.fill(500, "a", 3, 3, 3)
		}, "a3 a4", true},
		{"its payload was let go and read again", func(s *script) {
			start(s)
			s.offer(0, 1, "a4")
			s.w.Shed(0)
			s.offer(0, 1, "a3")
			s.is("alone", s.next(9), "a3")
			s.done(0, "a", 3)
			s.due(0)
			s.fill(0, "a", 4, 4, 4)
		}, "a4", true},
		{"it failed before", func(s *script) {
			start(s)
			s.offer(0, 1, "a3")
			s.next(9)
			s.fail(0, "a", 2, 100)
			s.due(100)
		}, "a3", true},
		{"somebody else was further", func(s *script) {
			start(s)
			s.offer(0, 1, "a3 a4 a5")
			s.next(1)
			s.done(0, "a", 4)
		}, "a5", true},
		{"a shard was lost", func(s *script) { start(s); s.w.Drop(moment(0), 2); s.offer(0, 1, "a3") }, "a3", true},
		{"a shard was lost while it was in hand", func(s *script) {
			start(s)
			s.offer(0, 1, "a3")
			s.next(9)
			s.w.Drop(moment(0), 2)
			s.done(0, "a", 3)
			s.offer(0, 1, "a4")
		}, "a4", true},
		{"a shard was lost before its own last run", func(s *script) {
			start(s)
			s.w.Drop(moment(0), 2)
			s.offer(0, 1, "a3")
			s.next(9)
			s.done(0, "a", 3)
			s.offer(0, 1, "a4")
		}, "a4", false},
		{"its answer was lost, and its position read", func(s *script) {
			start(s)
			s.offer(0, 1, "a3")
			s.next(9)
			s.lose(0, "a", 100)
			s.due(100)
			s.unseen(9)
			s.learn(100, "a", 2)
		}, "a3", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := play(t, Options{GapWait: 500 * time.Millisecond})
			tc.before(s)
			run, ok := s.w.Next(9)
			if !ok || run.Recheck != tc.want {
				t.Fatalf("the run is %+v; want recheck %v", run, tc.want)
			}
			got := ""
			for _, e := range run.Events {
				got = strings.TrimSpace(fmt.Sprint(got, " ", e.Aggregate, e.Version))
			}
			if got != tc.run {
				t.Errorf("the run is %s, want %s", got, tc.run)
			}
		})
	}
}
