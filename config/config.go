package config

import (
	"time"

	"millrace/event"
	"millrace/projection"
	"millrace/projection/cel"
)

// Config is what a configuration file says. Paths in it are relative to the
// file's folder until Load has returned.
type Config struct {
	Group     string
	Control   Control
	AWS       AWS
	Pipelines []Pipeline
	Failure   Failure
	Limits    Limits
	Lease     Lease
	Drain     time.Duration
	HTTP      HTTP
	Log       Log
}

// Control is where the group remembers.
type Control struct {
	Table string
}

// AWS says where the services are.
type AWS struct {
	Region   string
	Endpoint string
}

// Pipeline is one event table, its stream and its sinks.
type Pipeline struct {
	Name   string
	Stream Stream
	Layout Layout
	Sinks  []Sink
}

// Stream is the event table and how its stream is read.
type Stream struct {
	Table             string
	Start             string // trim-horizon or latest
	MaxReadsPerSecond float64
}

// Layout is a preset and what overrides it.
type Layout struct {
	Preset    string
	Aggregate string
	Version   Version
	Only      Only
	Type      string
	Time      string
	Schema    string
	Command   string
}

// unsetDigits says that nobody gave the digits: 0 means something.
const unsetDigits = -1

// Version is where the version stands.
type Version struct {
	Attribute string
	Prefix    string
	Digits    int
}

// Only picks the items that are events by one attribute.
type Only struct {
	Attribute string
	Equals    string
}

// Sink is one sink of a pipeline.
type Sink struct {
	Name      string
	Version   int
	Type      string
	History   string
	Filter    string      // a CEL expression over the event; empty: every event
	Passes    *cel.Filter // the filter, compiled; nil without one
	Parallel  int
	ReadModel ReadModel
	Go        Go
}

// Go is a sink that the program makes.
type Go struct {
	Given    bool
	Sink     string // its name in the registry
	Settings []Pair
}

// ReadModel is a DynamoDB table with an item for each aggregate.
type ReadModel struct {
	Given    bool
	Table    string
	Key      []Pair // attribute and template, the partition key first
	Position string
	Fold     FoldOf
}

// FoldOf names a fold: in a file of CEL rules, or in the program's registry.
type FoldOf struct {
	CEL string // the file's path
	Go  string // the name in the registry

	Projection projection.Projection // of the CEL file
}

// Failure is what becomes of events that cannot be applied.
type Failure struct {
	Queue       string
	Attempts    int
	RetryFor    time.Duration
	MaxAge      time.Duration
	InlineLimit int
}

// Limits bound what one sink holds.
type Limits struct {
	BufferBytes   int
	BufferEntries int
}

// Lease is how long a worker may be silent before its shards are taken.
type Lease struct {
	Duration time.Duration
	Renew    time.Duration
}

// HTTP is the port of health, readiness and metrics.
type HTTP struct {
	Listen string
}

// Log is what a worker writes to stderr.
type Log struct {
	Level string
}

// preset is a published layout by its name.
type preset struct {
	name, doc string
	layout    event.Layout
}

// presets are the published layouts.
func presets() []preset {
	return []preset{
		{"orders", "pk is the aggregate, sk the version of 12 digits", *event.Orders()},
		{"bank", "pk is the account, sk is EVENT# and 12 digits; snapshot and view share the partition", *event.Bank()},
		{"maintenance", "pk is the aggregate, sk the version of 12 digits; items whose kind is not event are none", *event.Maintenance()},
	}
}

// defaults are the values of keys that nobody gave.
func defaults() *Config {
	return &Config{
		Control: Control{Table: "millrace"},
		Failure: Failure{Attempts: 5, RetryFor: 30 * time.Second, MaxAge: 15 * time.Minute, InlineLimit: 200e3},
		Limits:  Limits{BufferBytes: 64 << 20, BufferEntries: 2_000_000},
		Lease:   Lease{Duration: 10 * time.Second, Renew: 3 * time.Second},
		Drain:   25 * time.Second,
		Log:     Log{Level: "info"},
	}
}

func defaultPipeline() Pipeline {
	return Pipeline{
		Stream: Stream{Start: "trim-horizon", MaxReadsPerSecond: 5},
		Layout: Layout{Preset: "orders", Version: Version{Digits: unsetDigits}},
	}
}

func defaultSink() Sink {
	return Sink{
		Version: 1, Type: "readmodel", History: "full", Parallel: 64,
		ReadModel: ReadModel{Position: "lastProcessedVersion"},
	}
}
