package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/sinks/watermill"
	"millrace/source"
)

// fromStart has a worker of a group that begins at latest publish, every
// aggregate from where the group began.
func (w *world) fromStart(b message.Publisher, markers pipeline.Markers) func(*pipeline.Options) {
	return func(o *pipeline.Options) {
		o.Start, o.Markers, o.Table = source.Latest, markers, eventsTable
		o.Sinks[0].Sink, o.Sinks[0].FromStart = w.publisher("millrace/g/"+o.Worker, b), true
	}
}

// TestH1_FromStartBeginsWithTheLowestYoungerVersion: what arrives first is not
// where an aggregate begins. Versions that are older than the group by more than
// five minutes are left out; all others are delivered, in order, also those that
// the stream does not show. A successor goes on from there.
func TestH1_FromStartBeginsWithTheLowestYoungerVersion(t *testing.T) {
	for _, old := range []int{0, 1, 3, 250} {
		t.Run(fmt.Sprint(old), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, markers := newWorld(t, localaws.Options{Shards: 2}), newBroker(), newMarkerTable()
				w.bulk("a", old)
				time.Sleep(10 * time.Minute)
				w.append("a", 2) // within the margin: younger than the group, for all anybody knows
				time.Sleep(2 * time.Minute)
				first := w.start("one", w.fromStart(b, markers))
				eventually(t, 30*time.Second, "the worker has its shards", func() bool { return len(w.owners()) == 2 })
				w.append("a", 2)
				var want []string
				for v := old + 1; v <= old+4; v++ {
					want = append(want, fmt.Sprint(v))
				}
				eventually(t, 30*time.Second, "all are out", func() bool { return len(b.versions("a")) == 4 })
				first.end()
				second := w.start("two", w.fromStart(b, markers))
				w.append("a", 1)
				want = append(want, fmt.Sprint(old+5))
				eventually(t, 30*time.Second, "the next is out", func() bool { return len(b.versions("a")) >= 5 })
				second.end()
				if got := b.versions("a"); !slices.Equal(got, want) {
					t.Errorf("sent were %v, want %v", got, want)
				}
			})
		})
	}
}

// refusing is a broker that takes no event of a version until it is mended.
type refusing struct {
	*broker
	version string
}

func (r *refusing) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		if m.Metadata.Get(watermill.MetadataVersion) == r.version {
			return &event.Error{Class: event.Permanent, Op: "publishing", Err: fmt.Errorf("version %s is poison", r.version)}
		}
	}
	return r.broker.Publish(topic, messages...)
}

// TestH1_FromStartWhoseFirstVersionIsPoison: the version that an aggregate
// begins with is blocked, the worker is replaced, and the next version must not
// pass for the first: after the fix both are delivered.
func TestH1_FromStartWhoseFirstVersionIsPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, markers := newWorld(t, localaws.Options{Shards: 1}), newMarkerTable()
		b := &refusing{newBroker(), "4"}
		w.append("a", 3)
		time.Sleep(10 * time.Minute)
		first := w.start("one", w.fromStart(b, markers))
		eventually(t, 30*time.Second, "the worker has its shard", w.owned(first.name))
		w.append("a", 1)
		eventually(t, 30*time.Second, "it is blocked", func() bool { return markers.marker(t, "a").State == failure.Blocked })
		first.crash()
		second := w.start("two", w.fromStart(b, markers))
		w.append("a", 1)
		eventually(t, time.Minute, "the next is on record", func() bool { return markers.marker(t, "a").SeenVersion == 5 })
		b.version = ""
		job := w.redriver(markers, "job")
		job.Sink = w.publisher("job", b)
		if r, err := job.Redrive(t.Context(), markers.marker(t, "a")); err != nil || r.Outcome != redrive.Released || r.From != 3 || r.To != 5 {
			t.Errorf("the redrive ended %+v, %v", r, err)
		}
		second.end()
		if got := b.versions("a"); !slices.Equal(got, []string{"4", "5"}) {
			t.Errorf("sent were %v", got)
		}
	})
}

// TestH1_FromStartNeedsATimeAndASinkThatCanBegin.
func TestH1_FromStartNeedsATimeAndASinkThatCanBegin(t *testing.T) {
	w := newWorld(t, localaws.Options{})
	_, o := w.options("one")
	o.Sinks[0].FromStart = true
	if _, err := pipeline.NewWorker(o); err == nil || !strings.Contains(err.Error(), `sink "view" cannot begin in the middle`) {
		t.Errorf("a guarded sink: %v", err)
	}
	timeless := *event.Orders()
	timeless.Time = ""
	o.Layout, o.Sinks[0].Sink = &timeless, w.publisher("app", newBroker())
	if _, err := pipeline.NewWorker(o); err == nil || !strings.Contains(err.Error(), "no event time") {
		t.Errorf("a layout without a time: %v", err)
	}
}
