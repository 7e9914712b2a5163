package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"millrace/event"
)

// epoch is when the fake stream's record 0 was created; each number is a second.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeStream is a stream in memory: its shards are listed by id in pages, and
// hold records whose sequence numbers are given.
type fakeStream struct {
	shards   map[ShardID]*fakeShard
	perPage  int // shards of a listing page, records of a read
	fail     map[string][]error
	calls    []string // "op shard detail", in order
	trimmed  int      // records below this number are gone
	lifetime int      // reads after which an iterator has expired; 0: never
}

type fakeShard struct {
	Shard
	records []int
	hidden  bool // the listing does not show it
}

func newFake(perPage int, shards ...*fakeShard) *fakeStream {
	f := &fakeStream{shards: make(map[ShardID]*fakeShard), perPage: perPage, fail: make(map[string][]error)}
	for _, s := range shards {
		f.shards[s.ID] = s
	}
	return f
}

func shard(id ShardID, parents ...ShardID) *fakeShard {
	return &fakeShard{Shard: Shard{ID: id, Parents: parents}}
}

func (s *fakeShard) closed() *fakeShard { s.Closed = true; return s }

func (s *fakeShard) with(records ...int) *fakeShard { s.records = records; return s }

// call notes a call and returns the next error that is set for its operation.
func (f *fakeStream) call(op string, args ...any) error {
	f.calls = append(f.calls, strings.TrimSpace(op+" "+fmt.Sprintln(args...)))
	queue := f.fail[op]
	if len(queue) == 0 {
		return nil
	}
	f.fail[op] = queue[1:]
	return queue[0]
}

func (f *fakeStream) count(op string) (n int) {
	for _, c := range f.calls {
		if strings.HasPrefix(c, op+" ") || c == op {
			n++
		}
	}
	return n
}

func (f *fakeStream) Describe(context.Context) (StreamInfo, error) {
	return StreamInfo{Status: Enabled}, f.call("describe")
}

func (f *fakeStream) Shards(ctx context.Context, after ShardID) ([]Shard, ShardID, error) {
	if err := f.call("shards", after); err != nil {
		if errors.Is(err, errHang) {
			<-ctx.Done()
			return nil, "", ctx.Err()
		}
		return nil, "", err
	}
	var page []Shard
	for _, id := range slices.Sorted(maps.Keys(f.shards)) {
		s := f.shards[id]
		if id <= after || s.hidden {
			continue
		}
		if len(page) == f.perPage {
			return page, page[len(page)-1].ID, nil
		}
		page = append(page, s.Shard)
	}
	return page, "", nil
}

func (f *fakeStream) Children(_ context.Context, parent ShardID) ([]Shard, error) {
	var out []Shard
	for _, id := range slices.Sorted(maps.Keys(f.shards)) {
		if slices.Contains(f.shards[id].Parents, parent) {
			out = append(out, f.shards[id].Shard)
		}
	}
	return out, f.call("children", parent)
}

// An iterator of the fake is "shard/number/read": the first number to read, and
// how many reads the stream had served when it was made.
func (f *fakeStream) iterator(id ShardID, from int) Iterator {
	return Iterator(fmt.Sprintf("%s/%d/%d", id, from, f.count("read")))
}

func (f *fakeStream) Iterator(_ context.Context, id ShardID, from Start) (Iterator, error) {
	if err := f.call("iterator", id, from.Kind, from.Sequence); err != nil {
		return "", err
	}
	s, ok := f.shards[id]
	if !ok {
		return "", ErrShardGone
	}
	number := 0
	switch from.Kind {
	case AtSequence, AfterSequence:
		number, _ = strconv.Atoi(string(from.Sequence))
		if number < f.trimmed {
			return "", fmt.Errorf("fake: %w", ErrTrimmed)
		}
		if from.Kind == AfterSequence {
			number++
		}
	case AtTime:
		number = max(f.trimmed, int(from.Time.Sub(epoch)/time.Second))
	case TrimHorizon:
		number = f.trimmed
	case Latest:
		number = s.records[len(s.records)-1] + 1
	case ShardEnd:
		return "", nil
	}
	return f.iterator(id, number), nil
}

func (f *fakeStream) Read(_ context.Context, it Iterator, limit int) (Page, error) {
	if err := f.call("read", it); err != nil {
		return Page{}, err
	}
	parts := strings.Split(string(it), "/")
	id := ShardID(parts[0])
	from, _ := strconv.Atoi(parts[1])
	made, _ := strconv.Atoi(parts[2])
	s, ok := f.shards[id]
	if !ok {
		return Page{}, ErrShardGone
	}
	if f.lifetime > 0 && f.count("read")-made > f.lifetime {
		return Page{}, fmt.Errorf("fake: %w", ErrIteratorExpired)
	}
	if from < f.trimmed {
		return Page{}, fmt.Errorf("fake: %w", ErrTrimmed)
	}
	var page Page
	for i, n := range s.records {
		if n < from {
			continue
		}
		if len(page.Records) == min(limit, f.perPage) {
			page.Next = f.iterator(id, n)
			return page, nil
		}
		page.Records = append(page.Records, event.Record{
			Sequence: event.SequenceNumber(strconv.Itoa(n)), Created: epoch.Add(time.Duration(n) * time.Second),
		})
		if i == len(s.records)-1 && !s.Closed {
			page.Next = f.iterator(id, n+1)
		}
	}
	if len(page.Records) == 0 && !s.Closed {
		page.Next = it
	}
	return page, nil
}

func numbers(p Page) (out []int) {
	for _, r := range p.Records {
		n, _ := strconv.Atoi(string(r.Sequence))
		out = append(out, n)
	}
	return out
}

func ids(shards []Shard) (out []ShardID) {
	for _, s := range shards {
		out = append(out, s.ID)
	}
	return out
}

func mustDiscover(t *testing.T, f *fakeStream, l *Listing) {
	t.Helper()
	if err := Discover(t.Context(), f, l, Budget{}); err != nil {
		t.Fatal(err)
	}
}
