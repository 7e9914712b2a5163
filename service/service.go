package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	control "millrace/checkpoint/dynamodb"
	"millrace/eventstore"
	"millrace/failure"
	"millrace/internal/awsclient"
	"millrace/internal/jitter"
	"millrace/pipeline"
	"millrace/source/dynamodbstreams"
	"millrace/status"
)

// Service is a pipeline that is wired and not started.
type Service struct {
	config  Config
	aws     aws.Config
	events  *eventstore.Store
	targets []*target // the sinks, those selected
	// selected says that there are others; nothing that concerns all of them is
	// done then.
	selected bool

	letters atomic.Pointer[Letters] // nil: unknown
	sent    atomic.Uint64           // letters
	calls   *awsclient.Calls
	working atomic.Pointer[pipeline.Worker] // nil: none
}

// New checks the configuration and finds credentials, which takes at most 5
// seconds. It makes no call to a table.
func New(ctx context.Context, c Config, r Registry) (*Service, error) {
	c, err := c.withDefaults(r)
	if err != nil {
		return nil, err
	}
	calls := &awsclient.Calls{}
	cfg, err := awsclient.New(ctx, awsclient.Options{
		Calls:  calls,
		Region: c.AWS.Region, Endpoint: c.AWS.Endpoint, Local: c.AWS.Local,
		// By this the stream's readers are told apart.
		AppID: "millrace/" + c.Group + "/" + c.Worker,
	})
	if err != nil {
		return nil, err
	}
	s, err := wire(c, r, cfg)
	if err == nil {
		s.calls = calls
	}
	return s, err
}

// wire makes a service of a configuration that was checked.
func wire(c Config, r Registry, cfg aws.Config) (*Service, error) {
	s := &Service{config: c, aws: cfg}
	var err error
	s.events, err = eventstore.New(eventstore.Options{Client: dynamodb.NewFromConfig(cfg), Table: c.Events, Layout: c.Layout})
	if err != nil {
		return nil, err
	}
	for _, one := range c.Sinks {
		t, err := s.target(one, r)
		if err != nil {
			return nil, err
		}
		s.targets = append(s.targets, t)
	}
	return s, nil
}

// Only is the service of one of its sinks: what it lists, verifies and redrives
// is that sink's. It makes no worker.
func (s *Service) Only(sink string) (*Service, error) {
	only := &Service{config: s.config, aws: s.aws, events: s.events, selected: true}
	var known []string
	for _, t := range s.targets {
		known = append(known, t.config.Name)
		if t.config.Name == sink {
			only.targets = []*target{t}
		}
	}
	if only.targets == nil {
		return nil, fmt.Errorf("there is no sink %q; the pipeline has %s", sink, strings.Join(known, ", "))
	}
	return only, nil
}

// of is the sink that a marker belongs to; nil where it is none of these.
func (s *Service) of(key failure.Key) *target {
	for _, t := range s.targets {
		if t.scope.Key(key.Aggregate) == key {
			return t
		}
	}
	return nil
}

// Events is the event store, for those who append.
func (s *Service) Events() *eventstore.Store { return s.events }

// Place is the Region that the service works in, and the address that replaces
// DynamoDB's own there; empty: it does not.
func (s *Service) Place() (region, endpoint string) {
	return s.aws.Region, aws.ToString(dynamodb.NewFromConfig(s.aws).Options().BaseEndpoint)
}

// Sinks are the sinks, with what their configuration left out.
func (s *Service) Sinks() []Sink {
	list := make([]Sink, len(s.targets))
	for i, t := range s.targets {
		list[i] = t.config
	}
	return list
}

// EnsureTables makes the tables that are not there and waits until they can be
// used.
func (s *Service) EnsureTables(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.events.EnsureTable(ctx); err != nil {
		return err
	}
	for _, t := range s.targets {
		if t.view == nil {
			continue
		}
		if err := t.view.EnsureTable(ctx); err != nil {
			return err
		}
	}
	return s.control().EnsureTable(ctx)
}

func (s *Service) control() *control.Store {
	return control.New(control.Options{Client: dynamodb.NewFromConfig(s.aws), Table: s.config.Control, Jitter: jitter.New()})
}

