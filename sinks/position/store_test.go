package position_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	control "millrace/checkpoint/dynamodb"
	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/awsvalue"
	"millrace/internal/controlkey"
	"millrace/internal/localaws"
	"millrace/sinks"
	"millrace/sinks/position"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const table = "millrace"

// bench is an engine with a control table.
type bench struct {
	*testing.T
	*localaws.Engine
	store *position.Store
}

func newBench(t *testing.T) bench {
	t.Helper()
	// A read that forgets to be consistent sees nothing of what a test does.
	engine := localaws.New(localaws.Options{StaleReads: time.Hour})
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	client := dynamodb.NewFromConfig(engine.Config("worker"))
	if err := control.New(control.Options{Client: client}).EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := position.New(position.Options{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return bench{t, engine, store}
}

func identity() sinks.Identity {
	return sinks.Identity{Group: "orders", Source: "orders-events", Sink: "mail", Version: 1}
}

func at(version uint64) event.Position { return event.Position{Version: version} }

func rowKey(aggregate string) event.Item {
	k := controlkey.Position("orders", "orders-events", "mail", 1, aggregate)
	return event.Item{"pk": event.String(k.PK), "sk": event.String(k.SK)}
}

// row is what the table holds, read past all clients.
func (b bench) row(aggregate string) event.Item { return b.Item(table, rowKey(aggregate)) }

// put writes a row past the store, as another build or a hand might.
func (b bench) put(aggregate string, attributes event.Item) {
	b.Helper()
	row := rowKey(aggregate)
	for name, v := range attributes {
		row[name] = v
	}
	_, err := dynamodb.NewFromConfig(b.Config("operator")).PutItem(b.Context(),
		&dynamodb.PutItemInput{TableName: aws.String(table), Item: awsvalue.ToItem(row)})
	if err != nil {
		b.Fatal(err)
	}
}

// move demands where a move leads.
func (b bench) move(aggregate string, from, to, want uint64) {
	b.Helper()
	got, err := b.store.Move(b.Context(), identity(), aggregate, at(from), at(to))
	if err != nil || got != at(want) {
		b.Fatalf("moving %s from %d to %d: %v, %v, want %d", aggregate, from, to, got, err, want)
	}
}

// stands demands a position.
func (b bench) stands(aggregate string, want uint64) {
	b.Helper()
	got, err := b.store.Positions(b.Context(), identity(), []string{aggregate})
	if err != nil || len(got) != 1 || got[0] != at(want) {
		b.Fatalf("%s stands at %v, %v, want %d", aggregate, got, err, want)
	}
}

func isUpdate(c localaws.Call) bool { return c.Operation == "UpdateItem" }
func isBatch(c localaws.Call) bool  { return c.Operation == "BatchGetItem" }

// TestAMoveHoldsOnlyFromWhereTheRowStands, and tells where that is.
func TestAMoveHoldsOnlyFromWhereTheRowStands(t *testing.T) {
	b := newBench(t)
	b.move("a", 3, 5, 0) // nothing there
	b.stands("a", 0)
	b.move("a", 0, 4, 4)
	b.move("a", 0, 2, 4) // somebody is further
	b.move("a", 0, 6, 4) // somebody came in between
	b.move("a", 2, 3, 4)
	b.move("a", 6, 9, 4) // the row lies behind
	b.stands("a", 4)
	b.move("a", 4, 9, 9)
	b.stands("a", 9)
	want := rowKey("a")
	want["schema"], want["position"] = event.Number("1"), event.Number("9")
	if got := b.row("a"); !got.Equal(want) {
		t.Errorf("the row is %v, want %v", got, want)
	}
}

func TestAPositionNeverFalls(t *testing.T) {
	b := newBench(t)
	b.move("a", 0, 4, 4)
	for _, to := range []uint64{0, 3, 4} {
		if got, err := b.store.Move(t.Context(), identity(), "a", at(4), at(to)); event.ClassOf(err) != event.Permanent {
			t.Errorf("moving from 4 to %d: %v, %v, want a permanent error", to, got, err)
		}
	}
	b.stands("a", 4)
}

// TestALostAnswerIsRecognised: the move made again finds itself done.
func TestALostAnswerIsRecognised(t *testing.T) {
	for name, tc := range map[string]struct {
		action localaws.Action
		stood  uint64
	}{
		"no answer":             {localaws.LoseAnswer, 5},
		"an error after it":     {localaws.FailAfter, 5},
		"an error that was all": {localaws.FailBefore, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.move("a", 0, 2, 2)
			b.Inject(localaws.Fault{Match: isUpdate, Do: tc.action, Times: 1})
			_, err := b.store.Move(t.Context(), identity(), "a", at(2), at(5))
			if !awsclient.Unanswered(err) || event.ClassOf(err) != event.Transient {
				t.Errorf("%v, want a lost answer of class transient", err)
			}
			b.stands("a", tc.stood)
			b.move("a", 2, 5, 5)
		})
	}
}

// TestAMoveThatLandsLateChangesNothing that was done since.
func TestAMoveThatLandsLateChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.Inject(localaws.Fault{Match: isUpdate, Do: localaws.LandLate, Delay: time.Minute, Times: 1})
		if _, err := b.store.Move(t.Context(), identity(), "a", at(0), at(3)); !awsclient.Unanswered(err) {
			t.Errorf("%v, want a lost answer", err)
		}
		b.move("a", 0, 2, 2)
		time.Sleep(2 * time.Minute)
		b.stands("a", 2)
	})
}

