package pipeline_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/failure/redrive"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
	"millrace/pipeline"
)

// TestCase02_RedriverStallsBeforeItsWrite: it stops right before a conditional
// write, for so long that another job takes over its claim and releases the
// aggregate, or the worker's sweep ends a marker that only lacks its release,
// and live traffic goes by. What it does when it wakes changes
// nothing.
func TestCase02_RedriverStallsBeforeItsWrite(t *testing.T) {
	for _, tc := range []struct {
		name   string
		match  func(localaws.Call) bool
		healed bool            // by the sweep, before another job comes
		woken  redrive.Outcome // of the job that stalled
	}{
		{"the effect", func(c localaws.Call) bool { return c.Table == viewTable }, false, redrive.Left},
		{"the release", func(c localaws.Call) bool { return c.Table == controlTable && c.N > 1 }, true, redrive.Left},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStory(t, "", moment{})
				s.blocked(3)
				s.fixed.Store(true)
				defer s.engine.Inject(localaws.Fault{
					Match: func(c localaws.Call) bool { return c.App == "stalled" && c.Operation == "UpdateItem" && tc.match(c) },
					Do:    localaws.Slow, Delay: 5 * time.Minute, Times: 1,
				})()
				stalled := make(chan redrive.Result, 1)
				marker := s.standing()["poison"]
				go func() {
					result, _ := s.redrive("stalled", "stalled").Redrive(t.Context(), marker)
					stalled <- result
				}()
				<-time.After(time.Minute)
				if _, stands := s.standing()["poison"]; stands == tc.healed {
					t.Fatalf("the marker stands: %v", stands)
				}
				if !tc.healed {
					if got := s.ended("next"); got.Outcome != redrive.Released {
						t.Fatalf("the next job ended %+v", got)
					}
				}
				s.append("poison", 4)
				s.until("live traffic goes on", func() bool { return s.versions("poison") == counted(9) })
				if got := <-stalled; got.Outcome != tc.woken || got.Err != nil {
					t.Errorf("the stalled job ended %+v", got)
				}
				s.append("poison", 1)
				s.until("live traffic goes on after that", func() bool { return s.versions("poison") == counted(10) && s.noLetters() })
				s.close()
				s.check()
			})
		})
	}
}

// appendMany puts one version of every so many of n aggregates into the event
// table, as an importer does.
func (w *world) appendMany(version uint64, n, every int) {
	w.t.Helper()
	client := dynamodb.NewFromConfig(w.engine.Config("writer"))
	var batch []types.WriteRequest
	for i := 0; i < n; i += every {
		name := fmt.Sprintf("p%05d", i)
		w.heads[name] = version
		batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: awsvalue.ToItem(event.Item{
			"pk": event.String(name), "sk": event.Orders().VersionKey(version), "type": event.String("Happened"),
		})}})
		if len(batch) < 25 && i+every < n {
			continue
		}
		if _, err := client.BatchWriteItem(w.t.Context(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{eventsTable: batch},
		}); err != nil {
			w.t.Fatal(err)
		}
		batch = nil
	}
}

// TestCase06_TenThousandPoisonedAggregates: healthy aggregates of the same
// shards keep their latency, and what is blocked costs no payload.
func TestCase06_TenThousandPoisonedAggregates(t *testing.T) {
	t.Parallel()
	const poisoned = 10_000
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 4, Latency: func(c localaws.Call) time.Duration {
			if c.App == "writer" {
				return 0
			}
			return 5 * time.Millisecond
		}})
		markers := newMarkerTable()
		r := w.start("one", withMarkers(markers))
		slowest := func() time.Duration {
			var worst time.Duration
			for range 20 {
				w.append("healthy", 1)
				worst = max(worst, eventually(t, time.Minute, "it is applied", func() bool { return w.has("view", "healthy", w.heads["healthy"]) }))
				if got := r.Stats(); got.Bytes > 64<<20 || got.Entries > 2*poisoned {
					t.Fatalf("%d bytes and %d records are held", got.Bytes, got.Entries)
				}
				<-time.After(100 * time.Millisecond)
			}
			return worst
		}
		before := slowest()
		w.faults.refuseAll(1, "healthy")
		w.appendMany(1, poisoned, 1)
		during := slowest()
		eventually(t, 2*time.Minute, "all are blocked", func() bool { return r.Stats().Blocked == poisoned })
		w.appendMany(2, poisoned, 10)
		after := slowest()
		t.Logf("append to effect, the slowest of 20: %v before, %v while %d are being blocked, %v with their followers", before, during, poisoned, after)
		if limit := 2*before + time.Second; during > limit || after > limit {
			t.Errorf("the healthy aggregate waited %v and %v, %v before", during, after, before)
		}
		eventually(t, time.Minute, "everything is settled", func() bool { return r.Stats().Pending == 0 })
		if got := r.Stats(); got.Bytes != 0 || got.Entries != 0 || got.Followed < poisoned/10 || len(r.Troubles()) != 0 {
			t.Errorf("counted %+v, troubles %d", got, len(r.Troubles()))
		}
		r.end()
		w.atTheEnd()
	})
}

