package main

// ratio compares two contenders of one workload in one round.
type ratio struct {
	name         string
	workload     string
	above, below contender
	of           func(result) (float64, bool)
}

func speed(r result) (float64, bool) { return r.EventsPerSecond, true }

func cpu(r result) (float64, bool) {
	if r.CPUSecondsPerMillion == nil {
		return 0, false
	}
	return *r.CPUSecondsPerMillion, true
}

func allRatios() []ratio {
	return []ratio{
		{"hotBacklogVsProjector", hot, product, projector, speed},
		{"hotBacklogShareOfDrain", hot, product, drain, speed},
		{"cpuVsDrain", hot, product, drain, cpu},
		{"uniformVsProjector", uniform, product, projector, speed},
	}
}

// ratios are the medians over the rounds of what each round gave. Within a
// round the two runs met about the same machine; the medians of the runs
// themselves may be of different rounds.
func ratios(results []result) map[string]float64 {
	out := map[string]float64{}
	for _, r := range allRatios() {
		if values := r.byRound(results); len(values) > 0 {
			out[r.name] = rounded(median(values))
		}
	}
	return out
}

func (r ratio) byRound(results []result) []float64 {
	above, below := map[int]float64{}, map[int]float64{}
	for _, x := range results {
		v, known := r.of(x)
		switch {
		case x.Workload != r.workload || !known:
		case x.Baseline == r.above:
			above[x.Round] = v
		case x.Baseline == r.below:
			below[x.Round] = v
		}
	}
	var values []float64
	for round, v := range above {
		if w := below[round]; w > 0 {
			values = append(values, v/w)
		}
	}
	return values
}