func TestAThrottledMoveIsNoLostAnswer(t *testing.T) {
	b := newBench(t)
	b.Inject(localaws.Fault{Match: isUpdate, Do: localaws.Throttle, Times: 1})
	_, err := b.store.Move(t.Context(), identity(), "a", at(0), at(3))
	if awsclient.Unanswered(err) || event.ClassOf(err) != event.Transient {
		t.Errorf("%v, want a refusal of class transient", err)
	}
	b.stands("a", 0)
}

func TestOurOwnStopIsNoFailure(t *testing.T) {
	b := newBench(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.store.Move(gone, identity(), "a", at(0), at(1)); event.ClassOf(err) != event.Stopping {
		t.Errorf("moving: %v, want class stopping", err)
	}
	if _, err := b.store.Positions(gone, identity(), []string{"a"}); event.ClassOf(err) != event.Stopping {
		t.Errorf("reading: %v, want class stopping", err)
	}
}

// TestPositionsStandInTheOrderOfTheQuestion, over several batches, with one
// asked for twice and answers that leave rows out.
func TestPositionsStandInTheOrderOfTheQuestion(t *testing.T) {
	b := newBench(t)
	var asked []string
	var want []event.Position
	for n := range uint64(250) {
		aggregate := fmt.Sprintf("a%03d", (n*37)%250)
		if n%3 > 0 {
			b.move(aggregate, 0, n+1, n+1)
		}
		asked, want = append(asked, aggregate), append(want, at((n+1)*min(n%3, 1)))
	}
	asked, want = append(asked, asked[1]), append(want, want[1])
	b.Inject(localaws.Fault{Match: isBatch, Do: localaws.Partial, Times: 1})
	got, err := b.store.Positions(t.Context(), identity(), asked)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	batch := localaws.CallCount{Service: localaws.DynamoDB, Operation: "BatchGetItem"}
	if calls := b.Counters().Total(batch); calls != 4 {
		t.Errorf("%d calls for 250 rows of which a part was left out once, want 4", calls)
	}
	if got, err := b.store.Positions(t.Context(), identity(), nil); err != nil || len(got) != 0 {
		t.Errorf("asked for nothing: %v, %v", got, err)
	}
}

// TestALongIDSpoilsNoBatch: its key would be longer than DynamoDB allows.
func TestALongIDSpoilsNoBatch(t *testing.T) {
	b := newBench(t)
	long, longer := strings.Repeat("x", 2047)+"a", strings.Repeat("x", 2047)+"b"
	b.move("a", 0, 1, 1)
	b.move(long, 0, 2, 2)
	got, err := b.store.Positions(t.Context(), identity(), []string{long, "a", longer})
	if want := []event.Position{at(2), at(1), at(0)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestH3_IdentitiesShareNoPosition: group, source, sink and version are all
// part of a position's identity.
func TestH3_IdentitiesShareNoPosition(t *testing.T) {
	b := newBench(t)
	b.move("42", 0, 5, 5)
	for name, change := range map[string]func(*sinks.Identity){
		"group":   func(i *sinks.Identity) { i.Group = "reports" },
		"source":  func(i *sinks.Identity) { i.Source = "bank-events" },
		"sink":    func(i *sinks.Identity) { i.Sink = "sms" },
		"version": func(i *sinks.Identity) { i.Version = 2 },
		"a bar":   func(i *sinks.Identity) { i.Group, i.Source = "orders|orders-events", "" },
	} {
		id := identity()
		change(&id)
		if got, err := b.store.Positions(t.Context(), id, []string{"42"}); err != nil || got[0] != at(0) {
			t.Errorf("another %s reads %v, %v, want nothing", name, got, err)
		}
		if got, err := b.store.Move(t.Context(), id, "42", at(0), at(2)); err != nil || got != at(2) {
			t.Errorf("another %s moves to %v, %v, want 2", name, got, err)
		}
	}
	b.stands("42", 5)
}

// TestWhatElseStandsInARowStays: a row may hold more than this build knows.
func TestWhatElseStandsInARowStays(t *testing.T) {
	b := newBench(t)
	b.put("a", event.Item{"schema": event.Number("1"), "fromTheFuture": event.String("kept")})
	b.stands("a", 0)
	b.move("a", 0, 1, 1)
	b.move("a", 1, 3, 3)
	if got := b.row("a")["fromTheFuture"]; got != event.String("kept") {
		t.Errorf("the attribute is %v", got)
	}
}

// TestARowThatCannotBeReadIsNoEmptyRow: taken for one it would send a whole
// history again.
func TestARowThatCannotBeReadIsNoEmptyRow(t *testing.T) {
	b := newBench(t)
	for name, row := range map[string]event.Item{
		"no schema":      {"position": event.Number("3")},
		"another schema": {"schema": event.Number("2"), "position": event.Number("3")},
		"schema alone":   {"schema": event.Number("2")},
		"text":           {"schema": event.Number("1"), "position": event.String("3")},
		"zero":           {"schema": event.Number("1"), "position": event.Number("0")},
		"negative":       {"schema": event.Number("1"), "position": event.Number("-1")},
		"a fraction":     {"schema": event.Number("1"), "position": event.Number("1.5")},
	} {
		t.Run(name, func(t *testing.T) {
			b.put(name, row)
			if got, err := b.store.Positions(t.Context(), identity(), []string{name}); event.ClassOf(err) != event.Permanent {
				t.Errorf("reading: %v, %v, want a permanent error", got, err)
			}
			if got, err := b.store.Move(t.Context(), identity(), name, at(0), at(1)); event.ClassOf(err) != event.Permanent {
				t.Errorf("moving: %v, %v, want a permanent error", got, err)
			}
		})
	}
}

// TestABatchThatBringsNothingIsLeftToTheCaller, who knows how long to wait.
func TestABatchThatBringsNothingIsLeftToTheCaller(t *testing.T) {
	b := newBench(t)
	b.move("a", 0, 1, 1)
	for _, action := range []localaws.Action{localaws.Partial, localaws.Throttle} {
		b.Inject(localaws.Fault{Match: isBatch, Do: action, Times: 1})
		if got, err := b.store.Positions(t.Context(), identity(), []string{"a"}); event.ClassOf(err) != event.Transient {
			t.Errorf("%v, %v, want a transient error", got, err)
		}
	}
	b.stands("a", 1)
}

func TestWhatNewRefuses(t *testing.T) {
	if _, err := position.New(position.Options{}); err == nil || !strings.Contains(err.Error(), "no client") {
		t.Errorf("got %v, want an error about the client", err)
	}
}
