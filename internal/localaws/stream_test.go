package localaws

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"millrace/event"
)

const (
	trimHorizon = streamtypes.ShardIteratorTypeTrimHorizon
	latest      = streamtypes.ShardIteratorTypeLatest
	atNumber    = streamtypes.ShardIteratorTypeAtSequenceNumber
	afterNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber
)

// code is the service's name of an error, empty for none.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("error %q, want %q (%v)", got, want, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open are the shards that take records.
func (b *bench) open() []ShardInfo {
	return slices.DeleteFunc(b.Shards(events), func(s ShardInfo) bool { return s.Closed })
}

// readAll reads shards from their beginning and returns the names per shard.
func (b *bench) readAll(shards []ShardInfo) map[string][]string {
	out := map[string][]string{}
	for _, s := range shards {
		records, next := b.drain(b.iterator(s.ID, trimHorizon, ""))
		if (next == "") != s.Closed {
			b.t.Errorf("shard %s: closed is %v, next iterator %q", s.ID, s.Closed, next)
		}
		out[s.ID] = names(records)
	}
	return out
}

func TestEveryRecordIsInOneShard(t *testing.T) {
	b := newBench(t, Options{Seed: 1})
	var want, got []string
	for _, pk := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		for v := 1; v <= 3; v++ {
			b.put(pk, v, "x")
			want = append(want, fmt.Sprintf("%s/%d", pk, v))
		}
	}
	shards := b.Shards(events)
	if len(shards) != 4 {
		t.Fatalf("%d shards, want 4", len(shards))
	}
	used := 0
	for _, read := range b.readAll(shards) {
		got = append(got, read...)
		if len(read) > 0 {
			used++
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) || used < 2 {
		t.Errorf("read %v from %d shards, want %v from several", got, used, want)
	}
}

func TestRollHandsTheRangeToOneChild(t *testing.T) {
	for _, way := range []Sequences{SequencesHigher, SequencesLower, SequencesLonger} {
		b := newBench(t, Options{Seed: 3, Shards: 1, ChildSequences: way})
		b.put("a", 1, "x")
		parent := b.Shards(events)[0].ID
		must(t, b.Roll(events, parent))
		b.put("a", 2, "x")
		shards := b.Shards(events)
		if len(shards) != 2 || !shards[0].Closed || shards[1].Closed || shards[1].Parent != parent {
			t.Fatalf("after a roll-over: %+v", shards)
		}
		read := b.readAll(shards)
		if !slices.Equal(read[parent], []string{"a/1"}) || !slices.Equal(read[shards[1].ID], []string{"a/2"}) {
			t.Errorf("read %v", read)
		}
		higher := byText(shards[1].First, shards[0].Last) > 0
		if higher == (way == SequencesLower) {
			t.Errorf("way %d: the parent ends at %s, the child begins at %s", way, shards[0].Last, shards[1].First)
		}
		if err := b.Roll(events, parent); err == nil {
			t.Error("a closed shard was rolled over")
		}
	}
}

func TestSplitByHash(t *testing.T) {
	b := newBench(t, Options{Seed: 3, Shards: 1})
	parent := b.Shards(events)[0].ID
	must(t, b.Split(events, parent))
	var want, got []string
	for i := range 20 {
		pk := fmt.Sprintf("p%02d", i)
		b.put(pk, 1, "x")
		want = append(want, pk+"/1")
	}
	children := b.open()
	if len(children) != 2 || children[0].ToHash+1 != children[1].FromHash {
		t.Fatalf("children %+v", children)
	}
	for _, read := range b.readAll(children) {
		if len(read) == 0 || len(read) == 20 {
			t.Errorf("a child has %d of 20 records", len(read))
		}
		got = append(got, read...)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("read %v", got)
	}
}

