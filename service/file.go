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
	out := Config{
		Name: pipeline.Name, HTTP: c.HTTP.Listen,
		Group: c.Group, Events: pipeline.Stream.Table, Control: c.Control.Table,
		Layout: pipeline.EventLayout(),
		Latest: pipeline.Stream.Start == "latest", ReadsPerSecond: pipeline.Stream.MaxReadsPerSecond,
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
	for _, sink := range pipeline.Sinks {
		out.Sinks = append(out.Sinks, sinkFromFile(sink))
	}
	return out
}

func sinkFromFile(s config.Sink) Sink {
	out := Sink{Name: s.Name, Version: s.Version, Parallel: s.Parallel, FromStart: s.History == "from-start"}
	if s.Type == "go" {
		out.Made = &Made{By: s.Go.Sink, Settings: map[string]string{}}
		for _, setting := range s.Go.Settings {
			out.Made.Settings[setting.Key] = setting.Text
		}
		return out
	}
	m := s.ReadModel
	out.ReadModel = &ReadModel{Table: m.Table, Position: m.Position, Fold: m.Fold.Go, Projection: m.Fold.Projection}
	for _, part := range m.Key {
		out.ReadModel.Key = append(out.ReadModel.Key, readmodel.KeyPart{Attribute: part.Key, Template: part.Text})
	}
	if s.Passes != nil {
		out.ReadModel.Passes = s.Passes.Passes
	}
	return out
}
