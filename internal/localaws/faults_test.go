package localaws

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// onPut matches the writes of item a/1.
func onPut(c Call) bool { return c.Operation == "PutItem" && c.Key == "a/1" && c.Table == events }

// TestFaults: what the caller sees, how long it waits, and whether the write
// took effect, for each action.
func TestFaults(t *testing.T) {
	const wait = 30 * time.Second
	for _, tc := range []struct {
		name      string
		fault     Fault
		code      string // of the caller's error; "broken" for a connection error, "late" for its own deadline
		took      time.Duration
		effect    string        // what is stored when the caller has its answer
		afterwait string        // what is stored a minute later
		deadline  time.Duration // of the caller; 0 for none
	}{
		{name: "throttle", fault: Fault{Do: Throttle}, code: "ProvisionedThroughputExceededException"},
		{name: "500 before the effect", fault: Fault{Do: FailBefore}, code: "InternalServerError"},
		{name: "500 after the effect", fault: Fault{Do: FailAfter}, code: "InternalServerError", effect: "x", afterwait: "x"},
		{name: "lost answer", fault: Fault{Do: LoseAnswer}, code: "broken", effect: "x", afterwait: "x"},
		{name: "time-out", fault: Fault{Do: TimeOut}, code: "late", deadline: 3 * time.Second, took: 3 * time.Second},
		{name: "late landing", fault: Fault{Do: LandLate, Delay: wait}, code: "broken", afterwait: "x"},
		{name: "late landing, held", fault: Fault{Do: LandLate, Delay: wait, Hold: true}, code: "late", deadline: 3 * time.Second, took: 3 * time.Second, afterwait: "x"},
		{name: "late landing, held to the landing", fault: Fault{Do: LandLate, Delay: wait, Hold: true}, code: "broken", took: wait, effect: "x", afterwait: "x"},
		{name: "slow", fault: Fault{Do: Slow, Delay: wait}, took: wait, effect: "x", afterwait: "x"},
		{name: "slow, given up", fault: Fault{Do: Slow, Delay: wait}, code: "late", deadline: 3 * time.Second, took: 3 * time.Second, afterwait: "x"},
		{name: "conflict", fault: Fault{Do: Conflict}, code: "TransactionConflictException"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, Options{})
				tc.fault.Match, tc.fault.Times = onPut, 1
				remove := b.Inject(tc.fault)
				defer remove()
				ctx := t.Context()
				if tc.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.deadline)
					defer cancel()
				}
				b.put("a", 2, "not matched")
				began := time.Now()
				item := key("a", 1)
				item["text"] = &types.AttributeValueMemberS{Value: "x"}
				_, err := b.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(events), Item: item})
				if took := time.Since(began); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				switch tc.code {
				case "broken":
					if !errors.Is(err, errAborted) {
						t.Errorf("error %v, want a broken connection", err)
					}
				case "late":
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("error %v, want the deadline", err)
					}
				default:
					wantCode(t, err, tc.code)
				}
				if got := b.stored("a", 1); got != tc.effect {
					t.Errorf("stored %q, want %q", got, tc.effect)
				}
				time.Sleep(time.Minute)
				if got := b.stored("a", 1); got != tc.afterwait {
					t.Errorf("a minute later stored %q, want %q", got, tc.afterwait)
				}
				b.put("a", 1, "again") // Times is used up
			})
		})
	}
}

func TestFaultsOfOtherOperations(t *testing.T) {
	b := newBench(t, Options{})
	put := types.TransactWriteItem{Put: &types.Put{TableName: aws.String(events), Item: key("a", 1)}}
	write := func() error {
		_, err := b.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put, {
			Delete: &types.Delete{TableName: aws.String(events), Key: key("a", 2)},
		}}})
		return err
	}
	for action, reason := range map[Action]string{Throttle: "ThrottlingError", Conflict: "TransactionConflict"} {
		remove := b.Inject(Fault{Do: action, Match: func(c Call) bool { return c.Key == "a/1,a/2" }})
		var cancelled *types.TransactionCanceledException
		if err := write(); !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != 2 || *cancelled.CancellationReasons[0].Code != reason {
			t.Errorf("%v, want a cancelled transaction with the reasons %s", err, reason)
		}
		remove()
	}
	must(t, write())

	iterator := b.iterator(b.Shards(events)[0].ID, trimHorizon, "")
	shard := b.Shards(events)[0].ID
	remove := b.Inject(Fault{Do: Throttle, Match: func(c Call) bool { return c.Operation == "GetRecords" && c.Key == shard && c.Table == events }})
	_, err := b.streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator})
	wantCode(t, err, "LimitExceededException")
	remove()
	b.page(iterator)
}

