package ecs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/config"
	"millrace/event"
	"millrace/eventstore"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/awsvalue"
	"millrace/internal/jitter"
	"millrace/pipeline"
	"millrace/projection"
	"millrace/service"
)

// stage is a deployment on an engine that records: the stacks' configuration over
// the tables and the queue that the storage stack makes.
type stage struct {
	*recorder
	t      *testing.T
	config service.Config
	writer *eventstore.Store

	unmended projection.Projection
}

func onStage(t *testing.T) *stage {
	t.Helper()
	r := record(t)
	file, err := config.Load("millrace.yaml", environment(load(t, "worker.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	c := service.FromFile(file)
	c.AWS, c.HTTP = service.AWS{Local: true, Endpoint: r.url}, ""
	c.Lease, c.Renew = 2*time.Second, 0
	s := &stage{recorder: r, t: t, config: c, unmended: c.Sinks[0].ReadModel.Projection}
	if err := s.service().EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := sqs.NewFromConfig(r.Config("setup")).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &c.Queue}); err != nil {
		t.Fatal(err)
	}
	s.writer, err = eventstore.New(eventstore.Options{Client: dynamodb.NewFromConfig(r.Config("writer")), Table: c.Events, Layout: event.Orders()})
	if err != nil {
		t.Fatal(err)
	}
	r.forget()
	return s
}

func (s *stage) service() *service.Service {
	s.t.Helper()
	made, err := service.New(s.t.Context(), s.config, service.Registry{})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// append writes past the recorder, as another program does.
func (s *stage) append(aggregate string, after uint64, kinds ...string) {
	s.t.Helper()
	var events []eventstore.NewEvent
	for _, kind := range kinds {
		events = append(events, eventstore.NewEvent{Type: kind, Time: time.Now(), Attributes: event.Item{"customer": event.String("Ada"), "amount": event.Number("1")}})
	}
	if _, err := s.writer.Append(s.t.Context(), aggregate, after, events...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) put(item event.Item) {
	s.t.Helper()
	_, err := dynamodb.NewFromConfig(s.Config("writer")).PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: &s.config.Events, Item: awsvalue.ToItem(item)})
	if err != nil {
		s.t.Fatal(err)
	}
}

// until waits for something that the workers come to.
func (s *stage) until(what string, is func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for !is() {
		if err := jitter.Sleep(ctx, 20*time.Millisecond); err != nil {
			s.t.Fatalf("%s: %v", what, err)
		}
	}
}

func (s *stage) listing() service.Listing {
	s.t.Helper()
	listing, err := s.service().Blocked(s.t.Context(), service.Selection{})
	if err != nil {
		s.t.Fatal(err)
	}
	return listing
}

// working runs a worker until the function it returns is called.
func (s *stage) working() (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	made := s.service()
	go func() {
		ended <- made.Workers(ctx, func(w *pipeline.Worker) error { return made.Work(ctx, s.t.Context(), w) })
	}()
	return func() {
		s.t.Helper()
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("a worker ended: %v", err)
		}
	}
}

const unknown = "NobodyKnowsThisType"

// worker takes a worker through everything that it calls for.
func (s *stage) worker() {
	s.t.Helper()
	s.append("known", 0, "OrderPlaced", "ItemAdded")
	s.append("poison", 0, "OrderPlaced", unknown, "ItemAdded")
	s.append("hole", 0, "OrderPlaced")
	stop := s.working()
	s.until("it blocks and tells", func() bool { return len(s.Messages(s.config.Queue)) >= 1 })
	s.append("hole", 2, "ItemAdded") // version 2 is missing
	s.put(event.Item{"pk": event.String("stray"), "sk": event.String("7x")})
	s.until("it puts all on record", func() bool {
		l := s.listing()
		return len(l.Markers) == 2 && len(l.Unroutable) == 1 && len(s.Messages(s.config.Queue)) >= 3
	})
	s.append("hole", 1, "ItemAdded") // it comes after all, and its block ends by itself
	s.until("the hole is closed", func() bool { return len(s.listing().Markers) == 1 })
	if err := s.RollAll(s.config.Events); err != nil {
		s.t.Fatal(err)
	}
	s.append("known", 2, "ItemAdded")
	s.until("a child is read", func() bool {
		return s.Item(s.config.Sinks[0].ReadModel.Table, event.Item{"pk": event.String("known")})["lastProcessedVersion"] == event.Number("3")
	})
	stop()
	if _, err := s.service().SweepLetters(s.t.Context()); err != nil { // what a worker does every five minutes
		s.t.Fatal(err)
	}
	for _, c := range s.service().Check(s.t.Context()) {
		if c.Verdict == service.Failed {
			s.t.Errorf("check: %+v", c)
		}
	}
}