// TestCase07_ParentLeavesWhileItsAggregateIsBlocked: the records of a block and
// of its followers are trimmed, their shard is gone, and a redrive applies them
// all the same. Pages in the middle of the shard are empty.
func TestCase07_ParentLeavesWhileItsAggregateIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1, EmptyPages: 5})
		w.faults.refuse("a", 2)
		w.append("a", 3)
		first := w.start("one", w.onTable)
		eventually(t, 20*time.Second, "the follower is on record", w.seen("a", 3))
		time.Sleep(time.Minute) // a quiet time, after which pages come empty
		w.append("a", 2)
		w.append("b", 2)
		eventually(t, 20*time.Second, "so are those behind empty pages", w.seen("a", 5))
		first.end()
		parent := w.shard()
		if err := w.engine.Roll(eventsTable, parent); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
			t.Fatal(err)
		}
		for _, s := range w.engine.Shards(eventsTable) {
			if s.ID == parent {
				t.Fatal("the parent is still there")
			}
		}
		w.append("a", 2)
		second := w.start("two", w.onTable)
		eventually(t, 30*time.Second, "the child's records are on record", w.seen("a", 7))
		w.faults.heal()
		if got, err := w.redriver(w.markers("job"), "job").Redrive(t.Context(), w.standing()["a"]); err != nil || got.Outcome != redrive.Released || got.To != 7 {
			t.Fatalf("the redrive ended %+v, %v", got, err)
		}
		w.append("a", 1)
		eventually(t, 20*time.Second, "everything is applied", w.caughtUp)
		second.end()
		for aggregate, head := range w.heads {
			w.applied("view", aggregate, head)
		}
		w.oneReader()
	})
}

// TestCase09_FilteredRecordsHoldNoCheckpoint, also where nothing else comes: a
// shard of items that are no events is read to its end.
func TestCase09_FilteredRecordsHoldNoCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		layout := *event.Orders()
		layout.Only = event.Only{Attribute: "kind", Equals: "event"}
		client := dynamodb.NewFromConfig(w.engine.Config("writer"))
		put := func(version uint64, kind string) {
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(eventsTable), Item: awsvalue.ToItem(event.Item{
				"pk": event.String("a"), "sk": layout.VersionKey(version), "kind": event.String(kind),
			})}); err != nil {
				t.Fatal(err)
			}
		}
		put(1, "event")
		put(2, "event")
		for n := range uint64(1500) {
			put(1000+n, "snapshot")
		}
		r := w.start("one", func(o *pipeline.Options) { o.Layout = &layout })
		eventually(t, 30*time.Second, "all is read", func() bool { return r.Stats().Filtered == 1500 })
		eventually(t, 10*time.Second, "the checkpoint passes it", func() bool {
			for _, row := range w.leases() {
				if row.Checkpoint.Sequence == w.sequence("a", 2499) {
					return true
				}
			}
			return false
		})
		r.end()
		w.applied("view", "a", 2)
	})
}

// TestCase14_NoPositionThoughTheVersionIsAboveOne: why it is missing decides
// what becomes of the aggregate.
func TestCase14_NoPositionThoughTheVersionIsAboveOne(t *testing.T) {
	for _, tc := range []struct {
		name  string
		known bool // a worker has applied the aggregate before
		lose  func(w *world)
		check func(w *world, r *running)
	}{
		{
			// The stream has forgotten what the store has: it is read from there.
			"never applied here", false, func(*world) {},
			func(w *world, r *running) {
				eventually(w.t, 20*time.Second, "everything is applied", w.caughtUp)
				w.applied("view", "a", 6)
				if got := r.Stats(); got.GapsFilled != 1 || got.Resets != 0 || got.Blocked != 0 {
					w.t.Errorf("counted %+v", got)
				}
			},
		},
		{
			// The target's row has expired, or somebody removed it: counted, and all
			// takes effect again.
			"the target has lost it", true, func(w *world) { w.target.Forget(identity("view"), "a") },
			func(w *world, r *running) {
				eventually(w.t, 20*time.Second, "everything is applied again", w.caughtUp)
				w.applied("view", "a", 6)
				if got := r.Stats(); got.Resets != 1 || got.Blocked != 0 {
					w.t.Errorf("counted %+v", got)
				}
			},
		},
		{
			// Its history was deleted: nothing takes its place, and it is told loudly.
			"the event store has lost its beginning", false, func(w *world) {
				for v := uint64(1); v <= 3; v++ {
					if _, err := dynamodb.NewFromConfig(w.engine.Config("writer")).DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{
						TableName: aws.String(eventsTable), Key: awsvalue.ToItem(event.Item{"pk": event.String("a"), "sk": event.Orders().VersionKey(v)}),
					}); err != nil {
						w.t.Fatal(err)
					}
				}
			},
			func(w *world, r *running) {
				eventually(w.t, 30*time.Second, "it is blocked with what follows", w.seen("a", 6))
				m := w.standing()["a"]
				if m.BlockedVersion != 1 || m.Cause.Class != event.Gap.String() {
					w.t.Errorf("the marker is %+v", m)
				}
				w.applied("view", "a", 0)
				if got := r.Stats(); got.Resets != 0 || got.Blocked != 1 {
					w.t.Errorf("counted %+v", got)
				}
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 1})
				w.append("a", 5)
				var r *running
				if tc.known {
					r = w.start("one", w.onTable)
					eventually(t, 20*time.Second, "it is applied", w.caughtUp)
				}
				time.Sleep(time.Second)
				tc.lose(w)
				if !tc.known {
					time.Sleep(time.Second)
					if err := w.engine.Trim(eventsTable, time.Now()); err != nil {
						t.Fatal(err)
					}
					r = w.start("one", w.onTable)
				}
				w.append("a", 1)
				tc.check(w, r)
				eventually(t, 10*time.Second, "nothing is held", func() bool { return r.Stats().Pending == 0 })
				r.end()
				w.atTheEnd()
			})
		})
	}
}