func TestPartialBatches(t *testing.T) {
	b := newBench(t, Options{})
	defer b.Inject(Fault{Do: Partial})()
	requests := map[string][]types.WriteRequest{events: {
		{PutRequest: &types.PutRequest{Item: key("a", 1)}},
		{PutRequest: &types.PutRequest{Item: key("a", 2)}},
	}}
	calls := 0
	for ; len(requests) > 0; calls++ {
		out, err := b.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: requests})
		must(t, err)
		if requests = out.UnprocessedItems; calls == 0 && len(requests[events]) != 1 {
			t.Fatalf("unprocessed %v, want one", requests)
		}
		if calls == 1 {
			break // a batch of one stays unprocessed for as long as the fault is there
		}
	}
	if n := len(b.Items(events)); n != 1 {
		t.Errorf("%d items stored, want 1", n)
	}
	out, err := b.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		events: {Keys: []map[string]types.AttributeValue{key("a", 1), key("a", 2)}},
	}})
	must(t, err)
	if len(out.Responses[events]) != 1 || len(out.UnprocessedKeys[events].Keys) != 1 {
		t.Errorf("%d items and %d unprocessed keys, want one each", len(out.Responses[events]), len(out.UnprocessedKeys[events].Keys))
	}
}

// TestFaultsAreCountedAndShared: After lets calls through, Share picks by seed
// and call, and the same seed picks the same.
func TestFaultsAreCountedAndShared(t *testing.T) {
	b := newBench(t, Options{})
	defer b.Inject(Fault{Match: onPut, Do: FailBefore, After: 2, Times: 1})()
	for i, want := range []string{"", "", "InternalServerError", ""} {
		if got := code(b.tryPut("a", 1, "x")); got != want {
			t.Errorf("call %d: error %q, want %q", i+1, got, want)
		}
	}
	pick := func(seed uint64) (picked []int) {
		b := newBench(t, Options{Seed: seed})
		defer b.Inject(Fault{Do: FailBefore, Share: 0.3})()
		for i := range 100 {
			if b.tryPut("a", i, "x") != nil {
				picked = append(picked, i)
			}
		}
		return picked
	}
	one, again, other := pick(1), pick(1), pick(2)
	if len(one) < 15 || len(one) > 45 {
		t.Errorf("%d of 100 calls failed, want about 30", len(one))
	}
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("seed 1 picked %v and %v, seed 2 %v", one, again, other)
	}
}

func TestLatencyIsOutsideTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Latency: func(c Call) time.Duration {
			if c.Key == "slow/1" {
				return time.Hour
			}
			return time.Second
		}})
		slow := make(chan error, 1)
		go func() { slow <- b.tryPut("slow", 1, "x") }()
		synctest.Wait()
		began := time.Now()
		b.put("quick", 1, "x")
		if took := time.Since(began); took != time.Second {
			t.Errorf("a quick call beside a slow one took %v", took)
		}
		must(t, <-slow)
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the slow call took %v", took)
		}
	})
}

// TestCloseWaitsForLateWrites: nothing happens after Close.
func TestCloseWaitsForLateWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		b.Inject(Fault{Match: onPut, Do: LandLate, Delay: time.Minute})
		if err := b.tryPut("a", 1, "x"); err == nil {
			t.Error("the caller got an answer")
		}
		began := time.Now()
		must(t, b.Close())
		if took := time.Since(began); took != time.Minute || b.stored("a", 1) != "x" {
			t.Errorf("Close took %v, stored is %q", took, b.stored("a", 1))
		}
		if err := b.tryPut("a", 2, "x"); err == nil || b.stored("a", 2) != "" {
			t.Errorf("a call after Close: %v, stored is %q", err, b.stored("a", 2))
		}
	})
}
