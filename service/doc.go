// Package service is the public wiring: it makes a pipeline of a Config and a
// Registry and runs it. The project's own mains are a few lines over it, and
// so is yours.
package service
