// Package cli is what the project's commands have in common: how a command line
// is read, run, stopped and ended, the flags that say which pipeline is meant,
// and how results are printed. It owns the exit codes. It must never hold a
// verb's own logic, but for those verbs that both commands offer.
package cli
