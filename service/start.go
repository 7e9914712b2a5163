package service

import (
	"context"
	"fmt"
	"time"

	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/source/dynamodbstreams"
)

// startWait bounds the calls that come before a worker runs.
const startWait = 15 * time.Second

// ready finds out whether a worker could do its work: a table that is not there
// shows at the start and by its name, not as a call that is repeated for ever.
// It makes the calls that a worker makes anyway, and so needs no permission of
// its own but for what claimed does without. What will go away by itself is no reason not to start.
func (s *Service) ready(ctx context.Context, stream *dynamodbstreams.Stream) error {
	info, err := stream.Describe(ctx)
	if lasts(err) {
		return err
	}
	switch info.View {
	case "KEYS_ONLY", "OLD_IMAGE":
		return &event.Error{
			Class: event.Permanent, Op: "checking the stream of table " + s.config.Events,
			Err: fmt.Errorf("its records show %s, and a reader needs NEW_IMAGE or NEW_AND_OLD_IMAGES", info.View),
			// API Reference, UpdateTable: the view of a stream cannot be changed.
			Hint: "a stream's view type is fixed: disable the stream and enable a new one",
		}
	}
	for _, t := range s.targets {
		if t.view == nil {
			continue // its positions are in the control table, which was read
		}
		_, err := t.view.Positions(ctx, []string{"-"}) // of nobody: the table and its key are what counts
		if err := s.absentOf(t, err); lasts(err) {
			return err
		}
	}
	return s.claimed(ctx)
}

// claimed finds out for a group that has never begun whether another one keeps
// one of its read models: in all likelihood its name is wrong, and what it wrote would be
// in the other's way. Whoever may not look finds out at the first aggregate.
func (s *Service) claimed(ctx context.Context) error {
	if known, err := s.Known(ctx); err != nil || known {
		return nil //nolint:nilerr // the worker meets it again, and tells
	}
	for _, t := range s.targets {
		if t.view == nil {
			continue // its positions carry its name
		}
		if err := t.view.Claimed(ctx); event.ClassOf(err) == event.Foreign {
			return err
		}
	}
	return nil
}

// absentOf is absent for the table that holds a sink's positions.
func (s *Service) absentOf(t *target, err error) error {
	if t.view == nil {
		return s.absent(err, "control table", s.config.Control)
	}
	return s.absent(err, "read model's table", t.config.ReadModel.Table)
}

func lasts(err error) bool { return err != nil && event.ClassOf(err) != event.Transient }

// absent says which table a call has not found, and what to do.
func (s *Service) absent(err error, what, table string) error {
	if awsclient.Code(err) != "ResourceNotFoundException" {
		return err
	}
	return &event.Error{
		Class: event.Permanent, Op: "finding its tables", Err: &event.Missing{What: what, Name: table, Place: awsclient.Place(s.aws.Region, s.aws.BaseEndpoint), Err: err},
		Hint: "name another, create it, or let a worker create it: CreateTables, --create-tables",
	}
}
