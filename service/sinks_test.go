package service_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"millrace/config"
	"millrace/event"
	"millrace/failure"
	"millrace/internal/jitter"
	"millrace/service"
	"millrace/sinks"
	"millrace/sinks/watermill"
)

// published is a publisher that notes what it was given.
type published struct {
	mu     sync.Mutex
	topics map[string]int
	sent   map[string][]string // versions, by aggregate
}

func (p *published) Publish(topic string, messages ...*message.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics[topic] += len(messages)
	for _, m := range messages {
		a := m.Metadata.Get(watermill.MetadataAggregate)
		p.sent[a] = append(p.sent[a], m.Metadata.Get(watermill.MetadataVersion))
	}
	return nil
}

func (p *published) Close() error { return nil }

func (p *published) of(aggregate string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent[aggregate])
}

const threeSinks = `
group: orders
pipelines:
  - name: orders
    stream: { table: orders-events }
    sinks:
      - name: view
        readmodel: { table: orders-view, fold: { cel: fold.yaml } }
      - name: spent
        readmodel: { table: spent, fold: { cel: spent.yaml } }
        filter: type != "OrderShipped"
      - name: mail
        type: go
        history: from-start
        go: { sink: watermill, settings: { topic: orders } }
lease: { duration: 1s, renew: 300ms }
`

// threeOf is the service of that configuration, and what its third sink sends.
func (w *world) threeOf(t *testing.T) (*service.Service, *published) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"millrace.yaml": threeSinks,
		"fold.yaml":     "on: { OrderPlaced: { set: { total: event.amount } }, ItemAdded: { set: { total: state.total + event.amount } }, OrderShipped: { set: { shipped: \"true\" } } }",
		"spent.yaml":    "on: { OrderPlaced: { set: { spent: event.amount } } }", // it does not know ItemAdded
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := config.Load(filepath.Join(folder, "millrace.yaml"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	p := &published{topics: map[string]int{}, sent: map[string][]string{}}
	c := service.FromFile(file)
	c.AWS, c.CreateTables = w.config.AWS, true
	w.config = c
	w.registry = service.Registry{Sinks: map[string]service.Maker{"watermill": func(o service.SinkOptions) (sinks.Sink, error) {
		return watermill.New(watermill.Options{Publisher: p, Topic: o.Settings["topic"], Identity: o.Identity, Positions: o.Positions})
	}}}
	s := w.service(t)
	if err := s.EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, p
}

// TestThreeSinksOfOneFile: each has its own progress and its own failures, and
// what is looked at or redriven can be one of them.
func TestThreeSinksOfOneFile(t *testing.T) {
	w := newWorld(t)
	s, mail := w.threeOf(t)
	stop := w.run(t, s)
	w.appended(s, "plain", happened("OrderPlaced", 0, amount("2")), happened("OrderShipped", 0, nil))
	w.appended(s, "added", happened("OrderPlaced", 0, amount("3")), happened("ItemAdded", 0, amount("4")), happened("OrderShipped", 0, nil))
	w.until("one sink has blocked what only it cannot apply", func() bool {
		listing, err := s.Blocked(t.Context(), service.Selection{})
		return err == nil && len(listing.Markers) == 1 && listing.Markers[0].SeenVersion == 3
	})
	w.until("the others have everything", func() bool {
		return len(mail.of("added")) == 3 && len(mail.of("plain")) == 2 && w.view("orders-view", "added")["shipped"] == event.Bool(true)
	})
	if got := w.view("orders-view", "added")["total"]; got != event.Number("7") {
		t.Errorf("the total is %v", got)
	}
	w.until("the filtered version moves the position", func() bool {
		return w.view("spent", "plain")["lastProcessedVersion"] == event.Number("2")
	})
	if mail.topics["orders"] != 5 {
		t.Errorf("sent were %v", mail.topics)
	}

	compared, err := s.Verify(t.Context(), 0)
	if err != nil || len(compared) != 2 || !compared[0].Healthy() || compared[0].Sink != "view" || compared[1].Healthy() || compared[1].Blocked != 1 {
		t.Errorf("verify says %+v, %v", compared, err)
	}
	shown, err := s.Show(t.Context(), "added")
	if err != nil || len(shown) != 3 || shown[0].Position != 3 || shown[1].Position != 1 || shown[1].Marker.State != failure.Blocked || shown[2].Position != 3 {
		t.Errorf("shown is %+v, %v", shown, err)
	}

	if _, err := s.Only("views"); err == nil || !strings.Contains(err.Error(), `no sink "views"; the pipeline has view, spent, mail`) {
		t.Errorf("a sink that is not there: %v", err)
	}
	view, err := s.Only("view")
	if err != nil {
		t.Fatal(err)
	}
	if listing, err := view.Blocked(t.Context(), service.Selection{}); err != nil || len(listing.Markers) != 0 {
		t.Errorf("the healthy sink lists %+v, %v", listing, err)
	}
	if _, err := view.Worker(t.Context()); err == nil || !strings.Contains(err.Error(), "all sinks") {
		t.Errorf("a worker of one sink: %v", err)
	}
	listing, err := s.Blocked(t.Context(), service.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := view.Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{}); err == nil {
		t.Error("one sink's service has redriven another's marker")
	}
	result, err := s.Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: -1})
	if err != nil || result.Failed != 1 {
		t.Errorf("without a fix it ended %+v, %v", result, err)
	}
	stop()
}

// TestAMakerThatRefuses: what a sink cannot be made of stops the worker before it
// reads anything.
func TestAMakerThatRefuses(t *testing.T) {
	w := newWorld(t)
	w.threeOf(t)
	w.registry.Sinks["watermill"] = func(service.SinkOptions) (sinks.Sink, error) { return nil, os.ErrInvalid }
	_, err := w.service(t).Worker(t.Context())
	if event.ClassOf(err) != event.Permanent || !strings.Contains(err.Error(), "making sink mail") {
		t.Errorf("the worker: %v", err)
	}
}

func (w *world) view(table, aggregate string) event.Item {
	return w.engine.Item(table, event.Item{"pk": event.String(aggregate)})
}

// until waits for something that the world comes to.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	for !is() {
		if err := jitter.Sleep(ctx, 10*time.Millisecond); err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
	}
}
