package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/event"
	"millrace/failure"
	markers "millrace/failure/dynamodb"
	"millrace/failure/notify"
	"millrace/failure/redrive"
	queue "millrace/failure/sqs"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/projection"
	"millrace/sinks/readmodel"
)

const (
	viewTable    = "orders-view"
	failureQueue = "orders-failures"
)

// story is an incident from its first event to its end, on the engine and over
// the real clients: a poison at version 2, a hole at version 2, followers of
// both, letters, a redrive before the fix, the fix, a redrive beside live
// traffic, a stop. Whatever process dies in it, the next one takes its place.
type story struct {
	*world
	dies  string        // whose process is cut off: "worker", "redriver" or nobody's
	cut   moment        // where
	first *tap          // of the first process of that kind
	fixed atomic.Bool   // the fold knows what to do with the poison
	again atomic.Uint64 // a later version that the fix cannot take

	worker *process
	jobs   int
}

// process is a worker and the sender of its letters.
type process struct {
	*running
	tap     *tap
	sending sync.WaitGroup
	quit    context.CancelFunc
}

func newStory(t *testing.T, dies string, cut moment) *story {
	t.Helper()
	// No two calls take the same time, so that their order is that of the code.
	latency := func(c localaws.Call) time.Duration {
		h := uint64(14695981039346656037)
		for _, b := range c.App + c.Operation + c.Table + c.Key {
			h = (h ^ uint64(b)) * 1099511628211
		}
		return 4*time.Millisecond + time.Duration(h%2000)*time.Microsecond + time.Duration(c.N%50)*13*time.Nanosecond
	}
	s := &story{world: newWorld(t, localaws.Options{Shards: 1, Latency: latency}), dies: dies, cut: cut}
	s.taps = map[string]*tap{}
	if err := s.view("setup").EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := failureQueue
	if _, err := sqs.NewFromConfig(s.engine.Config("setup")).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
		t.Fatal(err)
	}
	return s
}

