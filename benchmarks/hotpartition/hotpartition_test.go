package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/projection/ordersview"
)

func TestMain(m *testing.M) {
	// net/http keeps idle connections and their goroutines; nobody closes the
	// SDK's transports.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// here starts an engine in this process, as startEngine does in another.
func here(ctx context.Context, o options) (remote, error) {
	in, stop := io.Pipe()
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := serveEngine(ctx, in, out, o.backlogs())
		out.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	var ready served
	if err := json.NewDecoder(said).Decode(&ready); err != nil {
		return remote{}, err
	}
	return remote{url: ready.URL, end: func() error { return errors.Join(stop.Close(), <-ended) }}, nil
}

func tiny() options {
	return options{
		history:         history{Workload: []string{hot, uniform}, Events: 2500, Size: 300, Aggregates: 40},
		ProjectorEvents: 20, Latency: time.Millisecond, Runs: 2, Output: "json",
	}
}

func TestMeasure(t *testing.T) {
	o := tiny()
	o.Save = t.TempDir()
	o.Profile = filepath.Join(t.TempDir(), "cpu")
	var out strings.Builder
	if err := measure(t.Context(), o, here, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatal(err)
	}
	if want := "millrace.hotpartition/v1"; r.Schema != want {
		t.Errorf("schema %q, want %q", r.Schema, want)
	}
	if want := 2 * 5; len(r.Runs) != want {
		t.Errorf("%d runs, want %d", len(r.Runs), want)
	}
	for _, x := range r.Runs {
		if x.EventsPerSecond <= 0 {
			t.Errorf("%s on %s: %v events a second", x.Baseline, x.Workload, x.EventsPerSecond)
		}
		if x.Baseline == projector && (x.Events != 20 || *x.WritesPerEvent != 1) {
			t.Errorf("the projector took %d events with %v writes each, want 20 and 1", x.Events, *x.WritesPerEvent)
		}
		if x.Baseline == product && (x.Events != 2500 || *x.WritesPerEvent >= 1) {
			t.Errorf("the product took %d events with %v writes each, want 2500 and less than 1", x.Events, *x.WritesPerEvent)
		}
		if x.ForeignCores != nil {
			t.Errorf("a load without an engine's process to tell it from: %v", *x.ForeignCores)
		}
	}
	for _, name := range []string{"hotBacklogVsProjector", "hotBacklogShareOfDrain", "uniformVsProjector"} {
		if r.Ratios[name] <= 0 {
			t.Errorf("ratio %s is %v", name, r.Ratios[name])
		}
	}
	for _, kept := range []string{"*.json", "*.md"} {
		found, err := filepath.Glob(filepath.Join(o.Save, kept))
		if err != nil || len(found) != 1 {
			t.Errorf("%s: kept %v, %v", kept, found, err)
		}
	}
	if info, err := os.Stat(o.Profile); err != nil || info.Size() == 0 {
		t.Errorf("profile: %v, %v", info, err)
	}
}

// TestJudge spoils what a right run left behind, in every way that a wrong run
// could: a benchmark that takes it has measured nothing.
func TestJudge(t *testing.T) {
	o := tiny()
	o.Workload, o.Events = []string{uniform}, 300
	engine, err := here(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.end(); err != nil {
			t.Error(err)
		}
	}()
	view, err := ordersview.Projection()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{remote: engine, backlog: o.backlogs()[0], view: view, name: "judged", meter: &meter{}}
	plain, err := w.sink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.contend(t.Context(), product, o.Events); err != nil {
		t.Fatal(err)
	}
	if err := w.judge(t.Context(), plain, o.Events); err != nil {
		t.Fatalf("a right result: %v", err)
	}
	if err := w.judge(t.Context(), plain, o.Events-1); err == nil {
		t.Error("one event too many passed")
	}

	config, err := engine.config(t.Context(), "spoiler")
	if err != nil {
		t.Fatal(err)
	}
	client := dynamodb.NewFromConfig(config)
	put := func(item event.Item) {
		t.Helper()
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &w.name, Item: awsvalue.ToItem(item)}); err != nil {
			t.Fatal(err)
		}
	}
	var aggregate string
	for first := range w.backlog.all() {
		aggregate = first.aggregate
		break
	}
	right, err := plain.Item(t.Context(), aggregate)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		spoil func(event.Item)
		want  string
	}{
		{"out of order", func(i event.Item) { i[ordersview.Digest] = event.String("0123456789abcdef") }, "digest"},
		{"an amount twice", func(i event.Item) { i[ordersview.Total] = event.Number("1") }, "total"},
		{"too early", func(i event.Item) { i["lastProcessedVersion"] = event.Number("1") }, "stands at version 1"},
		{"another aggregate", func(i event.Item) { i["pk"] = event.String("order-99999999") }, "should not be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			spoilt := right.Item.Clone()
			test.spoil(spoilt)
			put(spoilt)
			err := w.judge(t.Context(), plain, o.Events)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("judged %v, want a word about %q", err, test.want)
			}
			put(right.Item)
			key := awsvalue.ToItem(event.Item{"pk": event.String("order-99999999")})
			if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &w.name, Key: key}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &w.name, Key: awsvalue.ToItem(plain.Key(aggregate))}); err != nil {
		t.Fatal(err)
	}
	if err := w.judge(t.Context(), plain, o.Events); err == nil || !strings.Contains(err.Error(), "1 aggregates are missing") {
		t.Errorf("a missing aggregate: %v", err)
	}
}

// TestHistory: both processes make the same history of the same fields, each
// event in the size that was asked for.
func TestHistory(t *testing.T) {
	b := backlog{Workload: uniform, Events: 1000, Size: 300, Aggregates: 7}
	versions := map[string]uint64{}
	for w := range b.all() {
		versions[w.aggregate]++
		if w.version != versions[w.aggregate] {
			t.Fatalf("%s has version %d after %d", w.aggregate, w.version, versions[w.aggregate]-1)
		}
		if got := size(w.event); got != b.Size {
			t.Fatalf("event %d of %s takes %d bytes, want %d", w.version, w.aggregate, got, b.Size)
		}
	}
	if len(versions) != b.Aggregates {
		t.Errorf("%d aggregates, want %d", len(versions), b.Aggregates)
	}
	var total uint64
	for _, n := range versions {
		total += n
	}
	if total != uint64(b.Events) {
		t.Errorf("%d events, want %d", total, b.Events)
	}
}

func TestRatiosAreOfOneRound(t *testing.T) {
	of := func(round int, who contender, speed float64) result {
		return result{Round: round, Workload: hot, Baseline: who, EventsPerSecond: speed}
	}
	// The machine was ten times slower in the second round, and both felt it.
	got := ratios([]result{
		of(1, product, 1000), of(1, projector, 10),
		of(2, product, 100), of(2, projector, 1),
		of(3, product, 900), of(3, projector, 10),
		of(3, drain, 1800),
	})
	want := map[string]float64{"hotBacklogVsProjector": 100, "hotBacklogShareOfDrain": 0.5}
	if len(got) != len(want) {
		t.Errorf("ratios %v, want %v and nothing that was not measured", got, want)
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
}
