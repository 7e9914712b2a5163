package status

// Report is what verify found. The counts are of aggregates, but for Events and
// Unroutable, and an aggregate counts once: as a mismatch before it counts as
// missing, then as blocked, then as behind.
type Report struct {
	Aggregates int    `json:"aggregates"`
	Events     uint64 `json:"events"`     // in effect: the sum of all positions
	Behind     int    `json:"behind"`     // position below the head; those without an item too
	Ahead      int    `json:"ahead"`      // position above the head
	Blocked    int    `json:"blocked"`    // position below the head, and held back by a marker; not among those behind
	Skipped    int    `json:"skipped"`    // none: nothing skips a version yet
	Mismatches int    `json:"mismatches"` // the item is not the fold of its events
	Missing    int    `json:"missing"`    // a version is missing in the event store
	Unroutable int    `json:"unroutable"` // items, not aggregates: they should be events and name no aggregate or no version
	// BlockedUnknown is why nobody could say what is blocked; those that may be
	// count as behind then. Empty: Blocked holds.
	BlockedUnknown string `json:"blockedUnknown,omitempty"`
	// Likely is what is wrong in all likelihood, where most items have one thing
	// wrong.
	Likely string `json:"likely,omitempty"`
	// Findings tells some of them, by aggregate.
	Findings []Finding `json:"findings"`
}

// Finding is one thing that is not as it should be.
type Finding struct {
	Kind      string `json:"kind"`      // behind, blocked, ahead, mismatch, missing or unroutable
	Aggregate string `json:"aggregate"` // of an unroutable item the partition key, as far as it is one
	Position  uint64 `json:"position,string"`
	Head      uint64 `json:"head,string"`
	Text      string `json:"text"`
}

// Found is how many things were found; Findings tells some of them.
func (r Report) Found() int {
	return r.Behind + r.Blocked + r.Ahead + r.Mismatches + r.Missing + r.Unroutable
}

// Healthy reports whether nothing was found. What is blocked is accounted for,
// and still the read model is not the fold of all events.
func (r Report) Healthy() bool { return r.Found() == 0 }
