package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Violation is a statement of the contract that a history breaks.
type Violation struct {
	Rule    string // see Check
	Subject string // an aggregate, a shard or a worker
	Text    string
}

// String shows a violation in one line.
func (v Violation) String() string { return fmt.Sprintf("[%s] %s: %s", v.Rule, v.Subject, v.Text) }

// Check judges a history by these rules:
//
//	store     an aggregate's events are inserted as 1, 2, 3 and so on (P), in
//	          another order only where the world has broken it
//	order     a sink applies no version before the one below it (C1)
//	once      a sink applies no version again (C2)
//	model     the read model is the fold of the events up to its position
//	lost      in the end every version is applied in every sink (C3)
//	ahead     at no time has a checkpoint passed a version that is neither in
//	          effect nor on the record of a marker that is not live (C3, I1)
//	seen      what a marker has on record does not fall until it is live (I2)
//	freed     a marker becomes live only when all it has on record is in
//	          effect (I3)
//	marker    a row changes its state by one of the protocol's steps, under a
//	          generation that it never had
//	held      in the end no marker is held (C9), and when the world has come to
//	          rest none that its position has passed, or whose hole is filled
//	letter    letters are of blocks that were, none is on record as sent before
//	          the queue has it, and that of each block that stands when the
//	          world has come to rest is in the queue then
//	back      no checkpoint and no state ever goes back (C6)
//	fence     only its holder changes a lease row, and a grant takes a row that
//	          is free, or its taker's own, or whose heartbeat stood still for a
//	          lease (C6)
//	readers   whoever sends a read of a shard owns its lease row then (C4)
//	lineage   a shard is read when its ancestors' versions are applied, or on
//	          record (C5)
//	release   in the end no lease has an owner, but for those that crashed (C10)
//
// and by what the world saw itself:
//
//	appender  an append without a rival met one
//	stop      a worker failed, or did not end in time (C10)
//	progress  all but what is blocked is applied within Bound of the last fault,
//	          and the rest within Bound of the redrive after the fix (C8, C12)
func Check(e Evidence) []Violation {
	c := &checker{Evidence: e, applied: map[version]time.Time{}, heads: map[string]int{}, markers: map[version][]Marker{}, passed: map[string][]passage{}}
	c.found = append(c.found, e.Notes...)
	c.store()
	c.effects()
	c.lost()
	for _, m := range e.Markers {
		of := version{m.Sink, m.Aggregate, 0}
		c.markers[of] = append(c.markers[of], m)
	}
	c.leases()
	c.blocks()
	c.letters()
	c.readers()
	c.lineage()
	return c.found
}

type version struct {
	sink, aggregate string
	number          int
}

type checker struct {
	Evidence
	found   []Violation
	heads   map[string]int
	amounts map[string]map[int]int
	applied map[version]time.Time // when each took effect for the first time
	markers map[version][]Marker  // the changes of each
	passed  map[string][]passage  // of each aggregate
}

// passage is when a checkpoint passed a version.
type passage struct {
	version int
	at      time.Time
}

// settled reports whether a version had a right to be settled in a sink.
func (c *checker) settled(v version, at time.Time) bool {
	if done, ok := c.applied[v]; ok && !done.After(at) {
		return true
	}
	var last Marker
	for _, m := range c.markers[version{v.sink, v.aggregate, 0}] {
		if m.At.After(at) {
			break
		}
		last = m
	}
	return last.covers(v.number)
}

func (c *checker) violated(rule, subject, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Subject: subject, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) store() {
	c.amounts = map[string]map[int]int{}
	for _, e := range c.Events {
		_, twice := c.amounts[e.Aggregate][e.Version]
		if !e.Insert || twice || e.Version != c.heads[e.Aggregate]+1 && !c.Holed[e.Aggregate] {
			c.violated("store", e.Aggregate, "version %d was stored after %d (insert: %v)", e.Version, c.heads[e.Aggregate], e.Insert)
		}
		c.heads[e.Aggregate] = max(c.heads[e.Aggregate], e.Version)
		if c.amounts[e.Aggregate] == nil {
			c.amounts[e.Aggregate] = map[int]int{}
		}
		c.amounts[e.Aggregate][e.Version] = e.Amount
	}
}