// TestSplitCollection is the split that an append-only aggregate meets: at a
// sort key, inside or above what is there.
func TestSplitCollection(t *testing.T) {
	for _, tc := range []struct {
		name         string
		above        int
		first, other []string // what the children get of versions 4 to 7
	}{
		{"inside", 5, []string{"a/4"}, []string{"a/5", "a/6", "a/7"}},
		{"at the next version", 4, nil, []string{"a/4", "a/5", "a/6", "a/7"}},
		{"above the newest", 6, []string{"a/4", "a/5"}, []string{"a/6", "a/7"}},
		{"far above", 100, []string{"a/4", "a/5", "a/6", "a/7"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, Options{Seed: 3, Shards: 1})
			for v := 1; v <= 3; v++ {
				b.put("a", v, "x")
			}
			must(t, b.SplitCollection(events, event.String("a"), event.Number(fmt.Sprint(tc.above))))
			for v := 4; v <= 7; v++ {
				b.put("a", v, "x")
			}
			shards := b.Shards(events)
			read := b.readAll(shards)
			if got := read[shards[0].ID]; !slices.Equal(got, []string{"a/1", "a/2", "a/3"}) {
				t.Errorf("the parent has %v", got)
			}
			if got := read[shards[1].ID]; !slices.Equal(got, tc.first) {
				t.Errorf("the first child has %v, want %v", got, tc.first)
			}
			if got := read[shards[2].ID]; !slices.Equal(got, tc.other) {
				t.Errorf("the second child has %v, want %v", got, tc.other)
			}
		})
	}
}

func TestSplitAlternating(t *testing.T) {
	b := newBench(t, Options{Seed: 3, Shards: 1})
	must(t, b.SplitAlternating(events, event.String("a")))
	for v := 1; v <= 3; v++ {
		b.put("a", v, "x")
	}
	must(t, b.RollAll(events)) // the turns outlive the shards
	for v := 4; v <= 6; v++ {
		b.put("a", v, "x")
	}
	b.put("a", 1, "changed") // an item stays on its side
	byShard := b.readAll(b.open())
	var sides []string
	for _, read := range byShard {
		sides = append(sides, strings.Join(read, " "))
	}
	slices.Sort(sides)
	if !slices.Equal(sides, []string{"a/4 a/6", "a/5 a/1"}) {
		t.Errorf("after the roll-over the open shards have %q", sides)
	}
	if err := b.SplitAlternating(events, event.String("a")); err == nil {
		t.Error("the same collection alternates twice")
	}
}

func TestLastPageOfAClosedShardEndsIt(t *testing.T) {
	b := newBench(t, Options{Seed: 3, Shards: 1, EmptyPages: -1})
	b.put("a", 1, "x")
	shard := b.Shards(events)[0].ID
	iterator := b.iterator(shard, trimHorizon, "")
	must(t, b.Roll(events, shard))
	if records, next := b.page(iterator); len(records) != 1 || next != "" {
		t.Errorf("%d records and next iterator %q, want the last record and no iterator", len(records), next)
	}
	// The same iterator again: nothing is used up by reading.
	if records, _ := b.page(iterator); len(records) != 1 {
		t.Errorf("read again: %d records", len(records))
	}
}

func TestIteratorsStartWhereTheySay(t *testing.T) {
	b := newBench(t, Options{Seed: 3, Shards: 1, EmptyPages: -1})
	for v := 1; v <= 4; v++ {
		b.put("a", v, "x")
	}
	shard := b.Shards(events)[0].ID
	tip := b.iterator(shard, latest, "")
	all, _ := b.page(b.iterator(shard, trimHorizon, ""))
	second := *all[1].Dynamodb.SequenceNumber
	b.put("a", 5, "x")
	for _, tc := range []struct {
		name, iterator string
		want           []string
	}{
		{"at", b.iterator(shard, atNumber, second), []string{"a/2", "a/3", "a/4", "a/5"}},
		{"after", b.iterator(shard, afterNumber, second), []string{"a/3", "a/4", "a/5"}},
		{"latest stays where it was made", tip, []string{"a/5"}},
		{"latest, now", b.iterator(shard, latest, ""), nil},
	} {
		if records, _ := b.page(tc.iterator); !slices.Equal(names(records), tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, names(records), tc.want)
		}
	}
}

func TestEmptyPagesComeBeforeData(t *testing.T) {
	seen := map[int]bool{}
	// Shards are named by the clock, so the draws differ in each run: each number
	// but none comes with one in sixteen.
	for seed := range uint64(400) {
		b := newBench(t, Options{Seed: seed, Shards: 1, EmptyPages: 3})
		iterator := b.iterator(b.Shards(events)[0].ID, latest, "")
		b.put("a", 1, "x")
		empty := 0
		for {
			records, next := b.page(iterator)
			if len(records) > 0 {
				break
			}
			if iterator = next; next == "" || empty > 3 {
				t.Fatalf("seed %d: %d empty pages, next iterator %q", seed, empty, next)
			}
			empty++
		}
		seen[empty] = true
	}
	if !seen[0] || !seen[1] || !seen[3] {
		t.Errorf("numbers of empty pages seen: %v, want none, one and three among them", seen)
	}
}

