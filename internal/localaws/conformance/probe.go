package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/smithy-go"
)

// AWS's error codes that the cases expect. The SDK has Go types for most of
// them, but not for ValidationException, so that all are compared as codes.
const (
	validation      = "ValidationException"
	conditionFailed = "ConditionalCheckFailedException"
	cancelled       = "TransactionCanceledException"
	notFound        = "ResourceNotFoundException"
	inUse           = "ResourceInUseException"
)

// probe collects what a case finds. It stands between the case and testing.T,
// since a failure is an error for one target and expected of another.
//
// It is used by the case's own goroutine only.
type probe struct {
	ctx      context.Context
	target   Target
	shared   *tables  // kept over all cases of a run
	own      *tables  // deleted at the end of the case
	queues   []string // URLs, deleted at the end of the case
	failures []string
}

// stop unwinds a case that cannot go on.
type stop struct{}

func (p *probe) run(check func(*probe)) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
		}
	}()
	check(p)
}

func (p *probe) errorf(format string, args ...any) {
	p.failures = append(p.failures, fmt.Sprintf(format, args...))
}

// fatalf records a failure and leaves the case.
func (p *probe) fatalf(format string, args ...any) {
	p.errorf(format, args...)
	panic(stop{})
}

// ok leaves the case if a call failed that must succeed.
func (p *probe) ok(err error, call string) {
	if err != nil {
		p.fatalf("%s: want success, got %v", call, err)
	}
}

// refused records a failure unless err is an AWS error with one of the codes.
func (p *probe) refused(err error, call string, codes ...string) {
	if got := errorCode(err); !slices.Contains(codes, got) {
		p.errorf("%s: want %v, got %s", call, codes, describe(err))
	}
}

// same records a failure unless the two values are the same when printed.
func (p *probe) same(what string, got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		p.errorf("%s: got %s, want %s", what, clip(g), clip(w))
	}
}

// clip keeps items of hundreds of KB out of the log.
func clip(s string) string {
	const most = 600
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", s[:most], len(s))
}

// until polls done, and leaves the case if it stays false for the target's
// waiting time.
func (p *probe) until(what string, done func() bool) {
	deadline := time.Now().Add(p.target.Wait)
	for !done() {
		if time.Now().After(deadline) {
			p.fatalf("waited %v in vain for %s", p.target.Wait, what)
		}
		p.pause()
	}
}

func (p *probe) pause() {
	timer := time.NewTimer(p.target.Poll)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
		p.fatalf("the case ran out of time: %v", p.ctx.Err())
	}
}

func errorCode(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func describe(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}