func (c *checker) effects() {
	positions := map[version]uint64{}
	for _, f := range c.Effects {
		key := version{f.Sink, f.Aggregate, 0}
		at := positions[key]
		switch {
		case f.To <= at, f.From < at:
			c.violated("once", f.Aggregate, "%s applied %d to %d at %s, with %d applied already", f.Sink, f.From+1, f.To, f.At.Format(clock), at)
		case f.From > at:
			c.violated("order", f.Aggregate, "%s applied %d to %d at %s, with only %d applied", f.Sink, f.From+1, f.To, f.At.Format(clock), at)
		}
		for v := f.From + 1; v <= f.To; v++ {
			done := version{f.Sink, f.Aggregate, int(v)} //nolint:gosec // a count
			if _, known := c.applied[done]; !known {
				c.applied[done] = f.At
			}
		}
		positions[key] = max(at, f.To)
		if f.Sink == viewSink {
			c.model(f)
		}
	}
}

const clock = "15:04:05.000000000"

// model compares what the read model holds with a fold of its own.
func (c *checker) model(f Effect) {
	amounts := c.amounts[f.Aggregate]
	var versions []string
	total := 0
	for v := 1; v <= int(f.To); v++ { //nolint:gosec // a count
		amount, ok := amounts[v]
		if !ok {
			c.violated("model", f.Aggregate, "the read model is at version %d, of which %d was never stored", f.To, v)
			return
		}
		versions = append(versions, strconv.Itoa(v))
		total += amount
	}
	if want := strings.Join(versions, " "); f.Versions != want || f.Total != total {
		c.violated("model", f.Aggregate, "at version %d the read model holds the versions %q and the total %d, want %q and %d", f.To, f.Versions, f.Total, want, total)
	}
}

func (c *checker) lost() {
	for _, aggregate := range sorted(c.heads) {
		for _, sink := range c.Sinks {
			var missing []int
			for v := 1; v <= c.heads[aggregate]; v++ {
				if _, ok := c.applied[version{sink, aggregate, v}]; !ok {
					missing = append(missing, v)
				}
			}
			if len(missing) > 0 {
				c.violated("lost", aggregate, "%s never applied %v of %d", sink, missing, c.heads[aggregate])
			}
		}
	}
}

func (c *checker) leases() {
	records := map[string][]Event{} // of each shard
	for _, e := range c.Events {
		records[e.Shard] = append(records[e.Shard], e)
	}
	before := map[string]Row{}
	beaten := map[string]time.Time{} // when the heartbeat changed last
	for _, row := range c.Rows {
		old, known := before[row.Shard]
		if known && !row.New {
			c.change(old, row, row.At.Sub(beaten[row.Shard]))
		}
		if old.Heartbeat != row.Heartbeat {
			beaten[row.Shard] = row.At
		}
		before[row.Shard] = row
		c.ahead(old, row, records[row.Shard])
	}
	for _, shard := range sorted(before) {
		if owner := before[shard].Owner; owner != "" && !c.Crashed[owner] {
			c.violated("release", shard, "%s still holds the lease", owner)
		}
	}
}

// change judges one change of a lease row whose heartbeat stood still before.
func (c *checker) change(old, row Row, still time.Duration) {
	at := row.At.Format(clock)
	if row.Checkpoint.before(old.Checkpoint) {
		c.violated("back", row.Shard, "at %s %s moved the checkpoint from %v to %v", at, row.By, old.Checkpoint, row.Checkpoint)
	}
	if old.State == "finished" && old != (Row{}) && row.State != "finished" {
		c.violated("back", row.Shard, "at %s %s made the finished shard %s", at, row.By, row.State)
	}
	if row.Token != old.Token {
		// A worker may take what it holds itself: the answer to its grant was lost.
		if old.Owner != "" && old.Owner != row.Owner && still < lease {
			c.violated("fence", row.Shard, "at %s %s took the lease from %s, whose heartbeat was %v old", at, row.By, old.Owner, still)
		}
		if row.Checkpoint != old.Checkpoint {
			c.violated("fence", row.Shard, "at %s the grant to %s moved the checkpoint", at, row.Owner)
		}
		return
	}
	if row.By != application(old.Owner) {
		c.violated("fence", row.Shard, "at %s %s changed the row that %q held", at, row.By, old.Owner)
	}
}

