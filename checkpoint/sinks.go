package checkpoint

import "slices"

// Admission is what comes of a worker's sinks meeting those a lease row lists.
type Admission struct {
	// Lacking are listed sinks that the worker does not have. With any, it must
	// not take the lease: what it settles would never reach them.
	Lacking []string
	// Joining are sinks that the row does not list.
	Joining []string
	// Sinks and Unverified are the row's lists after the join, to be written
	// under the lease before the first read. Both are sorted.
	Sinks, Unverified []string
}

// Admitted reports whether the worker may take the lease.
func (a Admission) Admitted() bool { return len(a.Lacking) == 0 }

// Admit compares a row's sinks with a worker's (name@version, any order). A
// sink that joins is unverified: records below the checkpoint were settled
// without it, and only a comparison of heads and positions can clear that.
func Admit(row Lease, sinks []string) Admission {
	var a Admission
	for _, s := range set(row.Sinks) {
		if !slices.Contains(sinks, s) {
			a.Lacking = append(a.Lacking, s)
		}
	}
	for _, s := range set(sinks) {
		if !slices.Contains(row.Sinks, s) {
			a.Joining = append(a.Joining, s)
		}
	}
	a.Sinks = set(row.Sinks, a.Joining)
	a.Unverified = set(row.Unverified, a.Joining)
	return a
}

// set returns the sorted union of lists.
func set(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