// Worker makes the pipeline's worker. Its error says what has to be put right
// before one can work: a table that is not there, a stream without images. Of
// class event.Transient are those after which the same call may succeed.
func (s *Service) Worker(ctx context.Context) (*pipeline.Worker, error) {
	if s.selected {
		return nil, errors.New("a worker has all sinks of its pipeline: its checkpoint speaks for each of them")
	}
	if s.config.CreateTables {
		if err := s.EnsureTables(ctx); err != nil {
			return nil, err
		}
	}
	adapter, err := dynamodbstreams.New(dynamodbstreams.Options{
		Streams: streams.NewFromConfig(s.aws), Tables: dynamodb.NewFromConfig(s.aws),
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	newest, err := adapter.Find(ctx, s.config.Events)
	if err != nil {
		return nil, err
	}
	control := s.control()
	stream, err := s.follow(ctx, newest, control)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx, stream.Stream); err != nil {
		return nil, err
	}
	o := s.config.options()
	o.Start, o.Succeeded = stream.start, s.succeeded(adapter, stream.Label())
	o.Stream, o.Control, o.Store, o.Layout = stream.Stream, control, s.events, s.events.Layout()
	o.Markers, o.Table = s.Markers(), s.config.Events
	for _, t := range s.targets {
		sink, err := t.open()
		if err != nil {
			return nil, err
		}
		o.Sinks = append(o.Sinks, pipeline.Sink{Name: t.config.Name, Version: t.config.Version, Sink: sink, Parallel: t.config.Parallel, FromStart: t.config.FromStart})
	}
	return pipeline.NewWorker(o)
}

// Run runs a pipeline until ctx ends and then drains it; the end of abort cuts
// the drain short. It returns nil after a stop, or pipeline.ErrLeasesLeft.
// Whoever wants to see the workers' counters uses New and Workers.
func Run(ctx, abort context.Context, c Config, r Registry) error {
	s, err := New(ctx, c, r)
	if err != nil {
		return err
	}
	return s.Workers(ctx, func(w *pipeline.Worker) error { return s.Work(ctx, abort, w) })
}

// Workers makes a worker and has it run, and another one each time that the
// stream was disabled, is read to its end, and was enabled again, until run
// returns anything but pipeline.ErrStreamEnded. An on-failure queue that does
// not exist when it is called is an error with an *event.Missing in it.
//
// While it goes on, health, readiness and metrics are served where the
// configuration says. An address that cannot be had is an error of class
// event.Permanent, before anything is begun.
func (s *Service) Workers(ctx context.Context, run func(*pipeline.Worker) error) error {
	stop, err := s.serve() //nolint:contextcheck // it serves until it is stopped, also while the worker drains
	if err != nil {
		return err
	}
	defer stop()
	if err := s.startQueue(ctx); err != nil {
		return err
	}
	for {
		w, err := s.Worker(ctx)
		if err != nil {
			return err
		}
		s.working.Store(w)
		err = run(w)
		s.working.Store(nil)
		if !errors.Is(err, pipeline.ErrStreamEnded) {
			return err
		}
		s.config.Log.Info().Msg("the stream is read to its end; the table's next one is read from here on")
	}
}

// Verified is what came of comparing one read model with its events.
type Verified struct {
	Sink, Table string
	status.Report
}

// Verify compares each read model with the fold of the events. wait is how long
// an aggregate that is behind may take to catch up. Blocked ones are told apart
// from those behind, and are not as they should be either. Sinks that keep no
// items have nothing to compare, and are left out.
func (s *Service) Verify(ctx context.Context, wait time.Duration) ([]Verified, error) {
	var all []Verified
	for _, t := range s.targets {
		if t.view == nil {
			continue
		}
		report, err := status.Verify{
			Events: s.events, View: t.view, Layout: s.events.Layout(), Projection: t.config.ReadModel.Projection,
			Blocked: func(ctx context.Context) ([]failure.Marker, error) {
				list, _, err := s.listedOf(ctx, t)
				return list, err
			},
			Wait: wait, Jitter: jitter.New(),
		}.Run(ctx)
		if err != nil {
			return nil, fmt.Errorf("comparing sink %s: %w", t.config.Name, err)
		}
		all = append(all, Verified{Sink: t.config.Name, Table: t.config.ReadModel.Table, Report: report})
	}
	return all, nil
}

func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
