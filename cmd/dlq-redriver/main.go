// Command dlq-redriver looks at the aggregates that a read model holds back
// and brings them back, in order and beside live traffic.
package main

import (
	"os"

	"millrace/internal/cli"
)

// version is set by the linker.
var version = "dev"

const description = `Shows the aggregates whose events could not be applied, and why, and brings them back in order, beside workers that go on. The control table is its index: it receives from no queue to look.

stdout is data, stderr is everything else. Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 partly done, 5 verify found differences, 130 interrupted; run it again, and it goes on.`

// commandLine is every verb that works.
type commandLine struct {
	Groups  groupsCommand  `cmd:"" help:"Blocked aggregates by fingerprint: one line for each cause."`
	List    listCommand    `cmd:"" help:"Blocked aggregates, the one that failed first at the front."`
	Show    showCommand    `cmd:"" help:"All there is to know about one aggregate."`
	Redrive redriveCommand `cmd:"" help:"Bring blocked aggregates back; without --execute it only says what it would do."`
	Verify  cli.Verify     `cmd:"" help:"Compare every item of a read model with the fold of its events."`
	Version cli.Version    `cmd:"" help:"Print the version."`

	cli.VersionFlag
}

func main() { os.Exit(execute(os.Args[1:], cli.Console{Out: os.Stdout, Err: os.Stderr})) }

func execute(args []string, c cli.Console) int {
	var commands commandLine
	return cli.Execute(cli.Program{Name: "dlq-redriver", Description: description, Version: version}, &commands, args, c)
}
