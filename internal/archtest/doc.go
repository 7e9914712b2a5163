// Package archtest keeps the import graph in shape. It holds tests only.
//
// A package stands on a floor, and an import never goes up:
//
//	event, and helpers under internal/
//	source  reorder  eventstore  projection  checkpoint  sinks   contracts
//	adapters: the packages below a contract (source/dynamodbstreams, sinks/readmodel, ...)
//	failure
//	pipeline
//	telemetry
//	status
//	config
//	service
//	cmd  benchmarks  examples  internal/sim
//
// Contracts do not know each other, except that checkpoint knows source: a
// checkpoint is a place in it. AWS is known only where placeOf says so, and the
// local engine, a test double, is out of the product's reach.
//
// Test files are exempt: a test may stand on whatever it needs.
package archtest
