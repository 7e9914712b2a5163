package checkpointtest

import (
	"millrace/checkpoint"
	"millrace/source"
)

func lostGrant(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	seen := made(t, w1, fresh(key("a")))
	w1.Lose()
	_, err := w1.Grant(t.Context(), seen, "w1")
	unanswered(t, err)
	_, err = w2.Grant(t.Context(), seen, "w2")
	fenced(t, err)
	held := granted(t, w1, seen, "w1") // its own grant, found in the row
	stands(t, w1, held)
	held = written(t, w1, held)
	// Once the lease has moved on, the old grant is no success any more.
	_, err = w1.Grant(t.Context(), seen, "w1")
	fenced(t, err)
	stands(t, w1, held)
}

func lostRenewal(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	held := taken(t, w1, key("a"), "w1")
	write := func(n int) error {
		l := held
		l.Checkpoint = after(n)
		next, err := w1.Write(t.Context(), l)
		if err == nil {
			held = next
		}
		return err
	}
	w1.Lose()
	unanswered(t, write(5))
	if err := write(5); err != nil { // the same again
		t.Fatal(err)
	}
	stands(t, w1, held)

	// By the next try the frontier has moved on: what counts is the newest.
	for n := range 3 {
		w1.Lose()
		unanswered(t, write(10+n))
	}
	if err := write(20); err != nil {
		t.Fatal(err)
	}
	if held.Checkpoint != after(20) {
		t.Errorf("success, and the checkpoint is %+v", held.Checkpoint)
	}
	stands(t, w1, held)

	// A try that asks for less than the lost one wrote must not undo it.
	w1.Lose()
	unanswered(t, write(30))
	backwards(t, write(25))
	if err := write(30); err != nil {
		t.Fatal(err)
	}

	// Another took over in between: then it is no own write at all.
	w1.Lose()
	unanswered(t, write(40))
	next := granted(t, w2, row(t, w2, key("a")), "w2")
	fenced(t, write(40))
	stands(t, w2, next)
}

func lostRelease(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	held := taken(t, w1, key("a"), "w1")
	w1.Lose()
	_, err := w1.Write(t.Context(), held) // a renewal whose answer is lost, then the end
	unanswered(t, err)
	held.Owner, held.Checkpoint = "", after(8)
	w1.Lose()
	_, err = w1.Write(t.Context(), held) // refused: an own renewal stands there; released after it
	unanswered(t, err)
	released, err := w1.Write(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	if !released.Free() || released.Checkpoint != after(8) {
		t.Errorf("released as %+v", released)
	}
	stands(t, w2, released)
	next := granted(t, w2, released, "w2")
	_, err = w1.Write(t.Context(), held)
	fenced(t, err)
	stands(t, w2, next)
}

func lateRenewal(c subject) {
	t, h := c.t, c.Harness
	w1 := h.Open("w1")
	for name, end := range map[string]func(*checkpoint.Lease){
		"renewed": func(l *checkpoint.Lease) { l.Checkpoint = after(9) },
		"drained": func(l *checkpoint.Lease) { l.State = checkpoint.Draining },
		"finished": func(l *checkpoint.Lease) {
			l.State, l.Checkpoint = checkpoint.Finished, source.Start{Kind: source.ShardEnd}
		},
		"released": func(l *checkpoint.Lease) { l.Owner = "" },
	} {
		held := taken(t, w1, key(name), "w1")
		land := w1.Late()
		old := held
		old.Checkpoint = after(5)
		_, err := w1.Write(t.Context(), old)
		unanswered(t, err)
		end(&held)
		next := written(t, w1, held)
		land() // its owner and token hold, only the heartbeat does not
		stands(t, w1, next)
	}

	// Landing before its successor, it is found as what it is.
	held := taken(t, w1, key("before"), "w1")
	land := w1.Late()
	held.Checkpoint = after(5)
	_, err := w1.Write(t.Context(), held)
	unanswered(t, err)
	land()
	held.Checkpoint = after(9)
	if held, err = w1.Write(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	stands(t, w1, held)

	// Landing after another worker took over, it changes nothing.
	land = w1.Late()
	_, err = w1.Write(t.Context(), held)
	unanswered(t, err)
	w2 := h.Open("w2")
	next := granted(t, w2, held, "w2")
	land()
	stands(t, w2, next)
}

func lateGrant(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	seen := made(t, w1, fresh(key("a")))
	land := w1.Late()
	_, err := w1.Grant(t.Context(), seen, "w1")
	unanswered(t, err)
	held := granted(t, w2, seen, "w2")
	land()
	stands(t, w2, held)
	held.Owner = ""
	stands(t, w1, written(t, w2, held))

	// A late creation does not reset what was made and taken since.
	land = w1.Late()
	unanswered(t, w1.Create(t.Context(), []checkpoint.Lease{fresh(key("b"))}))
	b := taken(t, w2, key("b"), "w2")
	land()
	stands(t, w2, b)

	// A late request for a lease that moved since is not put to its new owner.
	land = w1.Late()
	unanswered(t, w1.Ask(t.Context(), b, "w1"))
	b = granted(t, h.Open("w3"), b, "w3")
	land()
	stands(t, w2, b)
}
