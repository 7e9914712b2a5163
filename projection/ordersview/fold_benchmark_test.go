package ordersview_test

import (
	"testing"

	"millrace/projection/ordersview"
)

// BenchmarkFold is the cost of one event.
func BenchmarkFold(b *testing.B) {
	p, err := ordersview.Projection()
	if err != nil {
		b.Fatal(err)
	}
	state, err := p.Start(nil)
	if err != nil {
		b.Fatal(err)
	}
	e := added(1, "0.25")
	b.ReportAllocs()
	for b.Loop() {
		if err := state.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
}
