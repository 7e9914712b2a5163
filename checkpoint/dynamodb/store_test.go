package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"millrace/checkpoint"
	"millrace/checkpoint/checkpointtest"
	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/controlkey"
	"millrace/internal/localaws"
	"millrace/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const control = "millrace"

// worker is a store and the connection it works over.
type worker struct {
	*Store
	*faulty
}

// bench is an engine with a control table.
type bench struct {
	engine *localaws.Engine
	client *sdk.Client // the test's own
}

func newBench(t *testing.T) *bench {
	t.Helper()
	// A read that is not consistent sees nothing of what a test does.
	engine := localaws.New(localaws.Options{StaleReads: time.Hour})
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{engine: engine, client: sdk.NewFromConfig(engine.Config("test"))}
	if err := b.open("setup").EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) open(boot string) worker {
	config := b.engine.Config(boot)
	connection := &faulty{inner: config.HTTPClient}
	config.HTTPClient = connection
	return worker{New(Options{Client: sdk.NewFromConfig(config), Boot: boot}), connection}
}

// Mark adds an attribute of another build to a row.
func (b *bench) Mark(t *testing.T, key checkpoint.LeaseKey) {
	t.Helper()
	b.set(t, keyOf(key), "fromTheFuture", text("kept"))
}

// Marked reports whether a row still has it.
func (b *bench) Marked(t *testing.T, key checkpoint.LeaseKey) bool {
	t.Helper()
	out, err := b.client.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String(control), Key: primary(keyOf(key)), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := out.Item["fromTheFuture"].(*types.AttributeValueMemberS)
	return ok && got.Value == "kept"
}

// Spoil puts rows among a group's leases that no build can read.
func (b *bench) Spoil(t *testing.T, group, table string) int {
	t.Helper()
	spoilers := []func(item){
		func(r item) { r[controlkey.SK] = text("no shard") },
		func(r item) { r[controlkey.SK] = text("%41|s") }, // another spelling of A|s
		func(r item) { delete(r, controlkey.Schema) },
		func(r item) { r[controlkey.Schema] = number(2) },
		func(r item) { r[controlkey.Schema] = text("1") },
		func(r item) { r["state"] = text("asleep") },
		func(r item) { delete(r, "state") },
		func(r item) { delete(r, "token") },
		func(r item) { r["owner"] = number(1) },
		func(r item) { delete(r, "checkpoint") },
		func(r item) { r["checkpoint"] = &types.AttributeValueMemberM{Value: item{"kind": text("sideways")}} },
		func(r item) {
			r["checkpoint"] = &types.AttributeValueMemberM{Value: item{"kind": text("at-sequence"), "sequence": text("x")}}
		},
		func(r item) { r["checkpoint"] = &types.AttributeValueMemberM{Value: item{"kind": text("at-time")}} },
		func(r item) { r["position"] = text("2") }, // not what the checkpoint says
		func(r item) { r["sinks"] = text("a@1") },
		func(r item) { r["children"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{number(1)}} },
	}
	for i, spoil := range spoilers {
		row, err := newRow(checkpoint.Lease{
			Key:   checkpoint.LeaseKey{Group: group, Table: table, Label: "label", Shard: source.ShardID(fmt.Sprint("s", i))},
			State: checkpoint.Active, Token: "t", Heartbeat: "h", Checkpoint: source.Start{Kind: source.TrimHorizon},
		})
		if err != nil {
			t.Fatal(err)
		}
		spoil(row)
		b.put(t, row)
	}
	return len(spoilers)
}

