// Command shard-reader reads an event store's DynamoDB stream and keeps read
// models, in order and once.
package main

import (
	"os"

	"millrace/internal/cli"
)

// version is set by the linker.
var version = "dev"

const description = `Reads the DynamoDB stream of an event store, puts every aggregate's events in order, and keeps read models.

stdout is data, stderr is everything else. Exit codes: 0 done, 1 failed, 2 usage or configuration, 5 verify found differences or a check failed, or a worker is not healthy, 130 interrupted.`

// commandLine is every verb that works.
type commandLine struct {
	Run         runCommand         `cmd:"" help:"Read the stream of an event table into a read model, until stopped."`
	Check       checkCommand       `cmd:"" help:"Look whether a worker could do its work, and what will trouble it later."`
	Explain     explainCommand     `cmd:"" help:"How one aggregate stands in every sink, and what it was at a version or a time."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a worker on this machine whether it is of any use."`
	Config      configCommand      `cmd:"" help:"What there is to know about the configuration file."`
	Verify      cli.Verify         `cmd:"" help:"Compare every item of a read model with the fold of its events."`
	Demo        demoCommand        `cmd:"" help:"The whole way on this machine, with a worker killed on the way, and a proof at the end."`
	Local       localCommand       `cmd:"" help:"Run the embedded stand-in for DynamoDB and SQS in the foreground."`
	Version     cli.Version        `cmd:"" help:"Print the version."`

	cli.VersionFlag
}

func main() { os.Exit(execute(os.Args[1:], cli.Console{Out: os.Stdout, Err: os.Stderr})) }

func execute(args []string, c cli.Console) int {
	var commands commandLine
	return cli.Execute(cli.Program{Name: "shard-reader", Description: description, Version: version}, &commands, args, c)
}
