package service

import (
	"context"
	"errors"
	"slices"

	"millrace/checkpoint"
	"millrace/pipeline"
	"millrace/source"
	"millrace/source/dynamodbstreams"
)

// following is the stream that a worker is to read.
type following struct {
	*dynamodbstreams.Stream
	start source.StartKind
}

// follow chooses among a table's streams: one that was disabled and enabled
// again has another label, and what the group has not read of the earlier one
// is kept for 24 hours and comes first. A stream after the group's first starts
// at its trim horizon whatever the configuration says: at its end would be to
// skip what was written since.
func (s *Service) follow(ctx context.Context, newest *dynamodbstreams.Stream, control pipeline.Control) (following, error) {
	chosen := following{Stream: newest, start: s.config.start()}
	rows, err := control.List(ctx, s.config.Group, s.config.Events)
	if err != nil {
		return chosen, s.absent(err, "control table", s.config.Control)
	}
	var unread []string // they begin with the time of their making
	for _, l := range rows {
		if l.Key.Label == newest.Label() {
			continue
		}
		chosen.start = source.TrimHorizon
		if l.State != checkpoint.Finished {
			unread = append(unread, l.Key.Label)
		}
	}
	slices.Sort(unread)
	for _, label := range slices.Compact(unread) {
		earlier := newest.Labelled(label)
		switch _, err := earlier.Describe(ctx); {
		case err == nil:
			s.config.Log.Warn().Str("label", label).Msg("an earlier stream of the table is not read to its end, and comes first")
			chosen.Stream = earlier
			return chosen, nil
		case errors.Is(err, source.ErrStreamGone):
			s.config.Log.Error().Str("label", label).
				Msg("an earlier stream of the table was not read to its end and is gone; verify shows which aggregates lack its last events")
		default:
			return chosen, err
		}
	}
	return chosen, nil
}

// succeeded reports whether the table has another stream than one by now.
func (s *Service) succeeded(adapter *dynamodbstreams.Client, read string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		newest, err := adapter.Find(ctx, s.config.Events)
		return err == nil && newest.Label() != read, err
	}
}
