package dynamodbstreams

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/source"
)

// reader is one consumer group without sinks: rows in memory, one cursor a
// shard, and the versions of each aggregate in the order in which they came.
type reader struct {
	t       *testing.T
	s       *Stream
	listing source.Listing
	rows    map[source.ShardID]source.Row
	cursors map[source.ShardID]*source.Cursor
	seen    map[string][]int
	gone    int
}

func (r *reader) count() (n int) {
	for _, versions := range r.seen {
		n += len(versions)
	}
	return n
}

func total(written map[string]int) (n int) {
	for _, versions := range written {
		n += versions
	}
	return n
}

// round lists, makes rows, asks, and reads one page of every shard that is
// ready. Calls may fail: the next round tries again.
func (r *reader) round() {
	ctx := r.t.Context()
	_ = source.Discover(ctx, r.s, &r.listing, source.Budget{Calls: 3})
	lineage := source.Lineage{Rows: r.rows, Listing: &r.listing, Asked: make(map[source.ShardID]bool)}
	for _, s := range lineage.Unmade() {
		r.rows[s.ID] = source.Row{Parents: s.Parents}
	}
	for _, id := range slices.Sorted(maps.Keys(r.rows)) {
		if r.rows[id].Finished {
			continue
		}
		if r.cursors[id] == nil {
			for _, p := range lineage.Verdict(id).Unknown {
				if there, err := source.Exists(ctx, r.s, p); err == nil {
					lineage.Asked[p] = there
				}
			}
			v := lineage.Verdict(id)
			if !v.Ready() {
				continue
			}
			r.gone += len(v.Gone)
			r.cursors[id] = follow(r.t, r.s, id, lineage.Start(id, horizon))
		}
		r.read(id)
	}
}

func (r *reader) read(id source.ShardID) {
	c := r.cursors[id]
	page, err := c.Read(r.t.Context(), 7)
	if err != nil && event.ClassOf(err) != event.Transient {
		r.t.Fatalf("reading %s: %v", id, err)
	}
	for _, rec := range page.Records {
		aggregate, _ := rec.Keys["pk"].(event.String)
		sk, _ := rec.Keys["sk"].(event.String)
		r.seen[string(aggregate)] = append(r.seen[string(aggregate)], atoi(string(sk)))
	}
	if !c.Ended() {
		return
	}
	// The children's rows come before the parent is finished.
	children, err := r.s.Children(r.t.Context(), id)
	if err != nil {
		return
	}
	r.listing.Found(children...)
	for _, child := range children {
		if _, ok := r.rows[child.ID]; !ok {
			r.rows[child.ID] = source.Row{Parents: child.Parents}
		}
	}
	r.rows[id] = source.Row{Parents: r.rows[id].Parents, Finished: true}
}

// TestEveryRecordOnceInOrder through splits, roll-overs, listings that lag and
// hide parents, throttles, errors and expired iterators. The stream keeps an
// aggregate in one lineage here, so its versions come in order: any disorder
// is a child read before its parent.
func TestEveryRecordOnceInOrder(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				b := newBench(t, localaws.Options{
					Seed: seed, Shards: 1 + random.IntN(4), ListingLag: 40 * time.Second, ChildFilterLag: 20 * time.Second,
					ChildSequences: localaws.Sequences(seed % 3),
				})
				r := &reader{
					t: t, s: b.find(t), rows: make(map[source.ShardID]source.Row), cursors: make(map[source.ShardID]*source.Cursor),
					seen: make(map[string][]int),
				}
				reading := func(c localaws.Call) bool { return c.Service == localaws.Streams }
				for _, action := range []localaws.Action{localaws.Throttle, localaws.FailBefore, localaws.LoseAnswer} {
					b.Inject(localaws.Fault{Match: reading, Do: action, Share: 0.05})
				}
				written := make(map[string]int)
				for range 80 {
					for range random.IntN(12) {
						aggregate := fmt.Sprint("a", random.IntN(9))
						written[aggregate]++
						b.append(t.Context(), t, aggregate, written[aggregate])
					}
					var open []string
					for _, s := range b.Shards(table) {
						if !s.Closed {
							open = append(open, s.ID)
						}
					}
					must := func(err error) {
						if err != nil {
							t.Fatal(err)
						}
					}
					switch shard := open[random.IntN(len(open))]; random.IntN(12) {
					case 0:
						must(b.Split(table, shard))
					case 1:
						must(b.Roll(table, shard))
					case 2:
						must(b.HideParents(table, true))
					case 3:
						must(b.HideParents(table, false))
					case 4:
						must(b.ExpireIterators(table))
					}
					if random.IntN(3) > 0 {
						r.round()
					}
					time.Sleep(10 * time.Second)
				}
				if err := b.HideParents(table, false); err != nil {
					t.Fatal(err)
				}
				for i := 0; i < 300 && r.count() < total(written); i++ {
					r.round()
					time.Sleep(10 * time.Second)
				}
				r.round() // and nothing comes twice
				for aggregate, n := range written {
					want := make([]int, n)
					for i := range want {
						want[i] = i + 1
					}
					if !slices.Equal(r.seen[aggregate], want) {
						t.Errorf("%s: came as %v, want 1 to %d", aggregate, r.seen[aggregate], n)
					}
				}
				if r.gone != 0 {
					t.Errorf("%d parents called gone, and nothing was trimmed", r.gone)
				}
			})
		})
	}
}

// TestH11_ParentOnAThrottledPage: 101 shards and their children, page 2
// throttled, so that children are listed whose parents are not.
func TestH11_ParentOnAThrottledPage(t *testing.T) {
	b := newBench(t, localaws.Options{Shards: 120})
	s := b.find(t)
	if err := b.RollAll(table); err != nil {
		t.Fatal(err)
	}
	if err := b.HideParents(table, true); err != nil {
		t.Fatal(err)
	}
	b.Inject(localaws.Fault{Match: func(c localaws.Call) bool { return c.Operation == "DescribeStream" }, Do: localaws.Throttle, After: 1, Times: 1})
	var l source.Listing
	if err := source.Discover(t.Context(), s, &l, source.Budget{}); !errors.Is(err, source.ErrThrottled) {
		t.Fatal(err)
	}
	shards := l.Shards()
	if len(shards) != 100 || l.Complete() {
		t.Fatalf("%d shards kept, complete %v", len(shards), l.Complete())
	}
	for _, shard := range shards {
		v := source.Lineage{Listing: &l}.Verdict(shard.ID)
		if v.Ready() || !slices.Equal(v.Unknown, shard.Parents) {
			t.Fatalf("%s: %+v", shard.ID, v)
		}
		there, err := source.Exists(t.Context(), s, v.Unknown[0])
		if err != nil || !there {
			t.Fatal(there, err)
		}
		asked := map[source.ShardID]bool{v.Unknown[0]: there}
		if v := (source.Lineage{Listing: &l, Asked: asked}).Verdict(shard.ID); v.Ready() {
			t.Fatalf("%s is read before its parent: %+v", shard.ID, v)
		}
	}
}
