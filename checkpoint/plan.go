package checkpoint

import (
	"cmp"
	"slices"
)

// View is what a worker knows when it decides which leases to take.
type View struct {
	Leases []Lease // all rows of the group on the table's streams
	Sinks  []string
	// Held are the leases this process holds. A row that names this worker and
	// is not among them is an orphan, and is taken like any other once expired.
	Held map[LeaseKey]bool
	// Expired judges leases that have an owner (Watch.Expired).
	Expired func(Lease) bool
	// Ready tells whether a waiting lease's parents are done, gone ones
	// included. Default: all of them have rows here, and those are finished. A
	// parent without a row is not a parent that is gone.
	Ready func(Lease) bool
}

// Plan chooses the leases to take now, at most limit of them, in the order in
// which to try: free ones before expired ones, and the oldest shards first,
// since their records are trimmed first. (The labels and shard ids of DynamoDB
// Streams begin with their creation time, so their text tells which is older.)
// One view gives one plan.
func Plan(v View, limit int) []Lease {
	ready := v.Ready
	if ready == nil {
		ready = v.parentsFinished()
	}
	var free, expired []Lease
	for _, l := range v.Leases {
		live := l.State == Active || l.State == Draining || l.State == WaitingForParent && ready(l)
		switch {
		case !live, v.Held[l.Key], !Admit(l, v.Sinks).Admitted():
		case l.Owner == "":
			free = append(free, l)
		case v.Expired != nil && v.Expired(l):
			expired = append(expired, l)
		}
	}
	slices.SortFunc(free, byAge)
	slices.SortFunc(expired, byAge)
	plan := append(free, expired...)
	return plan[:max(0, min(limit, len(plan)))]
}

// byAge orders leases by label, then shard.
func byAge(a, b Lease) int {
	return cmp.Or(cmp.Compare(a.Key.Label, b.Key.Label), cmp.Compare(a.Key.Shard, b.Key.Shard))
}

// parentsFinished returns the default of View.Ready.
func (v View) parentsFinished() func(Lease) bool {
	finished := map[LeaseKey]bool{}
	for _, l := range v.Leases {
		finished[l.Key] = l.State == Finished
	}
	return func(l Lease) bool {
		for _, parent := range l.Parents {
			key := l.Key
			key.Shard = parent
			if !finished[key] {
				return false
			}
		}
		return true
	}
}
