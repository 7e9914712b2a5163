package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// hotPlan is the appends of the hot aggregate, and where it is split.
type hotPlan struct {
	appends []appendOne
	before  uint64 // so much of it is appended before the split
	cut     uint64 // the first version in the upper half
	gap     bool   // both halves get some, so that a gap opens when the lower one lags
}

// planHot plans the appends of n events. The split lies above what is appended
// before it, by a lag; the poison lies above the split, since nothing of an
// aggregate that is blocked is missed, and no gap would be filled.
func planHot(random *rand.Rand, n, lag int, poison bool) hotPlan {
	before := int(cutShare * float64(n))
	lag = max(1, min(2*maxBatch+lag, (n-before)/4))
	p := hotPlan{before: uint64(before), cut: uint64(before + lag + 1), gap: before+lag < n} //nolint:gosec // counts
	poisoned := 0
	if poison {
		poisoned = min(n, max(before+lag+1+maxBatch, int(poisonShare*float64(n))))
	}
	for at := 0; at < n; {
		size := min(n-at, 1+random.IntN(maxBatch))
		for _, border := range []int{before, poisoned} { // is the end of an append
			if at < border {
				size = min(size, border-at)
			}
		}
		p.appends = append(p.appends, appendOne{
			aggregate: hotAggregate, expected: uint64(at), n: size, poison: at+size == poisoned, //nolint:gosec // a count
		})
		at += size
	}
	return p
}

// wait has what lies above the split wait for it, where there is a gap to make.
func (p hotPlan) wait(cut <-chan struct{}) {
	for i := range p.appends {
		if p.gap && p.appends[i].expected == p.before {
			p.appends[i].after = cut
		}
	}
}

// planCold plans the appends of n events of so many aggregates, by writer.
func planCold(random *rand.Rand, n, aggregates int) [][]appendOne {
	writers := make([][]appendOne, coldWriters)
	versions := make([]uint64, aggregates)
	for left := n; left > 0; {
		i := random.IntN(aggregates)
		size := 1
		if untouched := n - left; untouched < aggregates {
			i = untouched // each aggregate begins once
		} else if random.IntN(5) == 0 {
			size = min(left, 2+random.IntN(3))
		}
		w := i % coldWriters
		writers[w] = append(writers[w], appendOne{aggregate: fmt.Sprintf("order-%05d", i+1), expected: versions[i], n: size})
		versions[i] += uint64(size) //nolint:gosec // a count
		left -= size
	}
	return writers
}

// plant makes an append of each of n aggregates poison, of those that have one
// nearest to where in the traffic the poison is to be.
func plant(writers [][]appendOne, n int) {
	type spot struct {
		a    *appendOne
		away float64
	}
	nearest := map[string]spot{}
	for _, appends := range writers {
		total, done := 0, 0
		for _, a := range appends {
			total += a.n
		}
		for i := range appends {
			a := &appends[i]
			away := math.Abs(float64(done)/float64(total) - poisonShare)
			if best, met := nearest[a.aggregate]; !met || away < best.away {
				nearest[a.aggregate] = spot{a, away}
			}
			done += a.n
		}
	}
	spots := make([]spot, 0, len(nearest))
	for _, s := range nearest {
		spots = append(spots, s)
	}
	slices.SortFunc(spots, func(x, y spot) int {
		return cmp.Or(cmp.Compare(x.away, y.away), cmp.Compare(x.a.aggregate, y.a.aggregate))
	})
	for _, s := range spots[:n] {
		s.a.poison = true
	}
}
