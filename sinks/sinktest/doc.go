// Package sinktest owns what a sink is measured by: the conformance suite that
// every sink runs, yours included, and Memory, a guarded target in memory for
// the tests of whatever uses sinks.
//
// A sink's author writes one test:
//
//	func TestConformance(t *testing.T) {
//		sinktest.Run(t, sinktest.Harness{Guarded: true, Open: ..., Versions: ...})
//	}
//
// The checks answer with errors and know nothing of testing.T, so that the
// suite's own tests can show that each of them fails for a sink that is wrong.
package sinktest
