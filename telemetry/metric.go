package telemetry

import (
	"fmt"
	"time"

	"millrace/event"
	"millrace/pipeline"
)

type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// metric is one metric as it is declared: the registry, the reference page and
// the tests are made of it.
type metric struct {
	name   string // without the prefix
	kind   kind
	labels []string // behind pipeline, which each has
	help   string
	absent string // when it is not known; empty: it always is while a worker runs
	read   func(s Snapshot, put sample)
}

// sample takes a value and the values of the labels.
type sample struct {
	value  func(v float64, labels ...string)
	values func(h pipeline.Histogram, labels ...string)
}

const prefix = "millrace_"

// blocking are the classes that an aggregate can be blocked with.
var blocking = [...]event.Class{event.Permanent, event.Gap, event.Unknown, event.Transient, event.Batch, event.Crash, event.Schema}

// total declares a counter of the whole worker.
func total(name, help string, read func(pipeline.Stats) uint64) metric {
	return metric{name: name, kind: counter, help: help, read: ofWorker(func(s Snapshot, w *Worker, put sample) {
		put.value(float64(read(w.Stats)))
	})}
}

// ofSink declares a metric of each sink.
func ofSink(name string, k kind, help string, read func(s pipeline.SinkStats) float64) metric {
	return metric{name: name, kind: k, labels: []string{"sink"}, help: help, read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
		for _, sink := range w.Stats.Sinks {
			put.value(read(sink), sink.Name)
		}
	})}
}

func ofWorker(read func(Snapshot, *Worker, sample)) func(Snapshot, sample) {
	return func(s Snapshot, put sample) {
		if s.Worker != nil {
			read(s, s.Worker, put)
		}
	}
}

// age is how long ago something was, and 0 when nothing is meant.
func age(now, at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(now.Sub(at).Seconds(), 0)
}

