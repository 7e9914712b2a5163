package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/failure"
	markers "millrace/failure/dynamodb"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
	"millrace/pipeline"
)

// PutUnroutable takes every row: those who test it have the control table.
func (m *markerTable) PutUnroutable(context.Context, failure.Unroutable) error {
	time.Sleep(5 * time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.down
}

// secret is the payload of a misplaced item, which no log may show.
const secret = "the customer's secret"

// misplace puts an item into the event table that is no event of the layout.
func (w *world) misplace(pk, sk string) {
	w.t.Helper()
	_, err := dynamodb.NewFromConfig(w.engine.Config("writer")).PutItem(w.t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(eventsTable),
		Item:      awsvalue.ToItem(event.Item{"pk": event.String(pk), "sk": event.String(sk), "text": event.String(secret), "at": event.String(time.Now().String())}),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// strays are the rows of unroutable records, and the promises of letters.
func (w *world) strays() ([]failure.Unroutable, []failure.Promise) {
	w.t.Helper()
	store := w.markers("check")
	rows, foreign, err := store.Unroutables(w.t.Context(), "g", eventsTable)
	if err != nil || len(foreign) > 0 {
		w.t.Fatalf("%d rows cannot be read, %v", len(foreign), err)
	}
	promises, err := store.Promises(w.t.Context(), markers.EverySink("g", eventsTable))
	if err != nil {
		w.t.Fatal(err)
	}
	return rows, promises
}

// safeLog is a log that may be read while it is written.
type safeLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// count counts the lines that have a text in them.
func (l *safeLog) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (w *world) twoSinks(o *pipeline.Options) {
	w.onTable(o)
	o.Sinks = append(o.Sinks, w.memory("second"))
}

// isRow matches the writes by which workers put records on record.
func isRow(c localaws.Call) bool {
	return c.Operation == "TransactWriteItems" && strings.HasPrefix(c.App, "millrace/")
}

// TestH22_PutOnRecord: a record that names no version is put on record and
// settled in every sink; checkpoints pass it, the log tells its key once and
// never its payload. What becomes of such an item later is no event either.
func TestH22_PutOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		log := &safeLog{}
		w.log = log
		r := w.start("one", w.twoSinks)
		w.append("a", 3)
		w.misplace("a", "profile")
		w.append("a", 3)
		eventually(t, 10*time.Second, "it is put on record", func() bool {
			rows, promises := w.strays()
			return len(rows) == 1 && len(promises) == 1
		})
		w.misplace("a", "profile") // a change of it
		_, err := dynamodb.NewFromConfig(w.engine.Config("writer")).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(eventsTable), Key: awsvalue.ToItem(event.Item{"pk": event.String("a"), "sk": event.String("profile")}),
		})
		if err != nil {
			t.Fatal(err)
		}
		w.append("a", 1)
		eventually(t, 10*time.Second, "everything is settled", func() bool {
			s := r.Stats()
			return w.caughtUp() && w.has("second", "a", 7) && s.Pending == 0 && s.Unroutable == 3
		})
		r.end()
		w.wholly()
		rows, _ := w.strays()
		if u := rows[0]; len(rows) != 1 || u.Cause.Class != "decode" || u.Source.Shard == "" || u.Source.Label == "" || u.Source.Created.IsZero() ||
			!event.Equal(u.Key["sk"], event.String("profile")) || !event.Equal(u.Record.Item["text"], event.String(secret)) {
			t.Errorf("the rows are %+v", rows)
		}
		if told, leaked := log.count(`"key":{`), log.count(secret); told != 1 || leaked != 0 {
			t.Errorf("the log tells of it %d times, and its payload %d times", told, leaked)
		}
	})
}