// TestRetention: records live a day, iterators a quarter of an hour, shards
// roll over by themselves, all by the engine's clock.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Seed: 3, Shards: 1, EmptyPages: -1})
		b.put("a", 1, "x")
		b.put("a", 2, "x")
		shard := b.Shards(events)[0].ID
		records, _ := b.page(b.iterator(shard, trimHorizon, ""))
		second := *records[1].Dynamodb.SequenceNumber
		iterator := b.iterator(shard, trimHorizon, "")

		time.Sleep(15*time.Minute + time.Second)
		_, err := b.streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator})
		wantCode(t, err, "ExpiredIteratorException")
		if n := len(b.Shards(events)); n != 1 {
			t.Errorf("%d shards after a quarter of an hour", n)
		}

		time.Sleep(4 * time.Hour)
		if shards := b.Shards(events); len(shards) != 2 || !shards[0].Closed || shards[1].Parent != shard {
			t.Errorf("after four hours: %+v", shards)
		}
		iterator = b.iterator(shard, atNumber, second)

		time.Sleep(20 * time.Hour)
		_, err = b.streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator})
		wantCode(t, err, "ExpiredIteratorException")
		for _, s := range b.Shards(events) {
			if s.ID == shard && s.Records > 0 {
				t.Errorf("after a day the shard still has %d records", s.Records)
			}
		}
		time.Sleep(5 * time.Hour)
		_, err = b.streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: aws.String(b.arn()), ShardId: &shard, ShardIteratorType: trimHorizon,
		})
		wantCode(t, err, "ResourceNotFoundException")
		if shards := b.Shards(events); len(shards) < 6 || len(shards) > 9 {
			t.Errorf("after 29 hours %d shards are left, want those of a day", len(shards))
		}
	})
}

func TestTrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Seed: 3, Shards: 1, EmptyPages: -1})
		shard := b.Shards(events)[0].ID
		b.put("a", 1, "x")
		time.Sleep(time.Second)
		b.put("a", 2, "x")
		b.put("a", 3, "x")
		all, _ := b.page(b.iterator(shard, trimHorizon, ""))
		first := *all[0].Dynamodb.SequenceNumber
		stale := b.iterator(shard, trimHorizon, "")
		good := b.iterator(shard, afterNumber, first)

		must(t, b.Trim(events, time.Now()))
		if records, _ := b.page(b.iterator(shard, trimHorizon, "")); !slices.Equal(names(records), []string{"a/2", "a/3"}) {
			t.Errorf("after the trim: %v", names(records))
		}
		if records, _ := b.page(good); len(records) != 2 {
			t.Errorf("an iterator at the trim point reads %d records, want 2", len(records))
		}
		_, err := b.streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &stale})
		wantCode(t, err, "TrimmedDataAccessException")
		for _, kind := range []streamtypes.ShardIteratorType{atNumber, afterNumber} {
			_, err = b.streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
				StreamArn: aws.String(b.arn()), ShardId: &shard, ShardIteratorType: kind, SequenceNumber: &first,
			})
			wantCode(t, err, "TrimmedDataAccessException")
		}
	})
}

func TestExpireIterators(t *testing.T) {
	b := newBench(t, Options{Seed: 3, Shards: 1})
	old := b.iterator(b.Shards(events)[0].ID, trimHorizon, "")
	must(t, b.ExpireIterators(events))
	_, err := b.streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &old})
	wantCode(t, err, "ExpiredIteratorException")
	b.page(b.iterator(b.Shards(events)[0].ID, trimHorizon, ""))
}

