package dynamodbstreams

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/source"
)

var horizon = source.Start{Kind: source.TrimHorizon}

// TestEveryTypeArrivesAsStored: R10.
func TestEveryTypeArrivesAsStored(t *testing.T) {
	b := newBench(t, localaws.Options{Shards: 1})
	item := event.Item{
		"pk": event.String("a"), "sk": event.String("b"),
		"digits":   event.Number("12345678901234567890123456789012345678"),
		"small":    event.Number("-0.00000000000000000000000000000000000001234567890123456789012345678901234567"),
		"empty":    event.String(""),
		"text":     event.String("Größe \u0000 \"quoted\" \U0001F600"),
		"bytes":    event.Binary{0, 1, 254, 255},
		"noBytes":  event.Binary{},
		"yes":      event.Bool(true),
		"no":       event.Bool(false),
		"null":     event.Null{},
		"texts":    event.StringSet{"x", "y", "z"},
		"numbers":  event.NumberSet{"1", "2.5", "99999999999999999999999999999999999999"},
		"binaries": event.BinarySet{{1}, {2, 3}},
		"nested": event.Map{
			"list":  event.List{event.Number("1"), event.String(""), event.Null{}, event.List{event.Map{"deep": event.Binary{7}}}},
			"empty": event.Map{}, "none": event.List{},
		},
	}
	b.put(t.Context(), t, item)
	s := b.find(t)
	got := read(t, follow(t, s, discover(t, s)[0].ID, horizon), 1)[0]
	whole, err := got.New.Item()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range item {
		one, err := got.New.Get(name)
		if err != nil || !event.Equal(one, want) || !event.Equal(whole[name], want) {
			t.Errorf("%s: one by one %#v (%v), with all %#v; want %#v", name, one, err, whole[name], want)
		}
	}
	if len(whole) != len(item) || !got.Keys.Equal(event.Item{"pk": event.String("a"), "sk": event.String("b")}) {
		t.Errorf("image %v, keys %v", whole, got.Keys)
	}
	if got.Change != event.Insert || !got.Old.Absent() || got.ID == "" || got.Created.IsZero() {
		t.Errorf("record %+v", got)
	}
}

// TestH6_ChangesAreToldApart: only an insertion can be an event, and a removal
// by TTL is not a hand's.
func TestH6_ChangesAreToldApart(t *testing.T) {
	b := newBench(t, localaws.Options{Shards: 1})
	_, err := b.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(table), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	key := event.Item{"pk": event.String("a"), "sk": event.String("b")}
	with := func(name string, v event.Value) event.Item {
		item := key.Clone()
		item[name] = v
		return item
	}
	seconds := func(ago int64) event.Number { return event.Number(strconv.FormatInt(time.Now().Unix()-ago, 10)) }
	first, second := seconds(200), seconds(100)
	b.put(t.Context(), t, with("ttl", first))
	b.put(t.Context(), t, with("ttl", first)) // changes nothing: no record
	b.put(t.Context(), t, with("ttl", second))
	if n, err := b.ExpireItems(table); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	s := b.find(t)
	got := read(t, follow(t, s, discover(t, s)[0].ID, horizon), 3)
	for i, want := range []struct {
		change   event.Change
		old, new event.Value
		service  bool
	}{
		{event.Insert, nil, first, false},
		{event.Modify, first, second, false},
		{event.Remove, second, nil, true},
	} {
		r := got[i]
		before, _ := r.Old.Get("ttl")
		after, _ := r.New.Get("ttl")
		if r.Change != want.change || r.Service != want.service || before != want.old || after != want.new {
			t.Errorf("record %d: %v from %v to %v, service %v; want %+v", i, r.Change, before, after, r.Service, want)
		}
		if r.Old.Absent() != (want.old == nil) || r.New.Absent() != (want.new == nil) {
			t.Errorf("record %d: images absent: old %v, new %v", i, r.Old.Absent(), r.New.Absent())
		}
	}
}

