package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"millrace/event"
	"millrace/failure/redrive"
	"millrace/internal/cli"
	"millrace/service"
)

type redriveCommand struct {
	look
	filter
	Aggregate  []string `arg:"" optional:"" help:"Aggregates to bring back; or choose them by the flags."`
	All        bool     `help:"All that are blocked."`
	Execute    bool     `help:"Do it. Without it nothing is changed."`
	Rate       float64  `help:"Aggregates begun per second; 0 means no limit." default:"50"`
	Parallel   int      `help:"Aggregates worked on at a time, after the first ten, which go one by one." default:"8"`
	Queue      string   `help:"On-failure queue, name or URL: at the end letters that have nothing left to tell are deleted from it. Default: workers do it." placeholder:"QUEUE"`
	ForgetGone bool     `help:"Of records that name no aggregate: end those whose items the event table does not have any more. Nobody can bring them back."`
	StopAt     float64  `help:"Stop when this share of what was tried could not be released, from the tenth on." default:"0.2"`
}

// Help goes on where the verb's one line ends.
func (redriveCommand) Help() string {
	return `Which: aggregates by name, or --fingerprint, --class or both, or --all. What is selected is settled at the start; what is blocked later is not touched.

Without --execute it is a dry run: it folds the waiting versions with this build, and says what would be released and what would fail. With it, it prints the count and begins: each aggregate is claimed, gets all its waiting versions in order, through the same fold and conditions as from a worker, and is released; one that fails is blocked again and not tried twice.

A record that names no aggregate is looked at again by its item's key: if it is an event by now, it is applied in order and its row ends; so does the row of an item that the layout filters by now.

It may run beside workers and other redrives. SIGINT finishes what is under way; a second one, or a kill, leaves claims that the next redrive takes over. Exit code 3: not all that was asked for was released or ended, or would be; a name that is not blocked, and a marker that this build cannot read, count as not.`
}

func (r redriveCommand) check() error {
	byCause := r.Fingerprint != "" || r.Class != ""
	ways := 0
	for _, given := range []bool{len(r.Aggregate) > 0, byCause, r.All} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("say which: aggregates by name, or --fingerprint or --class, or --all, and only one of these")
	case !(r.Rate >= 0):
		return fmt.Errorf("--rate is %v and must not be negative; 0 means no limit", r.Rate)
	case r.Parallel < 1:
		return fmt.Errorf("--parallel is %d and must be at least 1", r.Parallel)
	case r.ForgetGone && !r.Execute:
		return errors.New("--forget-gone is given without --execute: a dry run ends nothing")
	case r.Queue != "" && !r.Execute:
		return errors.New("--queue is given without --execute: a dry run deletes no letters")
	case !(r.StopAt > 0 && r.StopAt <= 1):
		return fmt.Errorf("--stop-at is %v and must be a share above 0, and 1 at most", r.StopAt)
	}
	return r.filter.check()
}

// Run says what would be done, or does it.
func (r redriveCommand) Run(c cli.Console, s cli.Stop) error {
	if err := r.check(); err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: err}
	}
	ctx, cancel := r.Within(s.Drain)
	defer cancel()
	config, err := r.Config()
	if err != nil {
		return err
	}
	given := r.Queue != ""
	r.Queue = cmp.Or(r.Queue, config.Queue)
	config.Queue = r.Queue
	pipeline, err := r.Wire(ctx, config)
	if err != nil {
		return err
	}
	if r.Execute {
		if err := r.findQueue(ctx, c, pipeline, given); err != nil {
			return err
		}
	}
	listing, err := r.blocked(ctx, pipeline, c, service.Selection{
		Aggregates: r.Aggregate, Fingerprint: r.Fingerprint, Class: r.Class, Limit: r.Limit,
	})
	if err != nil {
		return err
	}
	if r.Execute {
		return r.execute(ctx, c, s, pipeline, listing)
	}
	return r.dryRun(ctx, c, pipeline, listing)
}

// findQueue asks for the queue before anything is released. A flag that names
// none is a mistake; a configuration's queue that is gone is told, and must not
// stand between an operator and the redrive.
func (r redriveCommand) findQueue(ctx context.Context, c cli.Console, pipeline *service.Service, given bool) error {
	err := pipeline.FindQueue(ctx)
	var missing *event.Missing
	switch {
	case err == nil:
		return nil
	case given && errors.As(err, &missing):
		return &cli.ExitError{Code: cli.Usage, Cause: fmt.Errorf("--queue: %w", err)}
	}
	fmt.Fprintf(c.Err, "dlq-redriver: the queue may not be there, and letters of what is released may stay in it: %s\n", cli.Clean(err.Error()))
	return nil
}

// unread counts the markers that were asked for, as far as one can tell, and that
// this build cannot read.
func (r redriveCommand) unread(listing service.Listing) (n int) {
	for _, f := range listing.Foreign {
		if r.All || slices.Contains(r.Aggregate, f.Name) {
			n++
		}
	}
	return n
}