// view is an application's read model: each item lists the versions that took
// effect on it, in their order.
func (s *story) view(app string) *readmodel.Sink {
	fold, err := projection.New(projection.Fold[string]{
		Apply: func(list string, e event.Event) (string, error) {
			if e.Aggregate == "poison" && (e.Version == 2 && !s.fixed.Load() || e.Version == s.again.Load()) {
				return "", fmt.Errorf("version %d of %s is more than this build can take", e.Version, e.Aggregate)
			}
			return strings.TrimSpace(fmt.Sprint(list, " ", e.Version)), nil
		},
		Encode: func(list string) (event.Item, error) { return event.Item{"versions": event.String(list)}, nil },
		Decode: func(item event.Item) (string, error) {
			list, _ := item["versions"].(event.String)
			return string(list), nil
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	view, err := readmodel.New(readmodel.Options{
		Client: dynamodb.NewFromConfig(s.config(app)), Table: viewTable, Identity: identity("view"), Projection: fold,
		Key: []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return view
}

func (w *world) markers(app string) *markers.Store {
	return markers.New(markers.Options{Client: dynamodb.NewFromConfig(w.config(app)), Table: controlTable})
}

// onTable gives a worker the control table's markers.
func (w *world) onTable(o *pipeline.Options) {
	o.Markers, o.Table = w.markers("millrace/g/"+o.Worker), eventsTable
}

var storyScope = failure.Scope{Group: "g", Table: eventsTable, Sink: "view", SinkVersion: 1}

// outbox is the outbox of the story's sink.
type outbox struct{ *markers.Store }

func (o outbox) Promises(ctx context.Context) ([]failure.Promise, error) {
	return o.Store.Promises(ctx, storyScope)
}

// boot starts a worker's process. Only the first one of those that die dies.
func (s *story) boot() {
	s.t.Helper()
	p := &process{tap: s.tapped("worker", fmt.Sprintf("millrace/g/worker.%d", s.boots+1))}
	p.running = s.start("worker", func(o *pipeline.Options) {
		s.onTable(o)
		o.Sinks[0].Sink = s.view("millrace/g/" + o.Worker)
	})
	letters, err := queue.New(sqs.NewFromConfig(s.config(p.app)), queue.Options{Name: failureQueue})
	if err != nil {
		s.t.Fatal(err)
	}
	n := &notify.Notifier{Outbox: outbox{s.markers(p.app)}, Events: s.eventStore(p.app), Queue: letters, Build: "test"}
	ctx, quit := context.WithCancel(context.Background())
	p.quit = quit
	p.sending.Go(func() {
		for ctx.Err() == nil {
			_, _, _ = n.Send(ctx) // what fails is sent with the next pass
			_ = jitter.Sleep(ctx, 2*time.Second)
		}
	})
	s.t.Cleanup(p.die)
	s.worker = p
}

// tapped gives a process of the kind that dies its tap.
func (s *story) tapped(kind, app string) *tap {
	if kind != s.dies || s.first != nil {
		return nil
	}
	s.first = newTap(s.engine.Client(app), s.cut)
	s.taps[app] = s.first
	return s.first
}

// dead reports whether the process was cut off.
func (t *tap) dead() bool {
	if t == nil {
		return false
	}
	select {
	case <-t.died:
		return true
	default:
		return false
	}
}

// die ends what is left of a process.
func (p *process) die() {
	p.crash()
	p.quit()
	p.sending.Wait()
}

// until waits for something to hold, and puts the next worker in the place of
// one that was cut off.
func (s *story) until(what string, holds func() bool) {
	s.t.Helper()
	eventually(s.t, 2*time.Minute, what, func() bool {
		if s.worker.tap.dead() {
			s.worker.die()
			s.boot()
		}
		return holds()
	})
}

// rows are the control table's rows of one kind, as they stand; the poll of a
// test is no call.
func (w *world) rows(kind string) []event.Item {
	var rows []event.Item
	for _, row := range w.engine.Items(controlTable) {
		if pk, _ := row["pk"].(event.String); strings.HasPrefix(string(pk), kind+"|") {
			rows = append(rows, row)
		}
	}
	return rows
}

// standing are the markers that are not live, by aggregate.
func (w *world) standing() map[string]failure.Marker {
	w.t.Helper()
	standing := map[string]failure.Marker{}
	for _, row := range w.rows("M") {
		aggregate, _ := row["sk"].(event.String)
		m, err := failure.ParseMarker(storyScope.Key(string(aggregate)), row)
		if err != nil {
			w.t.Fatal(err)
		}
		if m.NotLive() {
			standing[string(aggregate)] = m
		}
	}
	return standing
}

// noLetters reports whether every letter is out and written down as such.
func (w *world) noLetters() bool { return len(w.rows("O")) == 0 }

// versions are those in effect on an aggregate's item, in their order.
func (s *story) versions(aggregate string) string {
	list, _ := s.engine.Item(viewTable, event.Item{"pk": event.String(aggregate)})["versions"].(event.String)
	return string(list)
}

// list are the markers that stand and are not done with.
func (s *story) list(done func(failure.Marker) bool) []failure.Marker {
	s.t.Helper()
	var left []failure.Marker
	standing := s.standing()
	for _, aggregate := range []string{"gap", "poison"} {
		if m, ok := standing[aggregate]; ok && !done(m) {
			left = append(left, m)
		}
	}
	return left
}

// job runs redrives over what stands until all is done, the next one where one
// was cut off.
func (s *story) job(atOnce int, done func(m failure.Marker) bool) {
	s.t.Helper()
	for began := time.Now(); ; {
		left := s.list(done)
		if len(left) == 0 {
			return
		}
		if time.Since(began) > 2*time.Minute {
			s.t.Errorf("no redrive ends %+v", left)
			return
		}
		var jobs sync.WaitGroup
		for slot := range atOnce {
			s.jobs++
			app := fmt.Sprintf("redriver/%d", s.jobs)
			if slot == 0 && s.dies == "redriver" && !s.first.dead() {
				app = "redriver/first" // it lives until it is cut off
				s.tapped("redriver", app)
			}
			r := s.redrive(app, fmt.Sprintf("job-%d", s.jobs))
			jobs.Go(func() {
				mine := left
				if slot > 0 {
					// In the middle of what the first one does, whose claims it takes over.
					<-time.After(12 * time.Millisecond)
					mine = s.list(done)
				}
				for _, m := range mine {
					_, _ = r.Redrive(s.t.Context(), m) // the markers tell how it ended
				}
			})
		}
		jobs.Wait()
		<-time.After(100 * time.Millisecond) // an operator is no faster
	}
}

func (s *story) redrive(app, job string) *redrive.Redriver {
	return &redrive.Redriver{
		Markers: s.markers(app), Events: s.eventStore(app), Sink: s.view(app), Job: job,
		Jitter: jitter.Source{Seed: 77}, RunEvents: 2, Patience: 2 * time.Second,
	}
}

// play is the story.
func (s *story) play(redrivers int) {
	s.t.Helper()
	s.append("hot", 5)
	s.append("poison", 3)
	s.write("gap", 0, happened())
	s.write("gap", 2, happened()) // version 3 without 2
	s.append("calm", 2)
	s.boot()
	s.until("both aggregates are blocked and told of", func() bool {
		return len(s.standing()) == 2 && s.noLetters()
	})
	first := s.standing()
	s.append("poison", 2)
	s.append("hot", 5)
	s.append("gap", 1)
	s.append("calm", 1)
	s.until("the followers are on record, and the others go on", func() bool {
		now := s.standing()
		return now["poison"].SeenVersion == 5 && now["gap"].SeenVersion == 4 && s.versions("hot") == counted(10) && s.versions("calm") == counted(3)
	})

	// Before the fix a redrive fails where the worker did, with a new block.
	s.job(redrivers, func(m failure.Marker) bool {
		return m.State == failure.Blocked && m.BlockID != first[m.Key.Aggregate].BlockID
	})
	s.until("the new blocks are told of", s.noLetters)

	s.fixed.Store(true)
	s.write("gap", 1, happened())
	var live sync.WaitGroup
	live.Go(func() { s.job(redrivers, func(failure.Marker) bool { return false }) })
	for range 3 {
		s.append("poison", 1)
		s.append("hot", 1)
		s.append("gap", 1)
	}
	live.Wait()
	s.append("poison", 1)
	s.until("all is applied and nothing is blocked", func() bool {
		for aggregate, head := range s.heads {
			if s.versions(aggregate) != counted(head) {
				return false
			}
		}
		return len(s.standing()) == 0 && s.noLetters()
	})
	s.close()
}

// close stops the worker. One that dies in its stop leaves the rest of it to
// the next.
func (s *story) close() {
	s.t.Helper()
	for {
		p := s.worker
		s.until("the worker has read to the end", func() bool { return s.owned(s.worker.name)() && s.hasRead(s.worker.app) })
		if p != s.worker {
			continue
		}
		p.quit()
		p.sending.Wait()
		p.stop()
		select {
		case err := <-p.done:
			if err != nil && !p.tap.dead() {
				s.t.Fatalf("the worker returned %v", err)
			}
		case <-time.After(time.Minute):
			s.t.Fatal("the worker does not return")
		}
		if !p.tap.dead() {
			return
		}
		p.die()
		s.boot()
	}
}

// hasRead reports whether the last record was given to an application, or to
// one whose checkpoint it went on from.
func (s *story) hasRead(app string) bool {
	changes := s.engine.History(eventsTable)
	last := changes[len(changes)-1].Sequence
	for _, row := range s.leases() {
		if string(row.Checkpoint.Sequence) == last {
			return true
		}
	}
	for _, r := range s.engine.Reads(eventsTable) {
		if r.App == app && r.Last == last {
			return true
		}
	}
	return false
}

// counted is what an item lists when the versions 1..n took effect in order,
// each once.
func counted(n uint64) string {
	var all []string
	for v := uint64(1); v <= n; v++ {
		all = append(all, fmt.Sprint(v))
	}
	return strings.Join(all, " ")
}

// check is what every story must end with.
func (s *story) check() {
	s.t.Helper()
	if s.dies != "" && s.cut.write != "" && !s.first.dead() {
		s.t.Fatalf("no process came to %q; its writes were\n%s", s.cut.write, strings.Join(s.first.writes, "\n"))
	}
	for aggregate, head := range s.heads {
		if got := s.versions(aggregate); got != counted(head) {
			s.t.Errorf("%s holds %q, want all up to %d", aggregate, got, head)
		}
	}
	for _, c := range s.engine.History(viewTable) {
		before, _ := c.Old["versions"].(event.String)
		after, _ := c.New["versions"].(event.String)
		if !strings.HasPrefix(string(after), string(before)) || after == before {
			s.t.Errorf("an effect turned %q into %q", before, after)
		}
	}
	s.atTheEnd()
	s.oneReader()
	s.letters()
}

// letters checks that each block has one letter, however often it was sent.
func (s *story) letters() {
	s.t.Helper()
	blocks, letters := map[string]bool{}, map[string]string{}
	for _, c := range s.engine.History(controlTable) {
		if id, ok := c.New["blockId"].(event.String); ok && event.Equal(c.New["state"], event.String("blocked")) {
			blocks[string(id)] = true
		}
	}
	for _, m := range s.engine.Messages(failureQueue) {
		var l failure.Letter
		if err := json.Unmarshal([]byte(m.Body), &l); err != nil {
			s.t.Fatalf("%s is no letter: %v", m.Body, err)
		}
		if id, ok := letters[l.BlockID]; ok && id != l.LetterID {
			s.t.Errorf("block %s has the letters %s and %s", l.BlockID, id, l.LetterID)
		}
		letters[l.BlockID] = l.LetterID
	}
	for id := range blocks {
		if letters[id] == "" {
			s.t.Errorf("block %s has no letter", id)
		}
	}
	for id := range letters {
		if !blocks[id] {
			s.t.Errorf("a letter tells of block %s, which never was", id)
		}
	}
}