// TestDisabledStream: writes in between have no record, the old stream stays
// readable to its end, the new one has another ARN.
func TestDisabledStream(t *testing.T) {
	b := newBench(t, Options{Seed: 3, Shards: 1, EmptyPages: -1})
	b.put("a", 1, "x")
	old, shard := b.arn(), b.Shards(events)[0].ID
	must(t, b.DisableStream(events))
	b.put("a", 2, "x")
	if records, next := b.page(b.iterator(shard, trimHorizon, "")); len(records) != 1 || next != "" {
		t.Errorf("the disabled stream has %d records, next iterator %q", len(records), next)
	}
	must(t, b.EnableStream(events))
	b.put("a", 3, "x")
	if b.arn() == old {
		t.Error("the new stream has the old ARN")
	}
	fresh := b.Shards(events)[0].ID
	if records, _ := b.page(b.iterator(fresh, trimHorizon, "")); !slices.Equal(names(records), []string{"a/3"}) {
		t.Errorf("the new stream has %v", names(records))
	}
	out, err := b.streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &old})
	must(t, err)
	if out.StreamDescription.StreamStatus != streamtypes.StreamStatusDisabled || out.StreamDescription.Shards[0].SequenceNumberRange.EndingSequenceNumber == nil {
		t.Errorf("the old stream: %+v", out.StreamDescription)
	}
	listed, err := b.streams.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: aws.String(events)})
	must(t, err)
	if len(listed.Streams) != 2 {
		t.Errorf("%d streams listed, want 2", len(listed.Streams))
	}
}

func TestDelayVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Seed: 3, Shards: 1, EmptyPages: -1})
		shard := b.Shards(events)[0].ID
		must(t, b.DelayVisible(events, shard, 10*time.Second))
		iterator := b.iterator(shard, trimHorizon, "")
		b.put("a", 1, "x")
		time.Sleep(9 * time.Second)
		records, next := b.page(iterator)
		if len(records) != 0 || next == "" {
			t.Errorf("after 9 s: %d records, next iterator %q", len(records), next)
		}
		must(t, b.Roll(events, shard)) // closing does not show what lags
		if records, next = b.page(next); len(records) != 0 || next == "" {
			t.Errorf("after closing: %d records, next iterator %q", len(records), next)
		}
		time.Sleep(time.Second)
		if records, next = b.page(next); len(records) != 1 || next != "" {
			t.Errorf("after 10 s: %d records, next iterator %q", len(records), next)
		}
	})
}

func TestReadersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Seed: 3, Shards: 1})
		shard := b.Shards(events)[0].ID
		iterator := b.iterator(shard, trimHorizon, "")
		get := func(app string) error {
			client := dynamodbstreams.NewFromConfig(b.Config(app))
			_, err := client.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator})
			return err
		}
		must(t, get("millrace/g/w1"))
		must(t, get("millrace/g/w2"))
		must(t, get("millrace/g/w1"))
		wantCode(t, get("millrace/g/w3"), "LimitExceededException")
		time.Sleep(999 * time.Millisecond)
		wantCode(t, get("millrace/g/w3"), "LimitExceededException")
		time.Sleep(time.Millisecond)
		must(t, get("millrace/g/w3"))
		got := b.Counters().Shards[shard]
		if got.Calls != 4 || got.Throttled != 2 || got.ReadersInASecond != 2 || got.ReadersAtOnce != 1 {
			t.Errorf("counters %+v", got)
		}
		if n := b.Counters().Total(CallCount{Operation: "GetRecords", App: "millrace/g/w3", Outcome: "LimitExceededException"}); n != 2 {
			t.Errorf("%d refusals counted for w3, want 2", n)
		}
	})
}

// TestRollByRecords also has a record in each shard and none twice.
func TestRollByRecords(t *testing.T) {
	b := newBench(t, Options{Seed: 3, Shards: 1, RollRecords: 2})
	for v := 1; v <= 5; v++ {
		b.put("a", v, "x")
	}
	shards := b.Shards(events)
	if len(shards) != 3 {
		t.Fatalf("%d shards, want 3", len(shards))
	}
	read := b.readAll(shards)
	for i, want := range []string{"a/1 a/2", "a/3 a/4", "a/5"} {
		if got := strings.Join(read[shards[i].ID], " "); got != want {
			t.Errorf("shard %d has %q, want %q", i, got, want)
		}
	}
}

func TestControlsRefuseWhatIsNotThere(t *testing.T) {
	b := newBench(t, Options{})
	for name, err := range map[string]error{
		"no table":      b.Roll("nowhere", "x"),
		"no shard":      b.Roll(events, "shardId-0"),
		"no time":       func() error { _, err := b.ExpireItems(events); return err }(),
		"stream is on":  b.EnableStream(events),
		"wrong type":    b.SplitCollection(events, event.Number("1"), event.Number("1")),
		"wrong type, 2": b.SplitAlternating(events, event.Number("1")),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
