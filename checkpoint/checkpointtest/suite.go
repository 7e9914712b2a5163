package checkpointtest

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/source"
)

// Worker is one worker's store, with the faults that its calls can meet.
type Worker interface {
	checkpoint.LeaseStore
	checkpoint.Lister
	checkpoint.PinStore
	// Lose makes the next write take effect without an answer.
	Lose()
	// Late makes the next write stay without an answer, and without an effect
	// until land is called.
	Late() (land func())
}

// Harness is what the suite needs of a store under test. Each belongs to one
// test and has a table of its own, empty at first.
type Harness struct {
	// Open returns a store on the table for one worker: another process, under
	// another boot name each time.
	Open func(boot string) Worker
	// Delete removes a row, as an operator or a restored backup would.
	Delete func(t *testing.T, key checkpoint.LeaseKey)
	// Raw reaches into the rows; nil where rows hold nothing but leases.
	Raw Raw
}

// Raw reaches into a store's rows past its code.
type Raw interface {
	// Mark adds an attribute that no build knows; Marked reports whether the
	// row still has it.
	Mark(t *testing.T, key checkpoint.LeaseKey)
	Marked(t *testing.T, key checkpoint.LeaseKey) bool
	// Spoil puts rows that no build can read among a group's leases, and
	// returns how many.
	Spoil(t *testing.T, group, table string) int
}

// subject is what one test of the suite works on.
type subject struct {
	t *testing.T
	Harness
}

// Run tests a store. open is called once a test.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(subject)
	}{
		{"Fault24_GroupsDoNotMeet", groupsDoNotMeet},
		{"StrangeNamesComeBack", strangeNamesComeBack},
		{"CreateIsIdempotentAndPartial", createIsIdempotentAndPartial},
		{"ChildrenAreRowsBeforeTheParentIsFinished", childrenBeforeFinish},
		{"Fault05_FinishedStaysFinished", finishedStaysFinished},
		{"GrantRaceHasOneWinner", grantRaceHasOneWinner},
		{"H26a_GrantOnAnOldHeartbeatIsRefused", grantOnAnOldHeartbeat},
		{"H26e_ARowMadeAgainRepeatsNoToken", rowMadeAgain},
		{"C6_AFencedWorkerChangesNothing", fencedWorkerChangesNothing},
		{"Fault15_TheCheckpointNeverGoesBack", checkpointNeverGoesBack},
		{"Fault18_AnOwnOrphanIsTakenAgain", orphanIsTakenAgain},
		{"Fault19_ReleaseFreesAtOnce", releaseFreesAtOnce},
		{"HandOverRequests", handOverRequests},
		{"H4_SinksAreKeptInTheRow", sinksAreKept},
		{"H18_GrantsWithoutProgressAreCounted", barrenGrants},
		{"H18_AttemptsAreNoted", attemptsAreNoted},
		{"LostGrantIsRecognised", lostGrant},
		{"LostRenewalIsRecognised", lostRenewal},
		{"LostReleaseIsRecognised", lostRelease},
		{"H26c_LateRenewalChangesNothing", lateRenewal},
		{"H26c_LateGrantChangesNothing", lateGrant},
		{"H10_ThePinIsWrittenOnce", pinIsWrittenOnce},
		{"UnknownAttributesAreKept", unknownAttributesAreKept},
		{"ForeignRowsAreShownAndLeftAlone", foreignRows},
		{"AnyHistoryKeepsTheRules", anyHistory},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(subject{t, open(t)}) })
	}
}

const (
	group = "orders"
	table = "orders-events"
	label = "2026-01-02T03:04:05.678"
)

func key(shard string) checkpoint.LeaseKey {
	return checkpoint.LeaseKey{Group: group, Table: table, Label: label, Shard: source.ShardID(shard)}
}

// fresh is a row as discovery makes it.
func fresh(k checkpoint.LeaseKey) checkpoint.Lease {
	return checkpoint.Lease{Key: k, State: checkpoint.Active, Checkpoint: source.Start{Kind: source.TrimHorizon}, Sinks: []string{"view@1"}}
}

func after(n int) source.Start {
	return source.Start{Kind: source.AfterSequence, Sequence: event.SequenceNumber(strconv.Itoa(n))}
}

// made creates one row and returns it as listed.
func made(t *testing.T, w Worker, l checkpoint.Lease) checkpoint.Lease {
	t.Helper()
	if err := w.Create(t.Context(), []checkpoint.Lease{l}); err != nil {
		t.Fatal(err)
	}
	return row(t, w, l.Key)
}

// taken creates one row and grants it.
func taken(t *testing.T, w Worker, k checkpoint.LeaseKey, owner string) checkpoint.Lease {
	t.Helper()
	return granted(t, w, made(t, w, fresh(k)), owner)
}

func granted(t *testing.T, w Worker, seen checkpoint.Lease, owner string) checkpoint.Lease {
	t.Helper()
	held, err := w.Grant(t.Context(), seen, owner)
	if err != nil {
		t.Fatal(err)
	}
	if held.Owner != owner || held.Token == "" || held.Token == seen.Token || held.Heartbeat == seen.Heartbeat || held.State != checkpoint.Active {
		t.Fatalf("granted %+v to %s from %+v", held, owner, seen)
	}
	return held
}

func written(t *testing.T, w Worker, held checkpoint.Lease) checkpoint.Lease {
	t.Helper()
	next, err := w.Write(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	if next.Heartbeat == held.Heartbeat {
		t.Fatalf("the heartbeat stands still at %q", next.Heartbeat)
	}
	want := held
	want.Heartbeat = next.Heartbeat
	if !next.Same(want) {
		t.Fatalf("wrote %+v, the row is %+v", want, next)
	}
	return next
}

// row reads one row back.
func row(t *testing.T, w Worker, k checkpoint.LeaseKey) checkpoint.Lease {
	t.Helper()
	leases, err := w.List(t.Context(), k.Group, k.Table)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(leases, func(l checkpoint.Lease) bool { return l.Key == k })
	if i < 0 {
		t.Fatalf("no row %v in %+v", k, leases)
	}
	return leases[i]
}

// stands checks that a row is exactly as it was.
func stands(t *testing.T, w Worker, want checkpoint.Lease) {
	t.Helper()
	got := row(t, w, want.Key)
	if !got.Same(want) || got.Asked != want.Asked || !slices.Equal(got.Parents, want.Parents) {
		t.Errorf("the row is\n%+v, want\n%+v", got, want)
	}
}

// fenced checks that a write was refused as fenced and counts as such.
func fenced(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, checkpoint.ErrFenced) || event.ClassOf(err) != event.Fenced {
		t.Errorf("got %v of class %v, want ErrFenced", err, event.ClassOf(err))
	}
}

// unanswered checks that a lost answer is told as such, not as a refusal.
func unanswered(t *testing.T, err error) {
	t.Helper()
	if err == nil || errors.Is(err, checkpoint.ErrFenced) || event.ClassOf(err) != event.Transient {
		t.Errorf("a lost answer came back as %v", err)
	}
}

// backwards checks that a write was refused as one that goes back.
func backwards(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, checkpoint.ErrBackwards) {
		t.Errorf("got %v, want ErrBackwards", err)
	}
}

// moment has parts of a millisecond, which rows do not keep.
var moment = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
