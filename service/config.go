package service

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"millrace/event"
	"millrace/internal/jitter"
	"millrace/pipeline"
	"millrace/projection"
	"millrace/sinks/readmodel"
	"millrace/source"
)

// Config is one pipeline: an event table, its stream, and one read model.
type Config struct {
	Group string // consumer group. Required
	// Worker is unique among the group's workers, earlier runs of the same one
	// included. Default: host, process and a nonce.
	Worker string
	Events string // event table. Required
	// Layout says how the table keeps events. Default event.Orders.
	Layout *event.Layout
	View   string // read model's table; the event table itself where the layout tells the two apart. Required
	// Key makes the item's key of the aggregate. Default: pk is the aggregate.
	Key []readmodel.KeyPart
	// Position is the attribute of the last version in effect. Default
	// lastProcessedVersion.
	Position string
	Control  string // control table. Default millrace
	// Sink names the read model in the group; Version is raised by a rebuild.
	// Defaults: the view table's name, 1.
	Sink    string
	Version int
	// Fold names the projection in the registry; Projection is one by itself. One
	// of them is required.
	Fold       string
	Projection projection.Projection
	// Passes chooses among an aggregate's events; those that do not pass move the
	// position and have no effect. Default: all pass.
	Passes func(event.Event) (bool, error)
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
	Parallel       int           // writes to the read model at a time; default 64
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

// Registry holds what is written in Go, by the names that a Config uses.
type Registry struct {
	Folds map[string]projection.Projection
}

func (c Config) withDefaults(r Registry) (Config, projection.Projection, error) {
	var errs []error
	for _, required := range []struct{ name, value string }{
		{"group", c.Group}, {"events", c.Events}, {"view", c.View},
	} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("%s is required", required.name))
		}
	}
	fold, ok := r.Folds[c.Fold]
	switch {
	case c.Fold == "" && c.Projection == nil, c.Fold != "" && c.Projection != nil:
		errs = append(errs, errors.New("fold or projection is required, and only one of the two"))
	case c.Projection != nil:
		fold = c.Projection
	case !ok:
		errs = append(errs, fmt.Errorf("fold %q is not in the registry, which has %v", c.Fold, names(r.Folds)))
	}
	if c.Control == "" {
		c.Control = "millrace"
	}
	if c.Layout == nil {
		c.Layout = event.Orders()
	}
	if c.Key == nil {
		c.Key = []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}}
	}
	for _, pair := range []struct {
		name, table string
	}{{"events", c.Events}, {"view", c.View}} {
		if pair.table == c.Control {
			errs = append(errs, fmt.Errorf("%s and control are the same table %q: each needs one of its own", pair.name, pair.table))
		}
	}
	if c.Events == c.View && c.View != "" && c.feedsItself() {
		errs = append(errs, fmt.Errorf("events and view are the same table %q, and the view's items would be taken for events: give the view a table, or a key that the layout takes for no event", c.View))
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
	if c.Passes != nil && fold != nil {
		fold = projection.Filter(fold, c.Passes)
	}
	return c, fold, errors.Join(errs...)
}

// feedsItself reports whether the read model's items could be events.
func (c Config) feedsItself() bool {
	item := event.Item{}
	for _, part := range c.Key {
		item[part.Attribute] = event.String(strings.ReplaceAll(part.Template, "{aggregate}", "x"))
	}
	_, isEvent, err := c.Layout.FromItem(item)
	return isEvent || err != nil
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