// ahead checks that each record which the checkpoint passes by a change was
// settled in every sink at that moment.
func (c *checker) ahead(old, row Row, records []Event) {
	for _, r := range records {
		passed := row.State == "finished" || row.Checkpoint.passed(r.Sequence)
		if !passed || old.State == "finished" || old.Checkpoint.passed(r.Sequence) {
			continue
		}
		c.passed[r.Aggregate] = append(c.passed[r.Aggregate], passage{r.Version, row.At})
		for _, sink := range c.Sinks {
			if !c.settled(version{sink, r.Aggregate, r.Version}, row.At) {
				c.violated("ahead", r.Aggregate, "at %s the checkpoint %v (%s) of shard %s passed version %d, which %s had neither applied nor on record",
					row.At.Format(clock), row.Checkpoint, row.State, row.Shard, r.Version, sink)
			}
		}
	}
}

// readers goes by when the service received a call: one that its caller gave up
// may still be under way when the next owner reads.
func (c *checker) readers() {
	next := 0
	owners := map[string]string{}
	for _, r := range c.Reads {
		for ; next < len(c.Rows) && !c.Rows[next].At.After(r.At); next++ {
			owners[c.Rows[next].Shard] = c.Rows[next].Owner
		}
		if owner := owners[r.Shard]; application(owner) != r.App {
			c.violated("readers", r.Shard, "at %s %s read it, which %q held", r.At.Format(clock), r.App, owner)
		}
	}
}

// application is what a worker calls itself.
func application(worker string) string { return "millrace/" + group + "/" + worker }

func (c *checker) lineage() {
	first := map[string]Read{}
	for _, r := range c.Reads {
		if _, known := first[r.Shard]; !known {
			first[r.Shard] = r
		}
	}
	for _, e := range c.Events {
		for _, sink := range c.Sinks {
			for _, child := range c.descendants(e.Shard) {
				if r, read := first[child]; read && !c.settled(version{sink, e.Aggregate, e.Version}, r.At) {
					c.violated("lineage", child, "%s read it at %s, before %s had applied, or had on record, version %d of %s from its ancestor %s",
						r.App, r.At.Format(clock), sink, e.Version, e.Aggregate, e.Shard)
				}
			}
		}
	}
}

func (c *checker) descendants(shard string) []string {
	var found []string
	for _, child := range sorted(c.Parents) {
		if parent := c.Parents[child]; parent != "" && parent == shard {
			found = append(found, child)
			found = append(found, c.descendants(child)...)
		}
	}
	return found
}

// passed reports whether reading from here does not bring a record again.
func (p Checkpoint) passed(sequence string) bool {
	switch p.Kind {
	case "shard-end":
		return true
	case "after-sequence":
		return sequence != "" && compare(sequence, p.Sequence) <= 0
	case "at-sequence":
		return sequence != "" && compare(sequence, p.Sequence) < 0
	default:
		return false
	}
}

func (p Checkpoint) before(other Checkpoint) bool {
	kinds := []string{"trim-horizon", "at-sequence", "after-sequence", "shard-end"}
	numbered := func(c Checkpoint) bool { return c.Sequence != "" }
	if numbered(p) && numbered(other) {
		return cmp.Or(compare(p.Sequence, other.Sequence), cmp.Compare(slices.Index(kinds, p.Kind), slices.Index(kinds, other.Kind))) < 0
	}
	return slices.Index(kinds, p.Kind) < slices.Index(kinds, other.Kind)
}

// compare orders sequence numbers: they have no leading zeros.
func compare(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