// metrics are all there are.
func metrics() []metric {
	return []metric{
		total("records_read_total", "Records read from the stream.", func(s pipeline.Stats) uint64 { return s.Records }),
		total("pages_total", "Pages read from the stream, empty ones among them.", func(s pipeline.Stats) uint64 { return s.Pages }),
		total("records_filtered_total", "Records of items that are no events.", func(s pipeline.Stats) uint64 { return s.Filtered }),
		total("records_unroutable_total", "Records that name no aggregate or no version.", func(s pipeline.Stats) uint64 { return s.Unroutable }),
		{
			name: "event_store_violations_total", kind: counter, labels: []string{"kind"},
			help: "Events that were changed (modified) or taken away (removed, TTL included) in the event table. None of it reaches a fold.",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				put.value(float64(w.Stats.Violations-w.Stats.Removed), "modified")
				put.value(float64(w.Stats.Removed), "removed")
			}),
		},
		{
			name: "losses_total", kind: counter, labels: []string{"reason"},
			help: "Times that the stream had forgotten what was not read: trimmed records, or a whole shard (shard_gone). How many records it was nobody can tell; verify shows which aggregates lack something.",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				put.value(float64(w.Stats.Trimmed), "trimmed")
				put.value(float64(w.Stats.ShardsGone), "shard_gone")
			}),
		},
		ofSink("events_applied_total", counter, "Versions that positions have moved over.", func(s pipeline.SinkStats) float64 { return float64(s.Applied) }),
		ofSink("events_duplicate_total", counter, "Records whose version was applied or queued already.", func(s pipeline.SinkStats) float64 { return float64(s.Duplicates) }),
		ofSink("events_before_start_total", counter, "Records older than the group, of a sink that begins with it.", func(s pipeline.SinkStats) float64 { return float64(s.BeforeStart) }),
		ofSink("events_followed_total", counter, "Records put on record behind a blocked version.", func(s pipeline.SinkStats) float64 { return float64(s.Followed) }),
		{
			name: "gaps_total", kind: counter, labels: []string{"sink", "outcome"},
			help: "Gaps that were closed: by their own records (arrived), or from the event store (filled).",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				for _, s := range w.Stats.Sinks {
					put.value(float64(s.GapsArrived), s.Name, "arrived")
					put.value(float64(s.GapsFilled), s.Name, "filled")
				}
			}),
		},
		ofSink("target_resets_total", counter, "Times that a target held less than it was known to hold.", func(s pipeline.SinkStats) float64 { return float64(s.Resets) }),
		{
			name: "run_events", kind: histogram, labels: []string{"sink"}, help: "Events of one run, which is one write to a read model.",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				for _, s := range w.Stats.Sinks {
					put.values(s.RunEvents, s.Name)
				}
			}),
		},
		{
			name: "sink_apply_seconds", kind: histogram, labels: []string{"sink", "outcome"},
			help: "Time from handing a run to a sink to its answer: applied wholly, or failed.",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				for _, s := range w.Stats.Sinks {
					put.values(s.ApplyTook, s.Name, "applied")
					put.values(s.ApplyFails, s.Name, "failed")
				}
			}),
		},
		{
			name: "read_lag_seconds", kind: gauge,
			help:   "Of the shard furthest behind: age of the newest record read while more is known to follow, else the time since nothing more was there.",
			absent: "no shard is held, or one of those held has brought no page yet",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				if lag := w.Stats.ReadLag; lag != nil {
					put.value(lag.Seconds())
				}
			}),
		},
		{
			name: "ack_lag_seconds", kind: gauge, labels: []string{"sink"},
			help: "Age of the oldest record that was read and is not settled; 0 when there is none. A blocked aggregate's records are settled.",
			read: ofWorker(func(s Snapshot, w *Worker, put sample) {
				for _, sink := range w.Stats.Sinks {
					put.value(age(s.Now, sink.Oldest), sink.Name)
				}
			}),
		},
		{
			name: "time_to_data_loss_seconds", kind: gauge,
			help:   "Time until the stream forgets the oldest record that is not read or not settled: 24 hours less the longer lag.",
			absent: "as read_lag_seconds",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				if left := w.Stats.DataLoss; left != nil {
					put.value(left.Seconds())
				}
			}),
		},
		ofSink("pending_records", gauge, "Records read and not settled.", func(s pipeline.SinkStats) float64 { return float64(s.Pending) }),
		ofSink("buffer_bytes", gauge, "Payloads held.", func(s pipeline.SinkStats) float64 { return float64(s.Usage.Bytes) }),
		ofSink("buffer_entries", gauge, "Records held, with or without their payloads.", func(s pipeline.SinkStats) float64 { return float64(s.Usage.Entries) }),
		{
			name: "shards_held", kind: gauge, help: "Shards that this worker reads.",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) { put.value(float64(w.Stats.Shards)) }),
		},
		{
			name: "shards_unowned", kind: gauge, help: "Shards of the group that nobody reads although somebody could, as of the last look at the lease rows.",
			absent: "the lease rows were not read yet",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				if w.Stats.Unowned >= 0 {
					put.value(float64(w.Stats.Unowned))
				}
			}),
		},
		{
			name: "lease_moves_total", kind: counter, labels: []string{"reason"},
			help: "Shards taken by this worker: from nobody (free), or from one that vanished (expired).",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				put.value(float64(w.Stats.TookFree), "free")
				put.value(float64(w.Stats.TookExpired), "expired")
			}),
		},
		total("lease_fenced_total", "Leases lost to somebody else.", func(s pipeline.Stats) uint64 { return s.Fenced }),
		total("retries_total", "Calls and runs that were or will be repeated.", func(s pipeline.Stats) uint64 { return s.Retries }),
		total("blocks_total", "Aggregates blocked by this worker; one that is blocked again counts again.", func(s pipeline.Stats) uint64 { return s.Blocked }),
		total("heals_total", "Blocks ended without an operator.", func(s pipeline.Stats) uint64 { return s.Healed }),
		{
			name: "blocked_aggregates", kind: gauge, labels: []string{"sink", "class"},
			help:   "Aggregates that stand blocked, by whichever worker, as of this worker's last sweep, which is every five minutes.",
			absent: "no sweep has ended yet",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				for _, s := range w.Stats.Sinks {
					if s.Standing == nil {
						continue
					}
					for _, class := range blocking {
						put.value(float64(s.Standing.ByClass[class.String()]), s.Name, class.String())
					}
				}
			}),
		},
		{
			name: "blocked_oldest_seconds", kind: gauge, labels: []string{"sink"},
			help: "Time since the aggregate failed that has been blocked longest; 0 when none is.", absent: "as blocked_aggregates",
			read: ofWorker(func(s Snapshot, w *Worker, put sample) {
				for _, sink := range w.Stats.Sinks {
					if sink.Standing != nil {
						put.value(age(s.Now, sink.Standing.Oldest), sink.Name)
					}
				}
			}),
		},
		{
			name: "stalled_aggregates", kind: gauge, labels: []string{"sink"}, help: "Aggregates whose last attempt failed, and which are tried again.",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				n := map[string]int{}
				for _, t := range w.Troubles {
					n[t.Sink]++
				}
				for _, s := range w.Stats.Sinks {
					put.value(float64(n[s.Name]), s.Name)
				}
			}),
		},
		{
			name: "sink_paused", kind: gauge, labels: []string{"sink", "reason"},
			help: "1 while a sink takes nothing: it fails for everybody (failing), or the layout does not fit the table and nothing is read (layout).",
			read: ofWorker(func(_ Snapshot, w *Worker, put sample) {
				for _, s := range w.Stats.Sinks {
					put.value(one(s.Paused), s.Name, "failing")
					put.value(one(w.Stats.PausedReason == pipeline.PausedForLayout), s.Name, pipeline.PausedForLayout)
				}
			}),
		},
		{
			name: "letters_sent_total", kind: counter, help: "Letters that the on-failure queue has accepted from this process.", absent: "no queue is configured, or the outbox could not be read last time",
			read: func(s Snapshot, put sample) {
				if s.Letters != nil {
					put.value(float64(s.Letters.Sent))
				}
			},
		},
		{
			name: "letters_unsent", kind: gauge, help: "Letters of blocked aggregates that wait for their queue.", absent: "as letters_sent_total",
			read: func(s Snapshot, put sample) {
				if s.Letters != nil {
					put.value(float64(s.Letters.Unsent))
				}
			},
		},
		{
			name: "letters_unsent_oldest_seconds", kind: gauge, help: "Time since the event of the oldest of them failed; 0 when none waits.", absent: "as letters_sent_total",
			read: func(s Snapshot, put sample) {
				if s.Letters != nil {
					put.value(age(s.Now, s.Letters.Oldest))
				}
			},
		},
		{
			name: "aws_calls_total", kind: counter, labels: []string{"service", "operation", "outcome"}, help: "Calls by how they ended: ok, or the error's code.",
			read: func(s Snapshot, put sample) {
				for _, c := range s.Calls {
					put.value(float64(c.N), c.Service, c.Operation, c.Outcome)
				}
			},
		},
		{
			name: "build_info", kind: gauge, labels: []string{"version"}, help: "1, of the build that runs.",
			read: func(s Snapshot, put sample) { put.value(1, s.Version) },
		},
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// row is a metric's line of the reference page.
func (m metric) row() string {
	labels := ""
	for _, l := range m.labels {
		labels += fmt.Sprintf(" `%s`", l)
	}
	absent := m.absent
	return fmt.Sprintf("| `%s%s` | %s |%s | %s | %s |\n", prefix, m.name, m.kind, labels, m.help, absent)
}
