package service

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"millrace/event"
	"millrace/internal/jitter"
	"millrace/pipeline"
	"millrace/source"
)

// Config is one pipeline: an event table, its stream, and its sinks.
type Config struct {
	Group string // consumer group. Required
	// Worker is unique among the group's workers, earlier runs of the same one
	// included. Default: host, process and a nonce.
	Worker string
	Events string // event table. Required
	// Layout says how the table keeps events. Default event.Orders.
	Layout  *event.Layout
	Control string // control table. Default millrace
	// Sinks are where events go, each with its own progress and its own failures.
	// At least one.
	Sinks []Sink
	// Latest starts a group that has never read the stream at its end instead
	// of its trim horizon.
	Latest bool
	// CreateTables makes tables that are not there, on demand.
	CreateTables bool

	AWS AWS

	Lease          time.Duration // default 10 s
	Renew          time.Duration // default 0.3 of Lease
	Drain          time.Duration // default 25 s, below ECS's stop time-out of 30 s
	ReadsPerSecond float64       // per shard; default 5; negative: no limit
	BufferBytes    int           // per sink; default 64 MiB
	BufferEntries  int           // per sink; default 2,000,000
	// Queue is the on-failure queue's name or URL. Without one, letters of blocked
	// aggregates stay in the control table.
	Queue string
	// InlineLimit is the most bytes of a record that a letter carries. Default
	// 200 KB.
	InlineLimit int
	// Attempts, RetryFor and MaxAge are the budget of an event whose failure may
	// pass, as in pipeline.Options.
	Attempts int
	RetryFor time.Duration
	MaxAge   time.Duration

	// Name is the pipeline's in metrics. Default: the group.
	Name string
	// HTTP is the address of health, readiness and metrics while workers run; port
	// 0 is any free one. Empty: there is none.
	HTTP string

	Build string // of the program, as letters tell it. Default dev
	Log   zerolog.Logger
	// LogLevel is the least that is worth a line, for whoever makes Log; New does
	// not look at it. Empty: info.
	LogLevel string
}

// AWS says where the services are.
type AWS struct {
	Region   string // default: the environment's
	Endpoint string // replaces every service's address; default: AWS
	// Local uses fixed credentials and never consults the machine's AWS files
	// or metadata service: for the embedded engine.
	Local bool
}

func (c Config) withDefaults(r Registry) (Config, error) {
	var errs []error
	for _, required := range []struct{ name, value string }{{"group", c.Group}, {"events", c.Events}} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("%s is required", required.name))
		}
	}
	if c.Control == "" {
		c.Control = "millrace"
	}
	if c.Layout == nil {
		c.Layout = event.Orders()
	}
	if c.Events == c.Control {
		errs = append(errs, fmt.Errorf("events and control are the same table %q: each needs one of its own", c.Control))
	}
	if len(c.Sinks) == 0 {
		errs = append(errs, errors.New("a sink is required"))
	}
	names := map[string]bool{}
	c.Sinks = slices.Clone(c.Sinks)
	for i := range c.Sinks {
		s, err := c.Sinks[i].withDefaults(c, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("sink %s: %w", cmp.Or(s.Name, strconv.Itoa(i+1)), err))
		}
		if s.Name != "" && names[s.Name] {
			errs = append(errs, fmt.Errorf("two sinks are named %q", s.Name))
		}
		names[s.Name] = true
		c.Sinks[i] = s
		for _, other := range c.Sinks[:i] {
			if m, o := s.ReadModel, other.ReadModel; m != nil && o != nil && m.Table == o.Table && m.Position == o.Position {
				errs = append(errs, fmt.Errorf("sinks %s and %s keep their positions in the same attribute of table %q: give one of them another position, or another table", other.Name, s.Name, m.Table))
			}
		}
	}
	for _, amount := range []struct {
		name     string
		negative bool
	}{
		{"lease", c.Lease < 0},
		{"drain", c.Drain < 0},
		{"bufferBytes", c.BufferBytes < 0},
		{"bufferEntries", c.BufferEntries < 0},
	} {
		if amount.negative {
			errs = append(errs, fmt.Errorf("%s is negative", amount.name))
		}
	}
	if c.Name == "" {
		c.Name = c.Group
	}
	if c.Build == "" {
		c.Build = "dev"
	}
	if c.Worker == "" {
		c.Worker = workerID()
	}
	return c, errors.Join(errs...)
}

// workerID tells this process from every other, and from an earlier one that
// had its number.
func workerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), jitter.New().ID("boot", 0)[:8])
}

func (c Config) start() source.StartKind {
	if c.Latest {
		return source.Latest
	}
	return source.TrimHorizon
}

func (c Config) options() pipeline.Options {
	return pipeline.Options{
		Group: c.Group, Worker: c.Worker, Start: c.start(),
		BufferBytes: c.BufferBytes, BufferEntries: c.BufferEntries,
		Lease: c.Lease, Renew: c.Renew, Drain: c.Drain, ReadsPerSecond: c.ReadsPerSecond,
		Attempts: c.Attempts, RetryFor: c.RetryFor, MaxAge: c.MaxAge,
		Jitter: jitter.New(), Log: c.Log,
	}
}
