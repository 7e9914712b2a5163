package pipeline

import "slices"

// Histogram counts values by size. It is not safe for concurrent use.
type Histogram struct {
	Bounds []float64 // upper ones, ascending; the last count is of what is above all
	Counts []uint64  // one more than bounds
	Sum    float64
}

func newHistogram(bounds ...float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

func (h *Histogram) observe(v float64) {
	at, _ := slices.BinarySearch(h.Bounds, v)
	h.Counts[at]++
	h.Sum += v
}

func (h *Histogram) clone() Histogram {
	return Histogram{Bounds: h.Bounds, Counts: slices.Clone(h.Counts), Sum: h.Sum}
}

// Count is how many values there were.
func (h Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}
