package main

import (
	"context"
	"fmt"

	"millrace/internal/cli"
	"millrace/service"
)

// sweep deletes the letters that the redrive has left without a block, and says
// how many; nil where nobody swept. A letter that stays misleads nobody who asks
// its marker, so what fails here is told and changes no exit code.
func (r redriveCommand) sweep(ctx context.Context, c cli.Console, pipeline *service.Service, counts service.Redriven) *int {
	if r.Queue == "" {
		if counts.Released > 0 {
			fmt.Fprintln(c.Err, "dlq-redriver: the letters of what is released are deleted by workers that run with --queue, within minutes")
		}
		return nil
	}
	if ctx.Err() != nil {
		fmt.Fprintln(c.Err, "dlq-redriver: letters are left in the queue; workers that run with --queue delete them")
		return nil
	}
	deleted, err := pipeline.SweepLetters(ctx)
	if err != nil {
		fmt.Fprintf(c.Err, "dlq-redriver: not all letters are deleted; workers that run with --queue go on with it: %s\n", cli.Clean(err.Error()))
	}
	return &deleted
}
