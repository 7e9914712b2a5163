package service

import (
	"millrace/config"
	"millrace/sinks/readmodel"
)

// FromFile is what a configuration file says, as New takes it. The file is one
// that config.Load has accepted; what it leaves open, such as the worker's name
// and the log, is the caller's to fill in.
func FromFile(c *config.Config) Config {
	pipeline := c.Pipelines[0]
	sink := pipeline.Sinks[0]
	out := Config{
		Group: c.Group, Events: pipeline.Stream.Table, View: sink.ReadModel.Table, Control: c.Control.Table,
		Layout: pipeline.EventLayout(),
		Sink:   sink.Name, Version: sink.Version, Position: sink.ReadModel.Position,
		Fold: sink.ReadModel.Fold.Go, Projection: sink.ReadModel.Fold.Projection,
		Latest: pipeline.Stream.Start == "latest", ReadsPerSecond: pipeline.Stream.MaxReadsPerSecond, Parallel: sink.Parallel,
		AWS:   AWS{Region: c.AWS.Region, Endpoint: c.AWS.Endpoint},
		Lease: c.Lease.Duration, Renew: c.Lease.Renew, Drain: c.Drain,
		BufferBytes: c.Limits.BufferBytes, BufferEntries: c.Limits.BufferEntries,
		Queue: c.Failure.Queue, InlineLimit: c.Failure.InlineLimit,
		LogLevel: c.Log.Level,
		Attempts: c.Failure.Attempts, RetryFor: c.Failure.RetryFor, MaxAge: c.Failure.MaxAge,
	}
	if out.ReadsPerSecond == 0 {
		out.ReadsPerSecond = -1
	}
	for _, part := range sink.ReadModel.Key {
		out.Key = append(out.Key, readmodel.KeyPart{Attribute: part.Key, Template: part.Text})
	}
	if sink.Passes != nil {
		out.Passes = sink.Passes.Passes
	}
	return out
}
