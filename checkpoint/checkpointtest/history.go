package checkpointtest

import (
	"context"
	"errors"
	"fmt"

	"pgregory.net/rapid"

	"millrace/checkpoint"
	"millrace/source"
)

// history is one shard, three workers with beliefs of any age, and answers
// that are lost or writes that land whenever they like.
type history struct {
	workers [3]Worker
	beliefs [3]checkpoint.Lease // the last lease each was handed
	seen    []checkpoint.Lease  // rows as listed at some time
	late    []func()            // writes under way
	row     checkpoint.Lease
	read    func() checkpoint.Lease
}

// anyHistory draws histories and checks after every step what must never be.
func anyHistory(c subject) {
	t, h := c.t, c.Harness
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		k := key("a")
		k.Group = fmt.Sprint("history ", n)
		s := &history{}
		for i := range s.workers {
			s.workers[i] = h.Open(fmt.Sprintf("%d of %s", i, k.Group))
		}
		if err := s.workers[0].Create(t.Context(), []checkpoint.Lease{fresh(k)}); err != nil {
			rt.Fatal(err)
		}
		s.read = func() checkpoint.Lease {
			leases, err := s.workers[0].List(t.Context(), k.Group, table)
			if err != nil || len(leases) != 1 {
				rt.Fatalf("listed %+v, %v", leases, err)
			}
			return leases[0]
		}
		s.row = s.read()
		s.seen = append(s.seen, s.row)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			s.step(t.Context(), rt)
		}
		for len(s.late) > 0 {
			s.land(rt)
		}
	})
}

func (s *history) step(ctx context.Context, rt *rapid.T) {
	if len(s.late) > 0 && rapid.Bool().Draw(rt, "land") {
		s.land(rt)
		return
	}
	i := rapid.IntRange(0, len(s.workers)-1).Draw(rt, "worker")
	w, belief := s.workers[i], s.beliefs[i]
	fault := rapid.SampledFrom([]string{"", "", "", "lose", "late"}).Draw(rt, "fault")
	name := fmt.Sprint("w", i)
	var got checkpoint.Lease
	var err error

	if belief.Token == "" || rapid.IntRange(0, 3).Draw(rt, "grant") == 0 {
		seen := rapid.SampledFrom(s.seen).Draw(rt, "seen")
		s.arm(w, fault)
		got, err = w.Grant(ctx, seen, name)
	} else {
		l := belief
		move(rt, &l)
		s.arm(w, fault)
		got, err = w.Write(ctx, l)
		if l.Token != s.row.Token && !errors.Is(err, checkpoint.ErrFenced) && fault == "" {
			rt.Fatalf("a worker without the lease was told %v", err)
		}
	}

	before := s.row
	s.observe(rt)
	switch {
	case err == nil:
		s.beliefs[i] = got
		if !got.Same(s.row) {
			rt.Fatalf("success with\n%+v, the row is\n%+v", got, s.row)
		}
	case errors.Is(err, checkpoint.ErrFenced), errors.Is(err, checkpoint.ErrBackwards):
		if !s.row.Same(before) && fault == "" {
			rt.Fatalf("refused with %v, and changed\n%+v into\n%+v", err, before, s.row)
		}
	}
	s.seen = append(s.seen, s.row)
}

// move changes a held lease as its holder would.
func move(rt *rapid.T, l *checkpoint.Lease) {
	switch rapid.SampledFrom([]string{"renew", "checkpoint", "checkpoint", "note", "drain", "release", "finish"}).Draw(rt, "move") {
	case "checkpoint":
		l.Checkpoint, l.Barren = after(rapid.IntRange(1, 2000).Draw(rt, "sequence")), checkpoint.Barren{}
	case "note":
		l.Barren.Attempt = attempt
		l.Barren.Attempt.Version = rapid.Uint64Range(0, 3).Draw(rt, "version")
	case "drain":
		l.State = checkpoint.Draining
	case "release":
		l.Owner = ""
	case "finish":
		l.State, l.Checkpoint = checkpoint.Finished, source.Start{Kind: source.ShardEnd}
	}
}

func (s *history) arm(w Worker, fault string) {
	switch fault {
	case "lose":
		w.Lose()
	case "late":
		s.late = append(s.late, w.Late())
	}
}

// land lets one write take effect that its caller has given up.
func (s *history) land(rt *rapid.T) {
	i := rapid.IntRange(0, len(s.late)-1).Draw(rt, "which")
	land := s.late[i]
	s.late = append(s.late[:i], s.late[i+1:]...)
	land()
	s.observe(rt)
	s.seen = append(s.seen, s.row)
}

// observe reads the row and checks how it may have changed.
func (s *history) observe(rt *rapid.T) {
	old := s.row
	s.row = s.read()
	if s.row.Checkpoint.Before(old.Checkpoint) {
		rt.Fatalf("the checkpoint went back from %+v to %+v", old.Checkpoint, s.row.Checkpoint)
	}
	if old.State == checkpoint.Finished && s.row.State != checkpoint.Finished {
		rt.Fatalf("a finished shard became %v", s.row.State)
	}
	if s.row.Token == old.Token && s.row.Owner != old.Owner && s.row.Owner != "" {
		rt.Fatalf("%q became the owner without a grant", s.row.Owner)
	}
	if b := s.row.Barren; s.row.Token != old.Token && (b.Grants > old.Barren.Grants+1 || b.Deaths > old.Barren.Deaths+1 || b.Attempt != (checkpoint.Attempt{})) {
		rt.Fatalf("a grant made %+v of %+v", b, old.Barren)
	}
	if s.row.Heartbeat == old.Heartbeat && !s.row.Same(old) {
		rt.Fatalf("changed under one heartbeat:\n%+v\n%+v", old, s.row)
	}
}
