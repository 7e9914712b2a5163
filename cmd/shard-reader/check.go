package main

import (
	"errors"
	"fmt"
	"strings"

	"millrace/internal/cli"
	"millrace/service"
)

type checkCommand struct {
	cli.Pipeline
	Queue  string `help:"On-failure queue, name or URL. Default: the configuration's, or none." placeholder:"QUEUE"`
	Output string `help:"table or json." enum:"table,json" default:"table"`
	cli.Deadline
}

// Help goes on where the verb's one line ends.
func (checkCommand) Help() string {
	return `Run it where the worker will run, with the worker's role: it makes the calls that a worker makes, and those that tell what will be trouble later. It changes nothing. Rights to write are tried with conditions that never hold, which costs a write unit each.

ok, warn (it works, and should not stay so; or it cannot be seen), fail (a worker cannot do its work), skip (it does not apply, or cannot be known). Exit code 5 when a check fails, 2 when the configuration cannot be used.`
}

// Validate is asked by the parser: with two sets of flags that have one, the
// verb needs its own.
func (k checkCommand) Validate() error {
	return errors.Join(k.Pipeline.Validate(), k.Deadline.Validate())
}

// checkResult is the JSON form.
type checkResult struct {
	Schema string            `json:"schema"`
	Failed int               `json:"failed"`
	Warned int               `json:"warned"`
	Checks []service.Checked `json:"checks"`
}

// Run makes all checks, and exits with 5 when one fails.
func (k checkCommand) Run(c cli.Console, s cli.Stop) error {
	ctx, cancel := k.Within(s.Drain)
	defer cancel()
	config, err := k.Config()
	if err != nil {
		return err
	}
	if k.Queue != "" {
		config.Queue = k.Queue
	}
	wired, err := cli.Wire(ctx, config)
	if err != nil {
		return err
	}
	result := checkResult{Schema: "millrace.check/v1", Checks: wired.Check(ctx)}
	if err := ctx.Err(); err != nil {
		return k.Told(ctx, err, "the checks are not complete")
	}
	for _, one := range result.Checks {
		switch one.Verdict {
		case service.Failed:
			result.Failed++
		case service.Warned:
			result.Warned++
		case service.Passed, service.Skipped:
		}
	}
	if k.Output == "json" {
		err = cli.PrintJSON(c.Out, result)
	} else {
		err = cli.PrintText(c.Out, result.text())
	}
	if err == nil && result.Failed > 0 {
		err = &cli.ExitError{Code: cli.Unhealthy}
	}
	return err
}

// text is what a person reads.
func (r checkResult) text() string {
	var b strings.Builder
	wide := 0
	for _, one := range r.Checks {
		wide = max(wide, len(one.Check))
	}
	for _, one := range r.Checks {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", one.Verdict, wide, one.Check, strings.Join(strings.Fields(one.Text), " "))
		if one.Hint != "" {
			fmt.Fprintf(&b, "%*s-> %s\n", wide+8, "", one.Hint)
		}
	}
	switch {
	case r.Failed > 0:
		fmt.Fprintf(&b, "\n%d of %d checks failed: a worker cannot do its work like this.\n", r.Failed, len(r.Checks))
	case r.Warned > 0:
		fmt.Fprintf(&b, "\nA worker can do its work. Warnings: %d.\n", r.Warned)
	default:
		b.WriteString("\nA worker can do its work.\n")
	}
	return b.String()
}
