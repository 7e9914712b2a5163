// Package sinks is the contract between ordered events and whatever they are
// for. Targets stand in folders below it; sinktest is the conformance suite
// that every one of them, and any of your own, runs.
package sinks
