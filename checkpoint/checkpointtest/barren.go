package checkpointtest

import (
	"testing"

	"millrace/checkpoint"
)

var attempt = checkpoint.Attempt{Sink: "view@1", Aggregate: "customer 7", Version: 1<<53 + 1} // no float holds it

// barren checks what a row, as returned and as it stands, tells of vanished
// holders.
func barren(t *testing.T, w Worker, l checkpoint.Lease, want checkpoint.Barren) {
	t.Helper()
	if l.Barren != want {
		t.Fatalf("the row tells %+v, want %+v", l.Barren, want)
	}
	stands(t, w, l)
}

// barrenGrants: a grant by expiry counts one, in the write that grants.
func barrenGrants(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	held := taken(t, w1, key("a"), "w1")
	barren(t, w1, held, checkpoint.Barren{})
	held = granted(t, w2, held, "w2")
	barren(t, w1, held, checkpoint.Barren{Grants: 1})

	// A refused grant counts nothing; one whose answer was lost counts once.
	old := held
	held = written(t, w2, held)
	_, err := w1.Grant(t.Context(), old, "w1")
	fenced(t, err)
	barren(t, w1, held, checkpoint.Barren{Grants: 1})
	w1.Lose()
	_, err = w1.Grant(t.Context(), held, "w1")
	unanswered(t, err)
	held = granted(t, w1, held, "w1")
	barren(t, w2, held, checkpoint.Barren{Grants: 2})
	held = granted(t, w1, held, "w1") // its own, found later
	barren(t, w2, held, checkpoint.Barren{Grants: 2})

	held.Barren, held.Checkpoint = checkpoint.Barren{}, after(1)
	held = written(t, w1, held)
	barren(t, w2, held, checkpoint.Barren{})
	held = granted(t, w2, held, "w2")
	held.Owner = ""
	released := written(t, w2, held)
	barren(t, w1, granted(t, w1, released, "w1"), checkpoint.Barren{})
}

// attemptsAreNoted: a note stands under the lease's conditions, and the next
// holder finds it.
func attemptsAreNoted(c subject) {
	t, h := c.t, c.Harness
	w1, w2 := h.Open("w1"), h.Open("w2")
	lost := granted(t, w1, taken(t, w2, key("a"), "w2"), "w1")
	lost.Barren.Attempt = attempt
	w1.Lose()
	_, err := w1.Write(t.Context(), lost)
	unanswered(t, err)
	lost = written(t, w1, lost) // the same note again, its answer having been lost
	barren(t, w2, lost, checkpoint.Barren{Grants: 1, Attempt: attempt})

	held := granted(t, w2, lost, "w2")
	found := checkpoint.Barren{Grants: 2, Suspect: attempt, Deaths: 1}
	barren(t, w1, held, found)
	// Who lost the lease notes nothing and clears nothing.
	lost.Barren = checkpoint.Barren{Attempt: checkpoint.Attempt{Sink: "view@1", Aggregate: "b", Version: 1}}
	_, err = w1.Write(t.Context(), lost)
	fenced(t, err)
	barren(t, w1, held, found)

	held.Barren.Attempt = attempt
	held = written(t, w2, held)
	held = granted(t, w1, held, "w1")
	barren(t, w2, held, checkpoint.Barren{Grants: 3, Suspect: attempt, Deaths: 2})
	if held.Barren.Blamed() != attempt {
		t.Errorf("after two deaths nobody is to blame: %+v", held.Barren)
	}
	land := w1.Late() // a note that lands when another has come since
	late := held
	late.Barren.Attempt = attempt
	_, err = w1.Write(t.Context(), late)
	unanswered(t, err)
	held = written(t, w1, held)
	land()
	barren(t, w2, held, checkpoint.Barren{Grants: 3, Suspect: attempt, Deaths: 2})
}
