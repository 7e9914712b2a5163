package controlkey

import (
	"fmt"
	"hash/fnv"
)

// How many partitions the markers and the outbox of one sink are spread over,
// so that a sink with many blocked aggregates is not held to the throughput of
// one partition.
const (
	MarkerParts = 64
	OutboxParts = 16
)

// Markers is partition part (0 to MarkerParts-1) of the markers of a sink. The
// source table is part of it: two sources may have aggregates of one name.
func Markers(group, table, sink string, version, part int) string {
	return spread("M", group, table, sink, version, part)
}

// Marker is the row of one aggregate in one sink.
func Marker(group, table, sink string, version int, aggregate string) Key {
	return Key{PK: Markers(group, table, sink, version, bucket(aggregate, MarkerParts)), SK: row(aggregate)}
}

// Outboxes is partition part (0 to OutboxParts-1) of a sink's letters to send.
func Outboxes(group, table, sink string, version, part int) string {
	return spread("O", group, table, sink, version, part)
}

// Outbox is the row that promises the letter of an aggregate's last block.
func Outbox(group, table, sink string, version int, aggregate string) Key {
	return Key{PK: Outboxes(group, table, sink, version, bucket(aggregate, OutboxParts)), SK: row(aggregate)}
}

// Crashes is the partition of those of a sink's markers at which workers died.
// They are few.
func Crashes(group, table, sink string, version int) string {
	return join("C", group, table, fmt.Sprintf("%s@%d", sink, version))
}

// Crash is the row of one of them, beside the marker.
func Crash(group, table, sink string, version int, aggregate string) Key {
	return Key{PK: Crashes(group, table, sink, version), SK: row(aggregate)}
}

func spread(kind, group, table, sink string, version, part int) string {
	return join(kind, group, table, fmt.Sprintf("%s@%d", sink, version), fmt.Sprintf("%02x", part))
}

// bucket must never change for rows that exist: they would not be found again.
func bucket(aggregate string, buckets uint32) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(aggregate)) // a hash never fails
	return int(h.Sum32() % buckets)
}