// redriver takes the redriver through everything that it calls for, behind a
// worker that has left something to do.
func (s *stage) redriver() {
	s.t.Helper()
	s.append("poison", 0, "OrderPlaced", unknown, "ItemAdded")
	s.append("again", 0, "OrderPlaced", unknown)
	s.put(event.Item{"pk": event.String("stray"), "sk": event.String("1x")})
	s.put(event.Item{"pk": event.String("gone"), "sk": event.String("1x")})
	stop := s.working()
	s.until("all is on record", func() bool {
		l := s.listing()
		return len(l.Markers) == 2 && l.Markers[0].SeenVersion+l.Markers[1].SeenVersion == 5 && len(l.Unroutable) == 2 && len(s.Messages(s.config.Queue)) >= 4
	})
	stop()
	s.mend()
	s.forget()
	ctx, made := s.t.Context(), s.service()
	listing := s.listing()
	if _, err := made.Show(ctx, "poison"); err != nil {
		s.t.Fatal(err)
	}
	for _, m := range listing.Markers {
		if m.Key.Aggregate == "again" {
			continue
		}
		one := []failure.Marker{m}
		if err := made.Try(ctx, one, func(service.Trial) {}); err != nil {
			s.t.Fatal(err)
		}
		if result, err := made.Redrive(ctx, ctx, one, service.RedriveOptions{}); err != nil || !result.Done() {
			s.t.Fatalf("%+v, %v", result, err)
		}
	}
	// One is blocked again, with a letter of its own: this fold is not mended.
	s.config.Sinks[0].ReadModel.Projection = s.unmended
	before := s.service()
	for _, m := range listing.Markers {
		if m.Key.Aggregate != "again" {
			continue
		}
		if result, err := before.Redrive(ctx, ctx, []failure.Marker{m}, service.RedriveOptions{}); err != nil || result.Failed != 1 {
			s.t.Fatalf("%+v, %v", result, err)
		}
	}
	if _, err := made.ShowUnroutable(ctx, failure.LetterPrefix+listing.Unroutable[0].ID); err != nil {
		s.t.Fatal(err)
	}
	if err := made.Reroute(ctx, ctx, listing.Unroutable, true, service.RedriveOptions{}, func(redrive.Rerouted) {}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := made.SweepLetters(ctx); err != nil {
		s.t.Fatal(err)
	}
	if _, err := made.Verify(ctx, 0); err != nil {
		s.t.Fatal(err)
	}
}

// mend makes the stage's fold know the type, and one stray's item is gone, the
// other an event by now: its row ends.
func (s *stage) mend() {
	s.t.Helper()
	fold, err := config.LoadFold("fold.yaml", os.LookupEnv)
	if err != nil {
		s.t.Fatal(err)
	}
	fold.Rules.Ignore = append(fold.Rules.Ignore, unknown)
	if s.config.Sinks[0].ReadModel.Projection, err = fold.Projection(); err != nil {
		s.t.Fatal(err)
	}
	_, err = dynamodb.NewFromConfig(s.Config("writer")).DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{
		TableName: &s.config.Events, Key: awsvalue.ToItem(event.Item{"pk": event.String("gone"), "sk": event.String("1x")}),
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestRolesFitTheCalls: each call has its permission, and each permission its
// call. A call or a permission that is added without the other fails here.
func TestRolesFitTheCalls(t *testing.T) {
	for _, tc := range []struct {
		name string
		play func(*stage)
	}{{"worker.yaml", (*stage).worker}, {"redrive.yaml", (*stage).redriver}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := onStage(t)
			tc.play(s)
			allowed, called := grants(load(t, tc.name), "TaskRole"), s.calls()
			for _, g := range beyond(called, allowed) {
				t.Errorf("%s on %s is called and not allowed", g.action, g.resource)
			}
			for _, g := range beyond(allowed, called) {
				t.Errorf("%s on %s is allowed and never called", g.action, g.resource)
			}

			// The comparison would tell: of one call more, and of one permission more.
			more := grant{"dynamodb:DeleteTable", tableArn + "orders-events"}
			if got := beyond(append(called, more), allowed); !slices.Contains(got, more) {
				t.Errorf("a call without a permission is not told: %v", got)
			}
			if got := beyond(append(allowed, more), called); !slices.Contains(got, more) {
				t.Errorf("a permission without a call is not told: %v", got)
			}
			if elsewhere := (grant{"dynamodb:UpdateItem", tableArn + "orders-events"}); !slices.Contains(beyond([]grant{elsewhere}, allowed), elsewhere) {
				t.Errorf("%s", fmt.Sprint(elsewhere, " passes for a permission on another table"))
			}
		})
	}
}

// beyond is what is in one list and not in the other.
func beyond(these, those []grant) []grant {
	var out []grant
	for _, g := range these {
		if !slices.Contains(those, g) {
			out = append(out, g)
		}
	}
	return out
}
