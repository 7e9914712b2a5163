package pipeline_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/projection"
	"millrace/sinks"
	"millrace/sinks/readmodel"
	adapter "millrace/source/dynamodbstreams"
)

// counting is a read model that counts each aggregate's events.
func (w *world) counting(id sinks.Identity) *readmodel.Sink {
	w.t.Helper()
	fold, err := projection.New(projection.Fold[int]{
		Apply:  func(n int, _ event.Event) (int, error) { return n + 1, nil },
		Encode: func(n int) (event.Item, error) { return event.Item{"events": event.Number(strconv.Itoa(n))}, nil },
		Decode: func(item event.Item) (int, error) {
			n, ok := item["events"].(event.Number)
			if !ok {
				return 0, nil
			}
			return strconv.Atoi(string(n))
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	model, err := readmodel.New(readmodel.Options{
		Client: dynamodb.NewFromConfig(w.engine.Config("model")), Table: viewTable,
		Key: []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}}, Identity: id, Projection: fold,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := model.EnsureTable(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return model
}

// standsAt reports whether every aggregate's item is at its head.
func (w *world) standsAt(model *readmodel.Sink) bool {
	w.t.Helper()
	for aggregate, head := range w.heads {
		if stored, err := model.Item(w.t.Context(), aggregate); err != nil || stored.Err != nil || stored.Position.Version != head {
			return false
		}
	}
	return true
}

// TestH3_SomebodyElsesReadModel: a worker whose group, or whose sink's name,
// is not that of the items in its target blocks nobody, writes over nothing,
// pauses its sink and says in a few lines who owns them. The right one goes on.
func TestH3_SomebodyElsesReadModel(t *testing.T) {
	for name, change := range map[string]func(*pipeline.Options, *sinks.Identity){
		"another group": func(o *pipeline.Options, id *sinks.Identity) { o.Group, id.Group = "typo", "typo" },
		"another sink": func(o *pipeline.Options, id *sinks.Identity) {
			o.Group, id.Group, id.Sink = "other", "other", "summary"
		},
	} {
		for _, aggregates := range []int{3, 40} { // too few to pause the sink, and enough
			t.Run(fmt.Sprint(name, ", ", aggregates), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, localaws.Options{Shards: 2})
					log, markers := w.journal(), newMarkerTable()
					right := w.counting(identity("view"))
					for i := range aggregates {
						w.append(fmt.Sprintf("a%02d", i), 2)
					}
					first := w.start("one", withMarkers(markers), func(o *pipeline.Options) { o.Sinks[0].Sink = right })
					eventually(t, 20*time.Second, "it is applied", func() bool { return w.standsAt(right) })
					first.end()
					w.append("a00", 1)
					second := w.start("two", withMarkers(markers), func(o *pipeline.Options) {
						id := identity("view")
						change(o, &id)
						o.Sinks[0].Sink = w.counting(id)
					})
					<-time.After(11 * time.Minute)
					if n := markers.count(failure.BlockName); n != 0 {
						t.Errorf("%d aggregates were blocked", n)
					}
					if s := second.Stats(); (len(s.PausedSinks) == 1) != (aggregates >= 20) || s.Applied != 0 {
						t.Errorf("after %d aggregates the stats are %+v", aggregates, s)
					}
					for _, trouble := range second.Troubles() {
						if trouble.Class != event.Foreign {
							t.Errorf("a trouble is %+v", trouble)
						}
					}
					if n := log.lines("a sink cannot use its target"); n < 2 || n > 4 {
						t.Errorf("%d lines in eleven minutes, want a few", n)
					}
					if n := log.lines("its aggregate waits"); n != 0 {
						t.Errorf("%d lines for single aggregates", n)
					}
					if log.lines("g|"+eventsTable+"|view@1") < log.lines("a sink cannot use its target") {
						t.Error("the lines do not name the owner")
					}
					second.end()
					third := w.start("three", withMarkers(markers), func(o *pipeline.Options) { o.Sinks[0].Sink = right })
					eventually(t, 20*time.Second, "the right one goes on", func() bool { return w.standsAt(right) })
					third.end()
				})
			})
		}
	}
}

