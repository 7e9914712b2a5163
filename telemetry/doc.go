// Package telemetry says how a worker is, to machines: one registry of metrics,
// each declared once, and the answers to whether the worker is alive and ready.
//
// It looks when it is asked and counts nothing itself, so that a record costs
// nothing more for being watched. What is not known at that moment is absent from
// the answer, and never 0.
package telemetry

//go:generate go test . -run ^TestReference$ -update