// TestFault01_MoreShardsThanAPage of a stream with 230 open shards, and the
// children of one.
func TestFault01_MoreShardsThanAPage(t *testing.T) {
	b := newBench(t, localaws.Options{Shards: 230})
	s := b.find(t)
	shards := discover(t, s)
	if len(shards) != 230 {
		t.Fatalf("%d shards listed, want 230", len(shards))
	}
	parent := shards[117].ID
	if err := b.Split(table, string(parent)); err != nil {
		t.Fatal(err)
	}
	children, err := s.Children(t.Context(), parent)
	if err != nil || len(children) != 2 {
		t.Fatalf("children %v, %v", children, err)
	}
	for _, c := range children {
		if c.Closed || !slices.Equal(c.Parents, []source.ShardID{parent}) {
			t.Errorf("child %+v", c)
		}
	}
	for _, shard := range discover(t, s) {
		if shard.Closed != (shard.ID == parent) {
			t.Errorf("%s closed: %v", shard.ID, shard.Closed)
		}
	}
}

// TestFault06_ClosedShardGivesItsLastRecords, and then ends.
func TestFault06_ClosedShardGivesItsLastRecords(t *testing.T) {
	b := newBench(t, localaws.Options{Shards: 1})
	s := b.find(t)
	shard := discover(t, s)[0].ID
	c := follow(t, s, shard, horizon)
	b.append(t.Context(), t, "a", 1)
	got := versions(read(t, c, 1))
	b.append(t.Context(), t, "a", 2)
	if err := b.Roll(table, string(shard)); err != nil {
		t.Fatal(err)
	}
	b.append(t.Context(), t, "a", 3) // in the child
	got = append(got, versions(read(t, c, 10))...)
	if !slices.Equal(got, []string{"a/1", "a/2"}) || !c.Ended() {
		t.Errorf("read %v, ended %v", got, c.Ended())
	}
}

// TestFault08_EngineExpiresIterators before and after the first record.
func TestFault08_EngineExpiresIterators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, localaws.Options{Shards: 1})
		s := b.find(t)
		c := follow(t, s, discover(t, s)[0].ID, horizon)
		if page, err := c.Read(t.Context(), 10); err != nil || len(page.Records) != 0 {
			t.Fatal(page, err)
		}
		for v := range 3 {
			b.append(t.Context(), t, "a", v+1)
			time.Sleep(16 * time.Minute)
			if got, want := versions(read(t, c, 1)), []string{"a/" + string(rune('1'+v))}; !slices.Equal(got, want) {
				t.Fatalf("read %v, want %v", got, want)
			}
		}
		if b.Counters().Total(localaws.CallCount{Operation: "GetRecords", Outcome: expired}) == 0 {
			t.Error("no iterator expired: nothing was tested")
		}
	})
}

// TestFault10_EngineTrims: the checkpoint lies before the horizon.
func TestFault10_EngineTrims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, localaws.Options{Shards: 1, RollAfter: -1})
		s := b.find(t)
		shard := discover(t, s)[0].ID
		for v := range 6 {
			b.append(t.Context(), t, "a", v+1)
			time.Sleep(time.Hour)
		}
		first := read(t, follow(t, s, shard, horizon), 2)
		checkpoint := source.Start{Kind: source.AfterSequence, Sequence: first[1].Sequence}
		if err := b.Trim(table, time.Now().Add(-150*time.Minute)); err != nil {
			t.Fatal(err)
		}
		c := follow(t, s, shard, checkpoint)
		_, err := c.Read(t.Context(), 10)
		var lost *source.Trimmed
		if !errors.As(err, &lost) || lost.From != checkpoint || lost.Shard != shard {
			t.Fatalf("got %v, want what was lost", err)
		}
		if got := versions(read(t, c, 2)); !slices.Equal(got, []string{"a/5", "a/6"}) {
			t.Errorf("went on with %v", got)
		}
	})
}

// TestFault09_TrimmedShardIsGone and the stream is not.
func TestFault09_TrimmedShardIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, localaws.Options{Shards: 1, RollAfter: -1})
		s := b.find(t)
		shard := discover(t, s)[0].ID
		b.append(t.Context(), t, "a", 1)
		c := follow(t, s, shard, horizon)
		if got := read(t, c, 1); len(got) != 1 {
			t.Fatal(got)
		}
		if err := b.Roll(table, string(shard)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := b.Trim(table, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(t.Context(), 10); !errors.Is(err, source.ErrShardGone) || errors.Is(err, source.ErrStreamGone) {
			t.Errorf("reading on: %v", err)
		}
		if there, err := source.Exists(t.Context(), s, shard); there || err != nil {
			t.Errorf("asked for: there %v, %v", there, err)
		}
		if children := discover(t, s); len(children) != 1 || !slices.Equal(children[0].Parents, []source.ShardID{shard}) {
			t.Errorf("listed: %v", children)
		}
		other := s.Labelled("2001-01-01T00:00:00.000")
		if _, err := source.Exists(t.Context(), other, shard); !errors.Is(err, source.ErrStreamGone) {
			t.Errorf("of a stream that never was: %v", err)
		}
	})
}