// TestH3_ItemLeftOver: what a wrong worker has made holds up the right one's
// aggregate alone, and comes back from the events when it is deleted, as the log
// says.
func TestH3_ItemLeftOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		log, markers := w.journal(), newMarkerTable()
		wrongly := identity("view")
		wrongly.Group = "typo"
		made := w.counting(wrongly)
		w.append("left", 2)
		first := w.start("one", withMarkers(markers), func(o *pipeline.Options) { o.Group, o.Sinks[0].Sink = "typo", made })
		eventually(t, 20*time.Second, "the wrong one has made an item", func() bool { return w.standsAt(made) })
		first.end()
		right := w.counting(identity("view"))
		second := w.start("two", withMarkers(markers), func(o *pipeline.Options) { o.Sinks[0].Sink = right })
		w.append("other", 3)
		eventually(t, 20*time.Second, "others go on", func() bool {
			stored, err := right.Item(t.Context(), "other")
			return err == nil && stored.Position.Version == 3
		})
		eventually(t, 20*time.Second, "the log says what to do", func() bool { return log.lines("can be deleted, and is made again from its events") > 0 })
		<-time.After(2 * time.Minute)
		if n := markers.count(failure.BlockName); n != 0 || len(second.Troubles()) != 1 {
			t.Errorf("%d are blocked, the troubles are %v", n, second.Troubles())
		}
		_, err := dynamodb.NewFromConfig(w.engine.Config("operator")).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(viewTable), Key: awsvalue.ToItem(right.Key("left")),
		})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, 90*time.Second, "it is made again", func() bool { return w.standsAt(right) })
		second.end()
	})
}

// TestTableGone: a table that is deleted under a worker is named, with what to
// do, in a line now and then and not one for each call; nobody is blocked.
func TestTableGone(t *testing.T) {
	for table, what := range map[string]string{
		controlTable: `the control table \"` + controlTable + `\" is gone`,
		viewTable:    `the read model's table \"` + viewTable + `\" is gone`,
		eventsTable:  `the event table \"` + eventsTable + `\" is gone`,
	} {
		t.Run(table, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 2})
				log, markers := w.journal(), newMarkerTable()
				model := w.counting(identity("view"))
				r := w.start("one", withMarkers(markers), func(o *pipeline.Options) {
					o.Sinks[0].Sink = model
					tables, err := adapter.New(adapter.Options{Streams: dynamodbstreams.NewFromConfig(w.engine.Config("tables")), Tables: dynamodb.NewFromConfig(w.engine.Config("tables"))})
					if err != nil {
						t.Fatal(err)
					}
					o.Succeeded = func(ctx context.Context) (bool, error) {
						_, err := tables.Find(ctx, eventsTable)
						return false, err
					}
				})
				for i := range 30 {
					w.append(fmt.Sprintf("a%02d", i), 1)
				}
				eventually(t, 20*time.Second, "it works", func() bool { return w.standsAt(model) })
				if table == viewTable {
					for i := range 30 {
						w.append(fmt.Sprintf("a%02d", i), 1)
					}
				}
				operator := dynamodb.NewFromConfig(w.engine.Config("operator"))
				if _, err := operator.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
					t.Fatal(err)
				}
				<-time.After(16 * time.Minute)
				if n := log.lines(what); n < 3 || n > 4 {
					t.Errorf("%d lines name it, want 3 or 4", n)
				}
				if n := log.lines(`"level":"error"`); n > 8 {
					t.Errorf("%d lines are errors", n)
				}
				if n := markers.count(failure.BlockName); n != 0 {
					t.Errorf("%d aggregates were blocked", n)
				}
				if table != controlTable {
					return // the cleanup ends the worker, which cannot drain
				}
				if err := w.controlStore("setup", "again").EnsureTable(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.append("a00", 1)
				eventually(t, 2*time.Minute, "it works again", func() bool { return w.standsAt(model) })
				r.end()
			})
		})
	}
}
