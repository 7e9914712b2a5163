package localaws

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// putAs stores a/sk as one application.
func (b *bench) putAs(ctx context.Context, app string, sk int) error {
	_, err := dynamodb.NewFromConfig(b.Config(app)).PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(events), Item: key("a", sk)})
	return err
}

func (b *bench) has(sk int) bool { return b.Item(events, plainKey("a", sk)) != nil }

// TestCut: a crashed process gets no answers; what it had sent takes effect.
func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Latency: func(c Call) time.Duration {
			if c.App == "w0" {
				return 10 * time.Second
			}
			return 0
		}})
		underway := make(chan error, 1)
		go func() { underway <- b.putAs(t.Context(), "w0", 1) }()
		time.Sleep(time.Second)
		b.Client("w0").Cut()
		synctest.Wait()
		if err := <-underway; !errors.Is(err, errCut) {
			t.Errorf("the call under way: %v", err)
		}
		if err := b.putAs(t.Context(), "w0", 2); !errors.Is(err, errCut) {
			t.Errorf("a later call: %v", err)
		}
		must(t, b.putAs(t.Context(), "w1", 3))
		time.Sleep(10 * time.Second)
		if !b.has(1) || b.has(2) || !b.has(3) {
			t.Errorf("stored: 1 %v, 2 %v, 3 %v; want the sent one and the other worker's", b.has(1), b.has(2), b.has(3))
		}
	})
}

// TestFreeze: a frozen process neither sends nor receives, and its deadlines
// pass unnoticed.
func TestFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		b.Client("w0").Freeze()
		free := make(chan error, 1)
		go func() { free <- b.putAs(t.Context(), "w0", 1) }()
		bounded := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			bounded <- b.putAs(ctx, "w0", 2)
		}()
		time.Sleep(time.Minute)
		must(t, b.putAs(t.Context(), "w1", 3))
		if len(free)+len(bounded) > 0 || b.has(1) {
			t.Error("a frozen process went on")
		}
		b.Client("w0").Thaw()
		must(t, <-free) // the zombie's write, a minute late
		if err := <-bounded; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call whose deadline has passed: %v", err)
		}
		if !b.has(1) || b.has(2) {
			t.Errorf("stored: 1 %v, 2 %v", b.has(1), b.has(2))
		}
	})
}

// TestFrozenAnswers: the answer of a call that was under way is received after
// the thaw.
func TestFrozenAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Latency: func(Call) time.Duration { return time.Second }})
		done := make(chan error, 1)
		go func() { done <- b.putAs(t.Context(), "w0", 1) }()
		time.Sleep(time.Millisecond)
		b.Client("w0").Freeze()
		time.Sleep(time.Minute)
		if len(done) > 0 || !b.has(1) {
			t.Errorf("answered %v, stored %v; want the effect without the answer", len(done) > 0, b.has(1))
		}
		b.Client("w0").Thaw()
		must(t, <-done)
	})
}

func TestCloseEndsFrozenAndHeldCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		b.Client("w0").Freeze()
		b.Inject(Fault{Do: TimeOut, Match: func(c Call) bool { return c.App == "w1" }})
		done := make(chan error, 2)
		go func() { done <- b.putAs(t.Context(), "w0", 1) }()
		go func() { done <- b.putAs(t.Context(), "w1", 2) }()
		synctest.Wait()
		must(t, b.Close())
		for range 2 {
			if err := <-done; err == nil {
				t.Error("a call of a closed engine succeeded")
			}
		}
	})
}