// TestStreamLife: disabled, enabled again under a new label, table deleted.
func TestStreamLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, localaws.Options{Shards: 1})
		first := b.find(t)
		b.append(t.Context(), t, "a", 1)
		time.Sleep(time.Minute)
		if err := b.DisableStream(table); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		info, err := b.find(t).Describe(t.Context())
		if err != nil || info.Status != source.Disabled || info.Label != first.Label() || info.Table != table {
			t.Fatalf("disabled: %+v, %v", info, err)
		}
		if err := b.EnableStream(table); err != nil {
			t.Fatal(err)
		}
		b.append(t.Context(), t, "a", 2)
		second := b.find(t)
		if second.ARN() == first.ARN() || second.Labelled(first.Label()).ARN() != first.ARN() {
			t.Fatalf("streams %s and %s", first.ARN(), second.ARN())
		}
		for _, tc := range []struct {
			s    *Stream
			want string
		}{{second.Labelled(first.Label()), "a/1"}, {second, "a/2"}} {
			if got := versions(read(t, follow(t, tc.s, discover(t, tc.s)[0].ID, horizon), 1)); !slices.Equal(got, []string{tc.want}) {
				t.Errorf("%s holds %v, want %s", tc.s.Label(), got, tc.want)
			}
		}
		if _, err := b.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(table)}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Find(t.Context(), table); err == nil || !strings.Contains(err.Error(), `the event table "events" does not exist in Region `) {
			t.Errorf("of a deleted table: %v", err)
		}
	})
}

// TestH10_PinByTheServicesClock reads what was written after it, whatever our
// clock says.
func TestH10_PinByTheServicesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, localaws.Options{Shards: 1, RollAfter: -1, Now: func() time.Time { return time.Now().Add(-3 * time.Second) }})
		s := b.find(t)
		b.append(t.Context(), t, "a", 1)
		time.Sleep(5 * time.Minute)
		info, err := s.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.Now.IsZero() || !info.Now.Before(time.Now().Add(-2*time.Second)) {
			t.Fatalf("the service's clock reads %v, ours %v", info.Now, time.Now())
		}
		b.append(t.Context(), t, "a", 2)
		shard := discover(t, s)[0].ID
		pin := source.Start{Kind: source.AtTime, Time: info.Now.Add(-time.Minute)}
		if got := versions(read(t, follow(t, s, shard, pin), 1)); !slices.Equal(got, []string{"a/2"}) {
			t.Errorf("from the pin: %v", got)
		}
		_, err = s.Iterator(t.Context(), shard, source.Start{Kind: source.AtTime, Time: time.Now().Add(time.Hour)})
		if event.ClassOf(err) != event.Permanent {
			t.Errorf("a time to come: class %v, %v", event.ClassOf(err), err)
		}
	})
}

// TestThirdReaderIsThrottled, by the error that a reader paces itself with, and
// loses nothing by it.
func TestThirdReaderIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, localaws.Options{Shards: 1})
		s := b.find(t)
		b.append(t.Context(), t, "a", 1)
		shard := discover(t, s)[0].ID
		for _, app := range []string{"one", "two"} {
			c, err := New(Options{Streams: sdk.NewFromConfig(b.Config(app))})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := follow(t, c.Open(s.ARN()), shard, horizon).Read(t.Context(), 10); err != nil {
				t.Fatal(app, err)
			}
		}
		c := follow(t, s, shard, horizon)
		if _, err := c.Read(t.Context(), 10); !errors.Is(err, source.ErrThrottled) || event.ClassOf(err) != event.Transient {
			t.Fatalf("the third reader: %v", err)
		}
		time.Sleep(2 * time.Second)
		if got := versions(read(t, c, 1)); !slices.Equal(got, []string{"a/1"}) {
			t.Errorf("afterwards: %v", got)
		}
	})
}
