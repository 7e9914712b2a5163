// Package checkpointtest holds what the stores of leases and pins are tested
// with: one conformance suite for all of them, written for many workers, lost
// answers and writes that land late, and Memory, a store for the unit tests of
// those who use one.
package checkpointtest