// TestH22_EveryFaultOfItsWrite: whatever goes wrong with the row's write, the
// record is settled once the row stands, and has one promise of a letter.
func TestH22_EveryFaultOfItsWrite(t *testing.T) {
	for name, do := range map[string]localaws.Action{
		"throttled": localaws.Throttle, "failed before": localaws.FailBefore, "failed after": localaws.FailAfter,
		"answer lost": localaws.LoseAnswer, "no answer": localaws.TimeOut, "conflict": localaws.Conflict,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, localaws.Options{Shards: 2})
				defer w.engine.Inject(localaws.Fault{Do: do, Times: 3, Match: isRow})()
				r := w.start("one", w.onTable)
				w.misplace("a", "profile")
				w.append("a", 3)
				eventually(t, time.Minute, "everything is settled", func() bool { return w.caughtUp() && r.Stats().Pending == 0 && r.Stats().Unroutable == 1 })
				r.end()
				w.wholly()
				if rows, promises := w.strays(); len(rows) != 1 || len(promises) != 1 {
					t.Errorf("%d rows and %d promises", len(rows), len(promises))
				}
			})
		})
	}
}

// TestH22_OutageHoldsTheCheckpointAlone: while the row cannot be written reading
// goes on, and no checkpoint passes the record.
func TestH22_OutageHoldsTheCheckpointAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		back := w.engine.Inject(localaws.Fault{Do: localaws.FailBefore, Match: isRow})
		r := w.start("one", w.onTable)
		w.append("a", 2)
		eventually(t, 10*time.Second, "it is applied", w.caughtUp)
		w.misplace("a", "profile")
		for range 30 {
			w.append("a", 1)
			eventually(t, 3*time.Second, "others are applied", w.caughtUp)
			<-time.After(time.Second)
		}
		for id, row := range w.leases() {
			if row.Checkpoint.Sequence != w.sequence("a", 2) {
				t.Errorf("shard %s: the checkpoint is %+v", id, row.Checkpoint)
			}
		}
		back()
		eventually(t, 10*time.Second, "everything is settled", func() bool { return r.Stats().Pending == 0 })
		r.end()
		w.wholly()
	})
}

// TestH22_KilledBetweenRowAndSettle: the row was written and its worker died
// before it knew. The next one settles the record, and its letter is promised
// once.
func TestH22_KilledBetweenRowAndSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		defer w.engine.Inject(localaws.Fault{Do: localaws.LoseAnswer, Match: func(c localaws.Call) bool {
			return isRow(c) && strings.HasPrefix(c.App, "millrace/g/one")
		}})()
		one := w.start("one", w.onTable)
		w.misplace("a", "profile")
		w.append("a", 3)
		eventually(t, 10*time.Second, "the row stands", func() bool {
			rows, _ := w.strays()
			return len(rows) == 1 && w.caughtUp()
		})
		if one.Stats().Pending != 1 {
			t.Errorf("settled without an answer: %+v", one.Stats())
		}
		one.crash()
		// The letter goes out meanwhile.
		store := w.markers("sender")
		rows, promises := w.strays()
		if err := store.ToldUnroutable(t.Context(), rows[0]); err != nil {
			t.Fatal(err)
		}
		if err := store.Kept(t.Context(), promises[0]); err != nil {
			t.Fatal(err)
		}
		two := w.start("two", w.onTable)
		eventually(t, time.Minute, "everything is settled", func() bool { return two.Stats().Unroutable == 1 && two.Stats().Pending == 0 })
		two.end()
		w.wholly()
		if rows, promises := w.strays(); len(rows) != 1 || rows[0].Notified == "" || len(promises) != 0 {
			t.Errorf("%+v, %d promises", rows, len(promises))
		}
	})
}

