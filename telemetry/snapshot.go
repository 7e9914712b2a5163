package telemetry

import (
	"time"

	"millrace/pipeline"
)

// Snapshot is what is known at one moment.
type Snapshot struct {
	Now      time.Time
	Pipeline string
	Version  string // of the build

	Worker *Worker // nil: none runs
	// Letters is nil while nobody knows: no queue is configured, or the control
	// table does not answer.
	Letters *Letters
	Calls   []Call
}

// Worker is the worker that runs.
type Worker struct {
	Stats    pipeline.Stats
	Health   pipeline.Health
	Troubles []pipeline.Trouble
	Lease    time.Duration // how long one stands without a renewal
}

// Letters are those of blocked aggregates.
type Letters struct {
	Sent   uint64 // by this process
	Unsent int
	Oldest time.Time // when the oldest unsent one's event failed first; zero: none
}

// Call counts the calls of one operation that ended in one way.
type Call struct {
	Service, Operation string
	Outcome            string // ok, or the error's code
	N                  uint64
}
