package service

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"millrace/internal/jitter"
	"millrace/pipeline"
	"millrace/projection"
	"millrace/source"
)

// Config is one pipeline: an event table of the orders layout (pk, sk of 12
// digits), its stream, and one read model.
type Config struct {
	Group string // consumer group. Required
	// Worker is unique among the group's workers, earlier runs of the same one
	// included. Default: host, process and a nonce.
	Worker  string
	Events  string // event table. Required
	View    string // read model's table, whose partition key is pk. Required
	Control string // control table. Default millrace
	// Sink names the read model in the group; Version is raised by a rebuild.
	// Defaults: the view table's name, 1.
	Sink    string
	Version int
	// Fold names the projection in the registry. Required.
	Fold string
	// Latest starts a group that has never read the stream at its end instead
	// of its trim horizon.
	Latest bool
	// CreateTables makes tables that are not there, on demand.
	CreateTables bool

	AWS AWS

	Lease          time.Duration // default 10 s
	Drain          time.Duration // default 25 s, below ECS's stop time-out of 30 s
	ReadsPerSecond float64       // per shard; default 5; negative: no limit
	BufferBytes    int           // per sink; default 64 MiB
	BufferEntries  int           // per sink; default 2,000,000
	Parallel       int           // writes to the read model at a time; default 64
	// Queue is the on-failure queue's name or URL. Without one, letters of blocked
	// aggregates stay in the control table.
	Queue string
	Build string // of the program, as letters tell it. Default dev
	Log   zerolog.Logger
}

// AWS says where the services are.
type AWS struct {
	Region   string // default: the environment's
	Endpoint string // replaces every service's address; default: AWS
	// Local uses fixed credentials and never consults the machine's AWS files
	// or metadata service: for the embedded engine.
	Local bool
}

// Registry holds what is written in Go, by the names that a Config uses.
type Registry struct {
	Folds map[string]projection.Projection
}

func (c Config) withDefaults(r Registry) (Config, projection.Projection, error) {
	var errs []error
	for _, required := range []struct{ name, value string }{
		{"group", c.Group}, {"events", c.Events}, {"view", c.View}, {"fold", c.Fold},
	} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("%s is required", required.name))
		}
	}
	fold, ok := r.Folds[c.Fold]
	if c.Fold != "" && !ok {
		errs = append(errs, fmt.Errorf("fold %q is not in the registry, which has %v", c.Fold, names(r.Folds)))
	}
	if c.Control == "" {
		c.Control = "millrace"
	}
	tables := map[string]string{}
	for _, named := range []struct{ name, table string }{{"events", c.Events}, {"view", c.View}, {"control", c.Control}} {
		if other, taken := tables[named.table]; taken && named.table != "" {
			errs = append(errs, fmt.Errorf("%s and %s are the same table %q: each needs one of its own", other, named.name, named.table))
		}
		tables[named.table] = named.name
	}
	for _, amount := range []struct {
		name     string
		negative bool
	}{
		{"version", c.Version < 0},
		{"lease", c.Lease < 0},
		{"drain", c.Drain < 0},
		{"parallel", c.Parallel < 0},
		{"bufferBytes", c.BufferBytes < 0},
		{"bufferEntries", c.BufferEntries < 0},
	} {
		if amount.negative {
			errs = append(errs, fmt.Errorf("%s is negative", amount.name))
		}
	}
	if c.Sink == "" {
		c.Sink = c.View
	}
	if c.Version == 0 {
		c.Version = 1
	}
	if c.Build == "" {
		c.Build = "dev"
	}
	if c.Worker == "" {
		c.Worker = workerID()
	}
	return c, fold, errors.Join(errs...)
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
		Lease: c.Lease, Drain: c.Drain, ReadsPerSecond: c.ReadsPerSecond,
		Jitter: jitter.New(), Log: c.Log,
	}
}
