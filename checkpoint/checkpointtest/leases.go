package checkpointtest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/source"
)

func grantRaceHasOneWinner(c subject) {
	t, h := c.t, c.Harness
	const workers = 8
	stores := make([]Worker, workers)
	for i := range stores {
		stores[i] = h.Open(fmt.Sprint("w", i))
	}
	seen := made(t, stores[0], fresh(key("a")))
	held := make([]checkpoint.Lease, workers)
	errs := make([]error, workers)
	var race sync.WaitGroup
	for i, w := range stores {
		race.Go(func() { held[i], errs[i] = w.Grant(t.Context(), seen, fmt.Sprint("w", i)) })
	}
	race.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err != nil:
			fenced(t, err)
		case winner >= 0:
			t.Errorf("w%d and w%d both hold the lease", winner, i)
		default:
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("nobody got the lease")
	}
	stands(t, stores[0], held[winner])
	written(t, stores[winner], held[winner])
}

func grantOnAnOldHeartbeat(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	held := taken(t, w1, key("a"), "w1")
	seen := row(t, w2, key("a"))
	// w2 decides that the lease has expired; a moment later a renewal lands.
	held = written(t, w1, held)
	_, err := w2.Grant(t.Context(), seen, "w2")
	fenced(t, err)
	stands(t, w2, held)

	// The same with a token that was given away.
	seen = row(t, w1, key("a"))
	held = granted(t, w2, seen, "w2")
	_, err = h.Open("w3").Grant(t.Context(), seen, "w3")
	fenced(t, err)
	stands(t, w2, held)
	forged := held
	forged.Token = seen.Token // the heartbeat alone does not do either
	_, err = w1.Grant(t.Context(), forged, "w1")
	fenced(t, err)
	stands(t, w2, held)

	_, err = w1.Grant(t.Context(), fresh(key("no such shard")), "w1")
	fenced(t, err)
}

func rowMadeAgain(c subject) {
	t, h := c.t, c.Harness
	w := h.Open("w1")
	tokens := map[string]bool{}
	var old checkpoint.Lease
	for n := range 3 {
		seen := made(t, w, fresh(key("a")))
		held := granted(t, w, seen, "w1")
		for _, token := range []string{seen.Token, held.Token} {
			if tokens[token] {
				t.Fatalf("token %q came a second time", token)
			}
			tokens[token] = true
		}
		if n > 0 {
			_, err := w.Write(t.Context(), old)
			fenced(t, err)
			stands(t, w, held)
		}
		old = held
		h.Delete(t, key("a"))
	}
	_, err := w.Write(t.Context(), old)
	fenced(t, err)
	if leases, err := w.List(t.Context(), group, table); err != nil || len(leases) != 0 {
		t.Errorf("a write brought a deleted row back: %+v, %v", leases, err)
	}
}

func fencedWorkerChangesNothing(c subject) {
	t, h := c.t, c.Harness
	w1, w2, w3 := h.Open("w1"), h.Open("w2"), h.Open("w3")
	lost := taken(t, w1, key("a"), "w1")
	held := granted(t, w2, row(t, w2, key("a")), "w2")
	for name, change := range map[string]func(*checkpoint.Lease){
		"renew":      func(*checkpoint.Lease) {},
		"checkpoint": func(l *checkpoint.Lease) { l.Checkpoint = after(99) },
		"release":    func(l *checkpoint.Lease) { l.Owner = "" },
		"finish":     func(l *checkpoint.Lease) { l.State = checkpoint.Finished },
		"usurp":      func(l *checkpoint.Lease) { l.Owner = "w2" },
		"guess":      func(l *checkpoint.Lease) { l.Heartbeat = held.Heartbeat },
	} {
		l := lost
		change(&l)
		_, err := w1.Write(t.Context(), l)
		if !errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("%s: got %v, want ErrFenced", name, err)
		}
		stands(t, w2, held)
	}
	fenced(t, w3.Ask(t.Context(), lost, "w3"))
	// A heartbeat of its own lease that this store never wrote proves nothing.
	l := held
	l.Heartbeat = "0123456789abcdef"
	_, err := w2.Write(t.Context(), l)
	fenced(t, err)
	// Nobody becomes the owner by a write.
	l = held
	l.Owner = "w3"
	_, err = w2.Write(t.Context(), l)
	fenced(t, err)
	stands(t, w2, held)
}