// TestH22_WrongLayoutPauses: a worker whose layout fits no item writes no rows
// and moves no checkpoint. It keeps its leases, reads nothing more, says what to
// do each five minutes, and stops at once when told; the next one, with the
// right layout, loses nothing.
func TestH22_WrongLayoutPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		log := &safeLog{}
		w.log = log
		for i := range 10 {
			w.append(fmt.Sprintf("order-%d", i), 10)
		}
		wrong := w.start("one", w.twoSinks, func(o *pipeline.Options) {
			layout := *event.Orders()
			layout.Digits = 10
			o.Layout = &layout
		})
		eventually(t, 20*time.Second, "it is paused", func() bool { return wrong.Stats().PausedReason == pipeline.PausedForLayout })
		<-time.After(5 * time.Second)
		reads := w.calls("GetRecords", wrong.app)
		during(t, 16*time.Minute, "it holds its leases", w.owned(wrong.name))
		if after := w.calls("GetRecords", wrong.app); after != reads {
			t.Errorf("%d reads while it is paused", after-reads)
		}
		if rows, _ := w.strays(); len(rows) > 0 {
			t.Errorf("%d rows were written", len(rows))
		}
		for id, row := range w.leases() {
			if row.Checkpoint.Sequence != "" {
				t.Errorf("shard %s: the checkpoint moved to %+v", id, row.Checkpoint)
			}
		}
		if told := log.count(`aggregate in pk, version in sk: text of 10 digits","example":{"`); told < 3 || told > 5 {
			t.Errorf("in 16 minutes it was told %d times", told)
		}
		if each := log.count("it is put on record"); each != 0 {
			t.Errorf("%d records were told one by one", each)
		}
		began := time.Now()
		wrong.end()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it stopped after %v", took)
		}
		right := w.start("two", w.twoSinks)
		eventually(t, time.Minute, "all are applied", func() bool { return w.caughtUp() && right.Stats().Pending == 0 })
		right.end()
		w.wholly()
	})
}

// TestH22_FewAndFarBetweenDoNotPause: what is put on record is put on record for
// ever, and what comes too fast from then on is not.
func TestH22_FewAndFarBetweenDoNotPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		r := w.start("one", w.onTable)
		for i := range 30 {
			w.misplace("a", fmt.Sprintf("note-%d", i))
			<-time.After(4 * time.Second)
		}
		w.append("a", 1)
		eventually(t, 10*time.Second, "all are put on record", func() bool {
			rows, _ := w.strays()
			return len(rows) == 30 && r.Stats().Pending == 0 && w.caughtUp()
		})
		for i := range 30 {
			w.misplace("b", fmt.Sprintf("note-%d", i))
		}
		eventually(t, 10*time.Second, "it is paused", func() bool { return r.Stats().PausedReason != "" })
		rows, _ := w.strays()
		<-time.After(time.Minute)
		if later, _ := w.strays(); len(later) != len(rows) || len(rows) >= 50 || r.Stats().Pending == 0 {
			t.Errorf("%d rows were written, %d at the pause, %d records are held", len(later), len(rows), r.Stats().Pending)
		}
		r.end()
	})
}

// TestH22_WithoutMarkers: nothing can be put on record, so the record holds the
// checkpoint, loudly; a stop does not wait for it.
func TestH22_WithoutMarkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		log := &safeLog{}
		w.log = log
		r := w.start("one")
		w.append("a", 2)
		w.misplace("a", "profile")
		w.append("a", 2)
		eventually(t, 10*time.Second, "the others are applied", func() bool { return w.caughtUp() && r.Stats().Unroutable == 1 })
		<-time.After(10 * time.Second)
		for id, row := range w.leases() {
			if row.Checkpoint.Sequence != w.sequence("a", 2) {
				t.Errorf("shard %s: the checkpoint is %+v", id, row.Checkpoint)
			}
		}
		if log.count("it holds the shard's checkpoint") != 1 || r.Stats().Pending != 1 {
			t.Errorf("stats are %+v", r.Stats())
		}
		began := time.Now()
		r.end()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it stopped after %v", took)
		}
	})
}

// TestNoSinkIsCalledEverySink: its markers would lie among the records that
// concern every sink.
func TestNoSinkIsCalledEverySink(t *testing.T) {
	w := newWorld(t, localaws.Options{})
	_, o := w.options("one")
	o.Sinks[0].Name = failure.EverySink
	if _, err := pipeline.NewWorker(o); err == nil || !strings.Contains(err.Error(), "stands for every sink") {
		t.Errorf("it gave %v", err)
	}
}