func (r redriveCommand) dryRun(ctx context.Context, c cli.Console, pipeline *service.Service, listing service.Listing) error {
	result := r.result(listing)
	err := pipeline.Try(ctx, listing.Markers, func(t service.Trial) {
		line := aggregateLine{Sink: t.Marker.Key.Sink, Aggregate: t.Marker.Key.Aggregate, Outcome: "would-release", From: t.From, To: t.To}
		switch {
		case t.Untold:
			line.Outcome = "would-try"
			result.WouldTry++
		case t.Err != nil:
			line.Outcome, line.Error = "would-fail", t.Err.Error()
			result.WouldFail++
		default:
			result.WouldRelease++
		}
		result.Aggregates = append(result.Aggregates, line)
	})
	if err != nil {
		return r.Told(ctx, err, "the dry run is not complete")
	}
	if err := r.lookAtRecords(ctx, pipeline, listing.Unroutable, result); err != nil {
		return r.Told(ctx, err, "the dry run is not complete")
	}
	result.sort()
	if err := r.print(c, result); err != nil {
		return err
	}
	if result.WouldFail > 0 || result.WouldEnd < result.Unroutable || result.lacks() {
		return &cli.ExitError{Code: cli.Partly}
	}
	return nil
}

// tellEvery is how often a redrive under way says how far it is.
const tellEvery = 2 * time.Second

func (r redriveCommand) execute(ctx context.Context, c cli.Console, s cli.Stop, pipeline *service.Service, listing service.Listing) error {
	result := r.result(listing)
	result.Executed = true
	fmt.Fprintf(c.Err, "dlq-redriver: redriving %s aggregates, %s versions wait, %s\n",
		cli.Grouped(result.Selected), cli.Grouped(result.Waiting), r.pace())
	told := time.Now()
	options := service.RedriveOptions{Rate: r.Rate, Parallel: r.Parallel, StopShare: r.StopAt, Each: func(one redrive.Result) {
		line := aggregateLine{Sink: one.Sink, Aggregate: one.Aggregate, Outcome: string(one.Outcome), From: one.From, To: one.To}
		if one.Err != nil {
			line.Error = one.Err.Error()
			fmt.Fprintf(c.Err, "dlq-redriver: %s %s: %s\n", cli.Clean(one.Aggregate), one.Outcome, cli.Clean(line.Error))
		}
		result.Aggregates = append(result.Aggregates, line)
		if time.Since(told) >= tellEvery {
			told = time.Now()
			fmt.Fprintf(c.Err, "dlq-redriver: %s of %s\n", cli.Grouped(len(result.Aggregates)), cli.Grouped(result.Selected))
		}
	}}
	if r.Rate == 0 {
		options.Rate = -1
	}
	counts, err := pipeline.Redrive(ctx, s.Abort, listing.Markers, options)
	result.Released, result.Failed, result.Left = counts.Released, counts.Failed, counts.Left
	result.Paused, result.Untouched, result.Stopped = counts.Paused, counts.Untouched, counts.Stopped
	if err == nil && counts.Stopped == "" {
		err = r.rerouteRecords(ctx, c, s, pipeline, listing.Unroutable, result)
	}
	result.sort()
	result.LettersDeleted = r.sweep(ctx, c, pipeline, counts)
	if printed := r.print(c, result); printed != nil {
		return printed
	}
	switch {
	case counts.Done() && result.Ended == result.Unroutable && !result.lacks():
		return nil
	case s.Drain.Err() != nil && err != nil:
		return &cli.ExitError{Code: cli.Interrupted, Cause: errors.New("interrupted; the markers tell what is left, and the same command goes on with it")}
	case err != nil:
		return &cli.ExitError{Code: cli.Partly, Cause: fmt.Errorf("gave up after --timeout %v; the same command goes on", r.Timeout)}
	}
	return &cli.ExitError{Code: cli.Partly}
}

func (r redriveCommand) pace() string {
	if r.Rate == 0 {
		return "without a limit"
	}
	return fmt.Sprintf("at most %v a second", r.Rate)
}

func (r redriveCommand) print(c cli.Console, result *redriveResult) error {
	if r.Output == "json" {
		return cli.PrintJSON(c.Out, result)
	}
	return result.text(c.Out)
}

// result is the result before anything came of it.
func (r redriveCommand) result(listing service.Listing) *redriveResult {
	result := &redriveResult{
		Schema: "millrace.redrive/v1", Selected: len(listing.Markers), Beyond: listing.Beyond(), Unroutable: len(listing.Unroutable), Records: []recordLine{},
		NotBlocked: append([]string{}, listing.Absent...), Unread: r.unread(listing),
		Aggregates: []aggregateLine{}, groups: listing.Groups(),
	}
	for _, m := range listing.Markers {
		result.Waiting += service.Waiting(m)
	}
	return result
}

func (r *redriveResult) sort() {
	slices.SortFunc(r.Aggregates, func(a, b aggregateLine) int {
		return cmp.Or(cmp.Compare(a.Aggregate, b.Aggregate), cmp.Compare(a.Sink, b.Sink))
	})
}
