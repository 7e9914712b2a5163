package config

import "time"

// declare binds every key of the file to c.
func declare(c *Config) []field {
	return []field{
		text("group", &c.Group, "Consumer group, part of every key of the control table. Groups share nothing but the stream; at most two should read one.").required(),
		block("control", "What the group remembers: leases, checkpoints, blocked aggregates.",
			text("table", &c.Control.Table, "The control table; several groups and pipelines can share one.")),
		block("aws", "Where the services are. Credentials come from the environment: the task's role, or AWS_PROFILE and its kin.",
			text("region", &c.AWS.Region, "AWS Region. Without it, the environment's."),
			text("endpoint", &c.AWS.Endpoint, "An address that replaces every service's, such as the embedded engine's or a VPC endpoint's.")),
		list("pipelines", &c.Pipelines, defaultPipeline(), "Event tables to read, each with its sinks.", declarePipeline).required(),
		block("failure", "What becomes of an event that cannot be applied.",
			text("queue", &c.Failure.Queue, "On-failure queue, by name or URL, which has to be there when a worker starts. Without one, letters of blocked aggregates stay in the control table."),
			number("attempts", &c.Failure.Attempts, 1, 1000, "Attempts at an event that fails for an unknown or a passing reason, while the sink answers others."),
			duration("retry_for", &c.Failure.RetryFor, 0, "How long such attempts go on at least before the aggregate is blocked."),
			duration("max_age", &c.Failure.MaxAge, time.Second, "How long they go on at most. An outage and a pause do not count."),
			size("inline_limit", &c.Failure.InlineLimit, 0, "The largest record that a letter carries whole; a larger one is named by its hash.")),
		block("limits", "What one sink holds in memory at most.",
			size("buffer_bytes", &c.Limits.BufferBytes, 8<<20, "Payloads. What waits behind a gap gives its own up first; the event store has them."),
			number("buffer_entries", &c.Limits.BufferEntries, 2000, 1_000_000_000, "Records that are read and not settled.")),
		block("lease", "How shards change hands.",
			duration("duration", &c.Lease.Duration, time.Second, "How long a worker's silence lasts before its shards are taken by others."),
			duration("renew", &c.Lease.Renew, 100*time.Millisecond, "How often a lease is renewed and its checkpoint written; at most 0.3 of the duration.")),
		duration("drain", &c.Drain, time.Second, "Time from the stop signal to the end. Keep it below the orchestrator's stop time-out, 30 s on ECS by default."),
		block("http", "Health, readiness and metrics.",
			text("listen", &c.HTTP.Listen, "Address and port of /metrics, /healthz and /readyz. Without one there is no port. They have no password: keep the address on the loopback interface, or in a network of your own.")),
		block("log", "JSON lines on stderr. Payloads never appear in them.",
			choice("level", &c.Log.Level, "The least that is worth a line.", "debug", "info", "warn", "error")),
	}
}

func declarePipeline(p *Pipeline) []field {
	names := make([]string, 0, 4)
	for _, known := range presets() {
		names = append(names, known.name)
	}
	names = append(names, "item")
	return []field{
		text("name", &p.Name, "Names the pipeline in logs and metrics.").required(),
		block("stream", "The event table and how its stream is read.",
			text("table", &p.Stream.Table, "The event table. Its stream must show new images.").required(),
			choice("start", &p.Stream.Start, "Where a group begins that has never read this stream.", "trim-horizon", "latest"),
			real("max_reads_per_second", &p.Stream.MaxReadsPerSecond, "Reads of one shard, each of up to 1,000 records; 0 is no limit. A stream allows five, shared by its readers."),
			text("external_readers", new(string), "Readers of the stream that are none of ours.").notYet("places for readers are not counted yet; leave the key out, and see to it that at most two read a stream"),
			text("replica", new(string), "The table is a replica of a global table.").notYet("replicas of global tables are not supported yet; read the stream in the Region that writes")).required(),
		block("layout", "How the table keeps events. A preset, and any key here overrides it.",
			choice("preset", &p.Layout.Preset, "A published layout.", names...),
			block("aggregate", "The aggregate.",
				text("attribute", &p.Layout.Aggregate, "The partition key's attribute.")),
			block("version", "The version.",
				text("attribute", &p.Layout.Version.Attribute, "The sort key's attribute."),
				text("prefix", &p.Layout.Version.Prefix, "What stands before the version's digits. An item whose sort key lacks it is no event."),
				number("digits", &p.Layout.Version.Digits, 0, 18, "Digits of the version's text, padded with zeros; 0 where the attribute is a number.")),
			block("only", "Which items are events, where keys alone do not tell.",
				text("attribute", &p.Layout.Only.Attribute, "The attribute that tells."),
				text("equals", &p.Layout.Only.Equals, "Its text in an event.")),
			text("type", &p.Layout.Type, "The event type's attribute."),
			text("time", &p.Layout.Time, "The event time's attribute, RFC 3339."),
			text("schema", &p.Layout.Schema, "The schema version's attribute."),
			text("command", &p.Layout.Command, "The command id's attribute.").notYet("a reader has no use for it; programs that append name it themselves, so leave the key out")),
		list("sinks", &p.Sinks, defaultSink(), "Where events go. Each sink has its own progress and its own failures.", declareSink).required(),
	}
}

func declareSink(s *Sink) []field {
	return []field{
		text("name", &s.Name, "Names the sink; part of its positions' keys, so that a renamed sink begins anew.").required(),
		number("version", &s.Version, 1, 1_000_000, "A rebuild raises it."),
		choice("type", &s.Type, "What kind of target it is; the block of that name holds its settings.", "readmodel", "go"),
		choice("history", &s.History, "Where an aggregate begins that the sink has never seen: full fills from version 1; from-start begins with its first version that is younger than the group by its event time, less five minutes. For sinks of type go.", "full", "from-start"),
		text("filter", &s.Filter, "A CEL expression over event; events for which it is false move the position and have no effect. For read models."),
		number("parallel", &s.Parallel, 1, 10_000, "Writes at a time."),
		optional("readmodel", &s.ReadModel.Given, "A DynamoDB table with one item for each aggregate, folded from its events.",
			text("table", &s.ReadModel.Table, "The table; the event table itself where the layout tells events from other items.").required(),
			pairs("key", &s.ReadModel.Key, "The item's key, the partition key first: for each key attribute a text in which {aggregate} stands for the aggregate's id. Default: pk is {aggregate}."),
			text("position", &s.ReadModel.Position, "The attribute that holds the last version in effect."),
			block("fold", "What makes the item of the events: one of the two.",
				text("cel", &s.ReadModel.Fold.CEL, "A file of rules, relative to this one."),
				text("go", &s.ReadModel.Fold.Go, "A fold in the program's registry.")).required()),
		optional("go", &s.Go.Given, "A sink that the program makes, by its registry: for programs of your own over package service.",
			text("sink", &s.Go.Sink, "The sink's name in the registry.").required(),
			pairs("settings", &s.Go.Settings, "What the program makes it with, text by text.")),
	}
}
