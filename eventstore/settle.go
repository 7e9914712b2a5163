package eventstore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// judge decides what a cancelled transaction means for its plan.
func (s *Store) judge(ctx context.Context, p *plan, cancelled *types.TransactionCanceledException) error {
	reasons := cancelled.CancellationReasons
	head := types.CancellationReason{}
	if s.layout.Head.Key != "" && len(reasons) == len(p.items)+1 {
		head, reasons = reasons[len(p.items)], reasons[:len(p.items)]
	}
	if len(reasons) != len(p.items) {
		return invalid(p.op(), fmt.Errorf("%d reasons for %d items: %w", len(reasons), len(p.items), cancelled))
	}
	stands := make([]event.Item, len(p.items))
	// A head that has moved is no verdict: our own append may have moved it. What
	// stands at the new versions tells.
	failed, throttled := meaningOf(head) == taken, meaningOf(head) == slower
	if meaningOf(head) == refused {
		return invalid(p.op(), tell(len(p.items), head))
	}
	for i, reason := range reasons {
		switch meaningOf(reason) {
		case innocent:
		case slower:
			throttled = true
		case refused:
			return invalid(p.op(), tell(i, reason))
		case taken:
			failed = true
			item, err := awsvalue.Item(reason.Item)
			if err != nil {
				return invalid(p.op(), err)
			}
			stands[i] = item
		}
	}
	if failed && !throttled {
		return s.settle(ctx, p, stands)
	}
	// A race that is visibly lost is lost whatever else was throttled.
	if conflict := p.foreign(stands); conflict != nil {
		return conflict
	}
	return &event.Error{Class: event.Transient, Op: p.op(), Err: cancelled}
}

// settle decides a failed condition by what stands at the plan's keys, in its
// order; nil where the answer did not say. A write whose answer was lost comes
// back as a failed condition, so that finding exactly our own items means
// success.
func (s *Store) settle(ctx context.Context, p *plan, stands []event.Item) error {
	if conflict := p.foreign(stands); conflict != nil {
		return conflict
	}
	if p.stands(stands) {
		return nil
	}
	// Until the look succeeds, what failed the condition may be ours.
	p.unsettled = true
	// The service need not report more than the first failed condition, and not
	// every endpoint returns the items: look, all at one instant.
	versions := make([]uint64, len(p.items))
	for i := range versions {
		versions[i] = p.expected + uint64(i) + 1
	}
	stands, err := s.get(ctx, p.partition, versions)
	if err != nil {
		return err
	}
	if conflict := p.foreign(stands); conflict != nil {
		return conflict
	}
	if p.stands(stands) {
		return nil
	}
	// Some are missing: what failed the condition was removed meanwhile.
	return &Conflict{Aggregate: p.aggregate, Expected: p.expected, Version: p.expected + 1}
}

// foreign is the conflict with the first item that is not ours, nil if there
// is none.
func (p *plan) foreign(stands []event.Item) error {
	for i, item := range stands {
		if len(item) > 0 && !item.Equal(p.items[i]) {
			return &Conflict{Aggregate: p.aggregate, Expected: p.expected, Version: p.expected + uint64(i) + 1, Stands: item}
		}
	}
	return nil
}

// stands reports whether every one of the plan's items is there.
func (p *plan) stands(stands []event.Item) bool {
	for i, item := range stands {
		if !item.Equal(p.items[i]) {
			return false
		}
	}
	return true
}
