package sim

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"millrace/event"
)

// rest is how a world came to rest after its last fault.
type rest struct {
	At    time.Time       // everything was applied, or on record as blocked and told
	Queue map[string]bool // the blocks whose letters were in the queue then
	Took  time.Duration
}

// settle waits until everything is applied, or on record as blocked, passed by
// a checkpoint and told. Only then is the cause of what is still blocked
// mended, and an operator redrives, until everything is applied. Each may take
// as long as Bound.
func (w *world) settle() rest {
	w.jobs.Wait()
	took := w.await(true)
	rested := rest{At: time.Now(), Queue: w.told(), Took: took}
	if w.plan.troubled() {
		if w.newest() == broken {
			w.mend()
		}
		w.rollOut()
		w.tasks.Go(w.operate)
		rested.Took = max(took, w.await(false))
	}
	// It stays for longer than a lease: a grant whose answers were all lost has no
	// owner that knows of it, and ends by expiry only.
	w.sleepUntil(w.plan.Quiet + lease + 5*time.Second)
	return rested
}

// await waits until nothing is unsettled, with what is blocked allowed or not.
func (w *world) await(blocked bool) time.Duration {
	began, bound := time.Now(), Bound
	if w.tamper.Bound > 0 {
		bound = w.tamper.Bound
	}
	what := w.unsettled(blocked)
	for what != "" && time.Since(began) < bound {
		w.sleep(500 * time.Millisecond)
		what = w.unsettled(blocked)
	}
	if what != "" {
		w.note("progress", "", "%v after %s still: %s", bound, began.Format(clock), what)
	}
	return time.Since(began)
}

// rollOut stops the workers of the old build, one after the other.
func (w *world) rollOut() {
	for slot := range workers {
		w.tasks.Go(func() {
			pause(w.life, chance(w.plan.Seed).between(0, 20*time.Second, "roll out", slot))
			if p := w.process(slot); p != nil && p.build == broken {
				p.end()
			}
		})
	}
}

func (w *world) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.processes {
		p.disarm()
	}
}

// unsettled says what is not applied or not passed by a checkpoint yet, "" when
// everything is. Where that is allowed, an aggregate may be blocked instead:
// with all its versions on record, and its letter sent. What needs no operator
// must have ended by itself.
func (w *world) unsettled(blocked bool) string {
	w.mu.Lock()
	heads := maps.Clone(w.heads)
	w.mu.Unlock()
	markers := w.standing()
	for _, aggregate := range sorted(heads) {
		item := w.engine.Item(viewTable, event.Item{"pk": event.String(aggregate)})
		viewed, _ := strconv.Atoi(text(item[positionAttribute]))
		logged := len(w.memory.target.Versions(identity(logSink), aggregate))
		for sink, at := range map[string]int{viewSink: viewed, logSink: logged} {
			m := markers[version{sink, aggregate, 0}]
			switch {
			case m.State == "blocked" && m.Class == "gap":
				return fmt.Sprintf("aggregate %s is blocked in %s for version %d, which is there", aggregate, sink, m.Blocked)
			case m.holds() && at >= m.Seen:
				return fmt.Sprintf("aggregate %s is %s in %s up to %d and at %d", aggregate, m.State, sink, m.Seen, at)
			case m.holds() && !blocked:
				return fmt.Sprintf("aggregate %s is %s in %s", aggregate, m.State, sink)
			case at < heads[aggregate] && !m.covers(heads[aggregate]):
				return fmt.Sprintf("aggregate %s is at %d of %d in %s, with %d on record", aggregate, at, heads[aggregate], sink, m.Seen)
			}
		}
	}
	if what := w.untold(markers); what != "" {
		return what
	}
	return w.unpassed()
}

// untold says which block's letter is not in the queue.
func (w *world) untold(markers map[version]Marker) string {
	sent := w.told()
	for _, m := range markers {
		if m.State == "blocked" && !sent[m.Block] {
			return fmt.Sprintf("the letter of %s in %s, blocked at %d, is not sent", m.Aggregate, m.Sink, m.Blocked)
		}
	}
	return ""
}

// unpassed says which shard's checkpoint is not at its end.
func (w *world) unpassed() string {
	rows := map[string]Row{}
	for _, item := range w.engine.Items(controlTable) {
		if row, ok := rowOf(item); ok {
			rows[row.Shard] = row
		}
	}
	for _, s := range w.engine.Shards(eventsTable) {
		row, known := rows[s.ID]
		// Shards go on rolling over while all is quiet: the newest are always
		// under way.
		switch {
		case !known && (s.Records > 0 || time.Since(s.Opened) > 2*time.Minute):
			return fmt.Sprintf("shard %s has no lease row", s.ID)
		case s.Closed && time.Since(s.Sealed) > 30*time.Second && row.State != "finished":
			return fmt.Sprintf("shard %s was closed at %s and its lease row is %s, at %v", s.ID, s.Sealed.Format(clock), row.State, row.Checkpoint)
		case s.Records > 0 && row.State != "finished" && !row.Checkpoint.passed(s.Last):
			return fmt.Sprintf("shard %s ends at %s and its checkpoint is %v, held by %q", s.ID, s.Last, row.Checkpoint, row.Owner)
		}
	}
	return ""
}
