package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/jitter"
)

// RedriveOptions says how a redrive goes about it. Zero fields mean their
// defaults.
type RedriveOptions struct {
	// Job names the redrive in markers. Default: host, process and a nonce.
	Job string
	// Rate is how many aggregates are begun per second. Default 50; negative
	// means no limit.
	Rate float64
	// Parallel is how many aggregates are worked on at a time. Default 8.
	Parallel int
	// StopShare stops the redrive when this share of what it has tried could not
	// be released, and Sample or more were tried: the cause is not gone then, and
	// each try costs a new block. Default 0.2; 1 stops when all fail.
	StopShare float64
	// Sample is how many are tried before StopShare counts. Until then one is
	// worked on at a time. Default 10.
	Sample int
	// Patience is how long transient failures of one step are retried. Default
	// 30 s.
	Patience time.Duration
	// Each is told every result, one at a time.
	Each func(redrive.Result)
}

func (o RedriveOptions) withDefaults() RedriveOptions {
	if o.Job == "" {
		o.Job = workerID()
	}
	if o.Rate == 0 {
		o.Rate = 50
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.StopShare <= 0 {
		o.StopShare = 0.2
	}
	if o.Sample <= 0 {
		o.Sample = 10
	}
	if o.Each == nil {
		o.Each = func(redrive.Result) {}
	}
	return o
}

// Redriven counts what came of a redrive, by aggregate.
type Redriven struct {
	Selected  int
	Released  int    // live again
	Failed    int    // blocked again
	Left      int    // somebody else's, or live already
	Paused    int    // the tables did not answer, or the read model is somebody else's; claimed, and anybody may go on
	Untouched int    // not begun, or cut short
	Stopped   string // why it ended early; empty: it did not
}

// Done reports whether all that was selected is live again by this redrive.
func (r Redriven) Done() bool { return r.Released == r.Selected }

// Redrive brings back the aggregates of a listing of this service, and none
// else, beside whatever workers are doing. The end of ctx lets those under way finish; the
// end of abort cuts them short. Either way the markers tell what is left to do,
// and the next redrive goes on with it; so it does after a crash. The error is
// that of ctx or abort, and the counts hold with it.
func (s *Service) Redrive(ctx, abort context.Context, list []failure.Marker, o RedriveOptions) (Redriven, error) {
	j := &job{
		RedriveOptions: o.withDefaults(),
		redrivers:      map[string]*redrive.Redriver{},
		counts:         Redriven{Selected: len(list), Untouched: len(list)},
	}
	for _, m := range list {
		if s.of(m.Key) == nil {
			return j.counts, fmt.Errorf("redriving %s: no sink of this pipeline has such a marker", m.Key)
		}
	}
	for _, t := range s.targets {
		var err error
		if j.redrivers[t.config.Name], err = s.redriver(t, j.RedriveOptions); err != nil {
			return j.counts, err
		}
	}
	return j.run(ctx, abort, list)
}

// redriver is that of one sink.
func (s *Service) redriver(t *target, o RedriveOptions) (*redrive.Redriver, error) {
	sink, err := t.shared()
	if err != nil {
		return nil, err
	}
	return &redrive.Redriver{Markers: s.Markers(), Events: s.events, Sink: sink, Job: o.Job, Patience: o.Patience, Jitter: jitter.New()}, nil
}

// job is one redrive under way.
type job struct {
	RedriveOptions
	redrivers map[string]*redrive.Redriver // by sink

	mu     sync.Mutex
	counts Redriven
}

func (j *job) run(ctx, abort context.Context, list []failure.Marker) (Redriven, error) {
	var under sync.WaitGroup
	slots := make(chan struct{}, j.Parallel)
	began := time.Now()
	var err error
	for i, marker := range list {
		if err = j.pace(ctx, began, i); err != nil {
			break
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil || j.stops() {
			break
		}
		under.Go(func() {
			j.one(abort, marker)
			<-slots
		})
		if i < j.Sample {
			under.Wait() // the sample costs no more than itself
		}
	}
	under.Wait()
	if err == nil {
		err = context.Cause(abort)
	}
	return j.counts, err
}

// pace waits until it is the n-th one's turn.
func (j *job) pace(ctx context.Context, began time.Time, n int) error {
	if j.Rate < 0 {
		return context.Cause(ctx)
	}
	due := began.Add(time.Duration(float64(n) / j.Rate * float64(time.Second)))
	return jitter.Sleep(ctx, time.Until(due))
}

// stops reports whether too much has failed, and says so in the counts.
func (j *job) stops() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	bad := j.counts.Failed + j.counts.Paused
	tried := j.counts.Released + bad
	if tried < j.Sample || float64(bad) < j.StopShare*float64(tried) {
		return false
	}
	j.counts.Stopped = fmt.Sprintf("%d of %d could not be released", bad, tried)
	return true
}

func (j *job) one(ctx context.Context, marker failure.Marker) {
	result, err := j.redrivers[marker.Key.Sink].Redrive(ctx, marker)
	if err != nil && result.Outcome == "" {
		return // cut short: it counts as untouched
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts.Untouched--
	switch result.Outcome {
	case redrive.Released:
		j.counts.Released++
	case redrive.Failed:
		j.counts.Failed++
	case redrive.Left:
		j.counts.Left++
	case redrive.Paused:
		j.counts.Paused++
	}
	j.Each(result)
}