func checkpointNeverGoesBack(c subject) {
	t, h := c.t, c.Harness
	w := h.Open("w1")
	held := taken(t, w, key("a"), "w1")
	at := func(sequence string) source.Start {
		return source.Start{Kind: source.AtSequence, Sequence: event.SequenceNumber(sequence)}
	}
	long := source.Start{Kind: source.AfterSequence, Sequence: "1234567890123456789012345678901234567890"}
	for _, step := range []struct {
		start source.Start
		back  bool
	}{
		{start: source.Start{Kind: source.AtTime, Time: moment}},
		{start: source.Start{Kind: source.TrimHorizon}}, // neither comes before the other for certain
		{start: at("999")},
		{start: source.Start{Kind: source.TrimHorizon}, back: true},
		{start: source.Start{Kind: source.AtTime, Time: moment}, back: true},
		{start: after(999)},
		{start: at("999"), back: true},
		{start: after(999)},
		{start: after(1000)}, // compared as text, this would lie before 999
		{start: after(999), back: true},
		{start: at("100000000000000000000001")},
		{start: after(1001), back: true},
		{start: long},
		{start: at("234567890123456789012345678901234567890"), back: true},
		{start: source.Start{Kind: source.ShardEnd}},
		{start: long, back: true},
		{start: source.Start{Kind: source.ShardEnd}},
	} {
		l := held
		l.Checkpoint = step.start
		if !step.back {
			held = written(t, w, l)
			continue
		}
		_, err := w.Write(t.Context(), l)
		backwards(t, err)
		stands(t, w, held)
	}
}

// orphanIsTakenAgain: a worker stepped down locally and its release never
// landed. The row still names it, and it reads the shard no longer.
func orphanIsTakenAgain(c subject) {
	t, h := c.t, c.Harness
	w := h.Open("w1")
	held := taken(t, w, key("a"), "w1")
	watch := checkpoint.NewWatch(10 * time.Second)
	now := moment
	look := func() []checkpoint.Lease {
		leases, err := w.List(t.Context(), group, table)
		if err != nil {
			t.Fatal(err)
		}
		watch.See(now, leases)
		return checkpoint.Plan(checkpoint.View{
			Leases: leases, Sinks: held.Sinks,
			Expired: func(l checkpoint.Lease) bool { return watch.Expired(now, l) },
		}, 1)
	}
	if plan := look(); len(plan) != 0 {
		t.Fatalf("taken before it expired: %+v", plan)
	}
	now = now.Add(10 * time.Second)
	plan := look()
	if len(plan) != 1 {
		t.Fatal("the orphan is left to nobody")
	}
	again := granted(t, w, plan[0], "w1")
	_, err := w.Write(t.Context(), held) // the part that stepped down wakes up
	fenced(t, err)
	stands(t, w, again)
	held.Heartbeat = again.Heartbeat // same owner, and it has listed the row: the token is an old one
	_, err = w.Write(t.Context(), held)
	fenced(t, err)
	stands(t, w, again)
}

func releaseFreesAtOnce(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	held := taken(t, w1, key("a"), "w1")
	held.Owner, held.Checkpoint = "", after(41)
	released := written(t, w1, held)
	if !released.Free() {
		t.Errorf("released as %+v", released)
	}
	_, err := w1.Write(t.Context(), released) // nobody writes a lease that nobody holds
	fenced(t, err)
	stands(t, w1, released)
	next := granted(t, w2, row(t, w2, key("a")), "w2")
	if next.Checkpoint != after(41) {
		t.Errorf("the successor starts at %+v", next.Checkpoint)
	}
	_, err = w1.Write(t.Context(), released)
	fenced(t, err)
	stands(t, w2, next)
}

func handOverRequests(c subject) {
	t, h := c.t, c.Harness
	w1, w2, w3 := h.Open("w1"), h.Open("w2"), h.Open("w3")
	seen := made(t, w1, fresh(key("a")))
	fenced(t, w2.Ask(t.Context(), seen, "w2")) // free: to be taken, not asked for
	held := granted(t, w1, seen, "w1")

	seen = row(t, w2, key("a"))
	w2.Lose()
	unanswered(t, w2.Ask(t.Context(), seen, "w2"))
	if err := w2.Ask(t.Context(), seen, "w2"); err != nil {
		t.Errorf("its own request is not recognised: %v", err)
	}
	fenced(t, w3.Ask(t.Context(), seen, "w3")) // one request at a time
	// The request does not disturb a renewal, which brings it to the holder.
	held = written(t, w1, held)
	if held.Asked != "w2" {
		t.Errorf("the holder sees the request of %q", held.Asked)
	}
	if err := w2.Ask(t.Context(), held, ""); err != nil {
		t.Errorf("withdrawing: %v", err)
	}
	if held = written(t, w1, held); held.Asked != "" {
		t.Errorf("withdrawn, and still asked by %q", held.Asked)
	}
	if err := w3.Ask(t.Context(), held, "w3"); err != nil {
		t.Error(err)
	}
	old := held
	held.Owner = ""
	released := written(t, w1, held)
	fenced(t, w3.Ask(t.Context(), old, "w3")) // its request stands, and there is nobody to fulfil it
	next := granted(t, w3, released, "w3")
	if next.Asked != "" {
		t.Errorf("a fulfilled request stands: %q", next.Asked)
	}
	fenced(t, w2.Ask(t.Context(), old, "w2"))
	if err := w2.Ask(t.Context(), next, "w2"); err != nil {
		t.Error(err)
	}
	fenced(t, w2.Ask(t.Context(), old, "w2")) // asks the same of somebody else
}
