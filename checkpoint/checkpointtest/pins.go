package checkpointtest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"millrace/checkpoint"
	"millrace/source"
)

func pinIsWrittenOnce(c subject) {
	t, h := c.t, c.Harness
	const workers = 8
	pins := make([]checkpoint.Pin, workers)
	errs := make([]error, workers)
	var race sync.WaitGroup
	for i := range workers {
		w := h.Open(fmt.Sprint("w", i))
		p := checkpoint.Pin{Group: group, Table: table, Label: label, At: moment.Add(time.Duration(i) * time.Hour)}
		p.Start = source.Start{Kind: source.AtTime, Time: p.At.Add(-time.Minute)}
		race.Go(func() {
			w.Lose()
			if _, err := w.Pin(t.Context(), p); err == nil {
				errs[i] = fmt.Errorf("w%d's answer was not lost", i)
				return
			}
			pins[i], errs[i] = w.Pin(t.Context(), p)
		})
	}
	race.Wait()
	for i := range workers {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		samePin(t, pins[i], pins[0])
	}
	if pins[0].Start.Kind != source.AtTime || pins[0].At.Sub(pins[0].Start.Time) != time.Minute {
		t.Errorf("the pin that stands is nobody's: %+v", pins[0])
	}

	// Another group or label has its own, and one that looks alike is another.
	w := h.Open("late")
	for _, p := range []checkpoint.Pin{
		{Group: group, Table: table, Label: "2027-01-02T03:04:05.678"},
		{Group: "billing", Table: table, Label: label},
		{Group: group + "|" + table, Table: label, Label: label},
	} {
		p.Start, p.At = source.Start{Kind: source.TrimHorizon}, moment
		got, err := w.Pin(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		samePin(t, got, p)
	}

	for _, kind := range []source.StartKind{0, source.Latest, source.AtSequence, source.AfterSequence, source.ShardEnd} {
		p := checkpoint.Pin{Group: "fresh", Table: table, Label: label, Start: source.Start{Kind: kind}, At: moment}
		if got, err := w.Pin(t.Context(), p); err == nil {
			t.Errorf("pinned %+v", got)
		}
	}
	if leases, err := w.List(t.Context(), group, table); err != nil || len(leases) != 0 {
		t.Errorf("pins are listed as leases: %+v, %v", leases, err)
	}
}

// samePin compares pins to the millisecond, which is what rows keep.
func samePin(t *testing.T, got, want checkpoint.Pin) {
	t.Helper()
	if got.Group != want.Group || got.Table != want.Table || got.Label != want.Label || got.Start.Kind != want.Start.Kind ||
		got.Start.Time.UnixMilli() != want.Start.Time.UnixMilli() || got.At.UnixMilli() != want.At.UnixMilli() {
		t.Errorf("the pin is %+v, want %+v", got, want)
	}
}
