package eventstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
)

// shaped is a store of a layout on an engine.
func shaped(t *testing.T, e *localaws.Engine, layout *event.Layout, seed uint64) *Store {
	t.Helper()
	s, err := New(Options{
		Client: dynamodb.NewFromConfig(e.Config(fmt.Sprint("writer", seed))), Table: "events", Layout: layout, Jitter: jitter.Source{Seed: seed},
		Budget: Budget{Tries: 8, Base: time.Millisecond, Cap: 5 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func started(n int) []NewEvent {
	events := make([]NewEvent, n)
	for i := range events {
		events[i] = NewEvent{Type: "Started", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Schema: 2}
	}
	return events
}

func headOf(e *localaws.Engine, aggregate string) event.Item {
	return e.Item("events", event.Item{"pk": event.String(aggregate), "sk": event.String("stream-head")})
}

// TestHeadMovesWithEachAppend, and no read takes it for an event.
func TestHeadMovesWithEachAppend(t *testing.T) {
	e := engine(t, localaws.Options{})
	s := shaped(t, e, event.Maintenance(), 1)
	if err := s.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	version := uint64(0)
	for _, n := range []int{1, 3, 99} {
		next, err := s.Append(t.Context(), "a", version, started(n)...)
		if err != nil {
			t.Fatal(err)
		}
		version = next
		want := event.Item{"pk": event.String("a"), "sk": event.String("stream-head"), "kind": event.String("head"), "version": event.Number(fmt.Sprint(version))}
		if got := headOf(e, "a"); !got.Equal(want) {
			t.Errorf("the head is %v, want %v", got, want)
		}
	}
	events, err := all(t.Context(), s, "a")
	if err != nil || len(events) != 103 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if schema, err := events[0].Schema(); schema != 2 || err != nil {
		t.Errorf("the schema version is %d, %v", schema, err)
	}
	if head, err := s.Head(t.Context(), "a"); head != 103 || err != nil {
		t.Errorf("the newest version is %d, %v", head, err)
	}
	var limit *LimitError
	if _, err := s.Append(t.Context(), "a", 103, started(100)...); !errors.As(err, &limit) || limit.Max != 99 {
		t.Errorf("100 events and a head: %v", err)
	}
}

// TestHeadGuardsWhatKeysCannot: a writer that skips versions, or that begins
// anew, is refused although the keys it wants are free.
func TestHeadGuardsWhatKeysCannot(t *testing.T) {
	e := engine(t, localaws.Options{})
	s := shaped(t, e, event.Maintenance(), 1)
	if err := s.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "a", 0, started(2)...); err != nil {
		t.Fatal(err)
	}
	for _, expected := range []uint64{0, 1, 3, 7} {
		var conflict *Conflict
		if _, err := s.Append(t.Context(), "a", expected, started(1)...); !errors.As(err, &conflict) {
			t.Errorf("after version %d: %v", expected, err)
		}
	}
	if n := len(e.Items("events")); n != 3 {
		t.Errorf("%d items stand, want two events and the head", n)
	}
}

// TestHeadAndLostAnswers: an append whose answer was lost is ours, whether or
// not the service remembers the request; one that had no effect is made.
func TestHeadAndLostAnswers(t *testing.T) {
	for _, action := range []localaws.Action{localaws.LoseAnswer, localaws.FailAfter, localaws.FailBefore, localaws.Throttle, localaws.Conflict} {
		for _, n := range []int{1, 4} {
			t.Run(fmt.Sprint(action, n), func(t *testing.T) {
				e := engine(t, localaws.Options{})
				s := shaped(t, e, event.Maintenance(), 1)
				if err := s.EnsureTable(t.Context()); err != nil {
					t.Fatal(err)
				}
				version := uint64(0)
				for range 3 {
					e.Inject(localaws.Fault{Do: action, Times: 1, Match: func(c localaws.Call) bool { return c.Operation == "TransactWriteItems" }})
					next, err := s.Append(t.Context(), "a", version, started(n)...)
					if err != nil || next != version+uint64(n) {
						t.Fatalf("after %d: %d, %v", version, next, err)
					}
					version = next
				}
				if got := headOf(e, "a")["version"]; got != event.Number(fmt.Sprint(version)) {
					t.Errorf("the head is at %v of %d", got, version)
				}
			})
		}
	}
}

// TestRacersWithHeads: one of those who read the same version wins.
func TestRacersWithHeads(t *testing.T) {
	e := engine(t, localaws.Options{})
	if err := shaped(t, e, event.Maintenance(), 99).EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for round := range uint64(5) {
		var won, lost int
		var mu sync.Mutex
		var racers sync.WaitGroup
		for i := range uint64(8) {
			s := shaped(t, e, event.Maintenance(), round*100+i+1)
			racers.Go(func() {
				_, err := s.Append(t.Context(), "a", round, started(1)...)
				var conflict *Conflict
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won++
				case errors.As(err, &conflict):
					lost++
				default:
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		racers.Wait()
		if won != 1 || lost != 7 {
			t.Errorf("round %d: %d won and %d lost", round, won, lost)
		}
	}
}

// TestBankSharesItsPartition: what else lies there is no event.
func TestBankSharesItsPartition(t *testing.T) {
	e := engine(t, localaws.Options{})
	s := shaped(t, e, event.Bank(), 1)
	if err := s.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "ACCOUNT#1", 0, NewEvent{Type: "Opened", Time: time.Now()}, NewEvent{Type: "Deposited", Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, sort := range []string{"SNAPSHOT", "VIEW", "EVENT"} {
		put(t, s, event.Item{"pk": event.String("ACCOUNT#1"), "sk": event.String(sort), "version": event.Number("9")})
	}
	events, err := all(t.Context(), s, "ACCOUNT#1")
	if err != nil || len(events) != 2 || events[1].Version != 2 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if head, err := s.Head(t.Context(), "ACCOUNT#1"); head != 2 || err != nil {
		t.Errorf("the newest version is %d, %v", head, err)
	}
	if _, err := s.Append(t.Context(), "ACCOUNT#1", 2, NewEvent{Type: "Deposited", Time: time.Now(), Schema: 2}); err == nil {
		t.Error("a schema version is taken that the layout cannot hold")
	}
}
