package main

import (
	"slices"
	"testing"

	"millrace/pipeline"
)

// TestH22_ProgressTellsOfAPause: a worker that reads nothing has every sink
// paused, whatever each of them would say.
func TestH22_ProgressTellsOfAPause(t *testing.T) {
	for _, tc := range []struct {
		stats pipeline.Stats
		want  []string
	}{
		{pipeline.Stats{}, []string{}},
		{pipeline.Stats{PausedSinks: []string{"view"}}, []string{"view"}},
		{pipeline.Stats{PausedSinks: []string{"view"}, PausedReason: pipeline.PausedForLayout}, []string{"*"}},
	} {
		if got := pausedOf(tc.stats); got == nil || !slices.Equal(got, tc.want) {
			t.Errorf("%+v shows %v, want %v", tc.stats, got, tc.want)
		}
	}
}