func (b *bench) put(t *testing.T, row item) {
	t.Helper()
	if _, err := b.client.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String(control), Item: row}); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) set(t *testing.T, key controlkey.Key, name string, value types.AttributeValue) {
	t.Helper()
	_, err := b.client.UpdateItem(t.Context(), &sdk.UpdateItemInput{
		TableName: aws.String(control), Key: primary(key),
		UpdateExpression: aws.String("SET #n = :v"), ExpressionAttributeNames: map[string]string{"#n": name}, ExpressionAttributeValues: item{":v": value},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) remove(t *testing.T, key checkpoint.LeaseKey) {
	t.Helper()
	if _, err := b.client.DeleteItem(t.Context(), &sdk.DeleteItemInput{TableName: aws.String(control), Key: primary(keyOf(key))}); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	checkpointtest.Run(t, func(t *testing.T) checkpointtest.Harness {
		t.Helper()
		b := newBench(t)
		return checkpointtest.Harness{
			Open:   func(boot string) checkpointtest.Worker { return b.open(boot) },
			Delete: b.remove,
			Raw:    b,
		}
	})
}

// fresh is a row as discovery makes it.
func fresh(shard string) checkpoint.Lease {
	return checkpoint.Lease{
		Key:   checkpoint.LeaseKey{Group: "g", Table: "t", Label: "l", Shard: source.ShardID(shard)},
		State: checkpoint.Active, Checkpoint: source.Start{Kind: source.TrimHorizon},
	}
}

// TestListingGoesOverAllPages: a page of Query is at most 1 MB.
func TestListingGoesOverAllPages(t *testing.T) {
	b := newBench(t)
	w := b.open("w1")
	const rows = 30
	for n := range rows {
		l := fresh(fmt.Sprintf("s%02d", n))
		if err := w.Create(t.Context(), []checkpoint.Lease{l}); err != nil {
			t.Fatal(err)
		}
		b.set(t, keyOf(l.Key), "ballast", text(strings.Repeat("x", 100_000)))
	}
	before := calls(b.engine, "Query")
	leases, err := w.List(t.Context(), "g", "t")
	if err != nil {
		t.Fatal(err)
	}
	if len(leases) != rows {
		t.Errorf("listed %d of %d rows", len(leases), rows)
	}
	if pages := calls(b.engine, "Query") - before; pages < 3 {
		t.Errorf("read %d pages: the test has outgrown its ballast", pages)
	}

	// A page that fails makes no short listing.
	remove := b.engine.Inject(localaws.Fault{
		Match: func(c localaws.Call) bool { return c.Operation == "Query" }, Do: localaws.Throttle, After: 1,
	})
	defer remove()
	leases, err = w.List(t.Context(), "g", "t")
	if len(leases) != 0 || event.ClassOf(err) != event.Transient {
		t.Errorf("got %d rows and %v", len(leases), err)
	}
}

// TestARowOfANewerLayoutIsNotWritten: during a rolling deploy the newer build
// may have changed a row this build still thinks it holds.
func TestARowOfANewerLayoutIsNotWritten(t *testing.T) {
	b := newBench(t)
	w := b.open("w1")
	l := fresh("a")
	if err := w.Create(t.Context(), []checkpoint.Lease{l}); err != nil {
		t.Fatal(err)
	}
	leases, err := w.List(t.Context(), "g", "t")
	if err != nil {
		t.Fatal(err)
	}
	held, err := w.Grant(t.Context(), leases[0], "w1")
	if err != nil {
		t.Fatal(err)
	}
	b.set(t, keyOf(l.Key), controlkey.Schema, number(2))
	_, written := w.Write(t.Context(), held)
	_, granted := w.Grant(t.Context(), held, "w1")
	for _, err := range []error{written, granted, w.Ask(t.Context(), held, "w2")} {
		if !errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("got %v, want ErrFenced", err)
		}
	}
	pin := checkpoint.Pin{Group: "g", Table: "t", Label: "l", Start: source.Start{Kind: source.TrimHorizon}}
	row := primary(controlkey.Stream("g", "t", "l"))
	row[controlkey.Schema] = number(2)
	b.put(t, row)
	if got, err := w.Pin(t.Context(), pin); err == nil || !strings.Contains(err.Error(), "schema") {
		t.Errorf("pinned %+v, %v", got, err)
	}
}

// TestThePinLeavesTheRestOfItsRow: the stream's row holds more than the pin.
func TestThePinLeavesTheRestOfItsRow(t *testing.T) {
	b := newBench(t)
	row := primary(controlkey.Stream("g", "t", "l"))
	row[controlkey.Schema], row["drained"] = schema(), &types.AttributeValueMemberBOOL{Value: true}
	b.put(t, row)
	pin := checkpoint.Pin{Group: "g", Table: "t", Label: "l", Start: source.Start{Kind: source.TrimHorizon}}
	got, err := b.open("w1").Pin(t.Context(), pin)
	if err != nil || got.Start != pin.Start {
		t.Fatalf("pinned %+v, %v", got, err)
	}
	out, err := b.client.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String(control), Key: primary(controlkey.Stream("g", "t", "l")), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	if out.Item["drained"] == nil {
		t.Error("what another part wrote is gone")
	}
}

func TestFailedCallsKeepTheirClass(t *testing.T) {
	b := newBench(t)
	w := b.open("w1")
	l := fresh("a")
	if err := w.Create(t.Context(), []checkpoint.Lease{l}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		do         localaws.Action
		unanswered bool
	}{{localaws.Throttle, false}, {localaws.FailAfter, true}, {localaws.LoseAnswer, true}} {
		remove := b.engine.Inject(localaws.Fault{Do: test.do})
		_, list := w.List(t.Context(), "g", "t")
		_, grant := w.Grant(t.Context(), l, "w1")
		_, write := w.Write(t.Context(), l)
		_, pin := w.Pin(t.Context(), checkpoint.Pin{Group: "g", Table: "t", Label: "l", Start: source.Start{Kind: source.TrimHorizon}})
		for op, err := range map[string]error{
			"reading lease rows": list, "granting lease g/t/l/a": grant, "renewing lease g/t/l/a": write,
			"asking for lease g/t/l/a": w.Ask(t.Context(), l, "w1"), "pinning the start of g on t/l": pin,
			"making lease g/t/l/a": w.Create(t.Context(), []checkpoint.Lease{l}), "making sure of the control table": w.EnsureTable(t.Context()),
		} {
			if event.ClassOf(err) != event.Transient || awsclient.Unanswered(err) != test.unanswered || !strings.HasPrefix(err.Error(), op+": ") {
				t.Errorf("%s: got %v of class %v", op, err, event.ClassOf(err))
			}
		}
		remove()
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := w.List(ctx, "g", "t"); event.ClassOf(err) != event.Stopping {
		t.Errorf("our own stop came back as %v of class %v", err, event.ClassOf(err))
	}
}

func TestRowsThatCannotBeReadBackAreNotWritten(t *testing.T) {
	b := newBench(t)
	w := b.open("w1")
	for name, spoil := range map[string]func(*checkpoint.Lease){
		"no state":    func(l *checkpoint.Lease) { l.State = 0 },
		"no start":    func(l *checkpoint.Lease) { l.Checkpoint = source.Start{} },
		"no sequence": func(l *checkpoint.Lease) { l.Checkpoint = source.Start{Kind: source.AfterSequence} },
		"no number": func(l *checkpoint.Lease) {
			l.Checkpoint = source.Start{Kind: source.AtSequence, Sequence: "12x"}
		},
	} {
		l := fresh("a")
		spoil(&l)
		if err := w.Create(t.Context(), []checkpoint.Lease{l}); err == nil {
			t.Errorf("%s: made", name)
		}
		if _, err := w.Write(t.Context(), l); err == nil || errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("%s: wrote, %v", name, err)
		}
	}
	if listing, err := w.Listing(t.Context(), "g", "t"); err != nil || len(listing.Leases)+len(listing.Foreign) != 0 {
		t.Errorf("left behind %+v, %v", listing, err)
	}
}

func TestStoresDifferByThemselves(t *testing.T) {
	if a, b := New(Options{}), New(Options{}); a.marks == b.marks {
		t.Error("two stores of one seed draw the same tokens")
	}
}

func TestEnsureTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Every call takes a second, so that all workers find no table at first.
		engine := localaws.New(localaws.Options{Latency: func(localaws.Call) time.Duration { return time.Second }})
		defer func() {
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		}()
		b := &bench{engine: engine, client: sdk.NewFromConfig(engine.Config("test"))}
		const workers = 3
		errs := make(chan error, workers)
		for i := range workers {
			w := b.open(fmt.Sprint("w", i))
			go func() { errs <- w.EnsureTable(t.Context()) }()
		}
		for range workers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		made := engine.Counters().Total(localaws.CallCount{Operation: "CreateTable", Outcome: "ok"})
		if tried := calls(engine, "CreateTable"); made != 1 || tried != workers {
			t.Errorf("made the table %d times in %d tries", made, tried)
		}
		out, err := b.client.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String(control)})
		if err != nil {
			t.Fatal(err)
		}
		if s := out.Table.BillingModeSummary; s == nil || s.BillingMode != types.BillingModePayPerRequest {
			t.Errorf("billed as %+v", s)
		}
	})
}

func TestEnsureTableRefusesAnotherKey(t *testing.T) {
	b := newBench(t)
	_, err := b.client.CreateTable(t.Context(), &sdk.CreateTableInput{
		TableName: aws.String("other"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		t.Fatal(err)
	}
	other := New(Options{Client: b.client, Table: "other"})
	if err := other.EnsureTable(t.Context()); event.ClassOf(err) != event.Permanent || !strings.Contains(err.Error(), "pk (HASH, S)") {
		t.Errorf("a table with another key: %v", err)
	}
}

// calls counts the calls of an operation.
func calls(e *localaws.Engine, operation string) int {
	return e.Counters().Total(localaws.CallCount{Operation: operation})
}
