package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// bench is an account with a clock that the test moves.
type bench struct {
	*Account
	t   *testing.T
	now time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{Account: NewAccount("eu-central-1", "000000000000", 1), t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (b *bench) create(name string, attributes map[string]string) *Queue {
	b.t.Helper()
	q, err := b.Create(b.now, name, attributes)
	if err != nil {
		b.t.Fatal(err)
	}
	return q
}

func (b *bench) fifo(attributes ...string) *Queue {
	b.t.Helper()
	all := map[string]string{"FifoQueue": "true"}
	for i := 0; i < len(attributes); i += 2 {
		all[attributes[i]] = attributes[i+1]
	}
	return b.create("q.fifo", all)
}

func (b *bench) send(q *Queue, body, group, duplicate string) Sent {
	b.t.Helper()
	sent, err := q.Send(b.now, Draft{Body: body, Group: group, Duplicate: duplicate})
	if err != nil {
		b.t.Fatal(err)
	}
	return sent
}

func (b *bench) receive(q *Queue, most int) []Message {
	b.t.Helper()
	got, err := q.Receive(b.now, most, nil, 1)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

func (b *bench) bodies(q *Queue, most int) string {
	b.t.Helper()
	var out []string
	for _, m := range b.receive(q, most) {
		out = append(out, m.Body)
	}
	return strings.Join(out, " ")
}

func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var refused *Error
	got := ""
	if errors.As(err, &refused) {
		got = refused.Code
	}
	if got != code {
		t.Errorf("error %v, want %q", err, code)
	}
}

func TestGroups(t *testing.T) {
	b := newBench(t)
	q := b.fifo()
	for i, group := range []string{"a", "a", "b", "a", "b"} {
		b.send(q, fmt.Sprintf("%s%d", group, i), group, fmt.Sprint(i))
	}
	first := b.receive(q, 2)
	if got := first[0].Body + " " + first[1].Body; got != "a0 a1" {
		t.Errorf("first %s, want a0 a1", got)
	}
	if first[0].Sequence >= first[1].Sequence || len(first[0].Sequence) != 20 {
		t.Errorf("sequence numbers %s and %s", first[0].Sequence, first[1].Sequence)
	}
	if got := b.bodies(q, 10); got != "b2 b4" {
		t.Errorf("while a is in flight: %s, want b2 b4", got)
	}
	// A group is locked as long as any of it is in flight.
	wantCode(t, q.Delete(b.now, first[0].Receipt), "")
	if got := b.bodies(q, 10); got != "" {
		t.Errorf("a is still locked, got %s", got)
	}
	b.pass(30 * time.Second)
	if got := b.bodies(q, 10); got != "a1 a3 b2 b4" {
		t.Errorf("after the time-out %s, want a1 a3 b2 b4", got)
	}
	wantCode(t, q.Delete(b.now, first[1].Receipt), InvalidParameter) // the handle of the first receive
}

func TestDuplicates(t *testing.T) {
	b := newBench(t)
	q := b.fifo("ContentBasedDeduplication", "true")
	first := b.send(q, "x", "a", "")
	got := b.receive(q, 1)
	wantCode(t, q.Delete(b.now, got[0].Receipt), "")
	b.pass(5*time.Minute - time.Second)
	if again := b.send(q, "x", "b", ""); again != first {
		t.Errorf("the duplicate was answered %v, want %v", again, first)
	}
	if n := len(q.Messages(b.now)); n != 0 {
		t.Errorf("%d messages, want the duplicate dropped though the first is deleted", n)
	}
	b.pass(time.Second)
	if b.send(q, "x", "a", "") == first || len(q.Messages(b.now)) != 1 {
		t.Error("after five minutes it is a new message")
	}

	must(t, q.Set(b.now, map[string]string{"DeduplicationScope": "messageGroup"}))
	one, other := b.send(q, "y", "a", "same"), b.send(q, "z", "b", "same")
	if one == other {
		t.Error("the scope is the group")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestVisibility(t *testing.T) {
	b := newBench(t)
	q := b.create("q", map[string]string{"VisibilityTimeout": "10"})
	b.send(q, "x", "", "")
	first := b.receive(q, 1)[0]
	if next, ok := q.Next(); !ok || next.Sub(b.now) != 10*time.Second {
		t.Errorf("next %v, want in 10 s", next)
	}
	must(t, q.Hide(b.now, first.Receipt, 60))
	b.pass(59 * time.Second)
	if got := b.receive(q, 1); len(got) > 0 {
		t.Error("visible too early")
	}
	b.pass(time.Second)
	wantCode(t, q.Hide(b.now, first.Receipt, 5), NotInFlight)
	second := b.receive(q, 1)[0]
	if second.Receives != 2 || second.Receipt == first.Receipt || second.First != first.First {
		t.Errorf("second receive %+v", second)
	}
	wantCode(t, q.Hide(b.now, first.Receipt, 5), InvalidParameter)
	must(t, q.Delete(b.now, first.Receipt)) // an old handle: success, and nothing is deleted
	if len(q.Messages(b.now)) != 1 {
		t.Error("an old handle deleted the message")
	}
	must(t, q.Hide(b.now, second.Receipt, 0))
	third := b.receive(q, 1)[0]
	b.pass(6 * time.Hour)
	fourth := b.receive(q, 1)[0]
	must(t, q.Hide(b.now, fourth.Receipt, MaxHidden))
	b.pass(time.Hour)
	wantCode(t, q.Hide(b.now, fourth.Receipt, MaxHidden), InvalidParameter) // 13 h after the receive
	must(t, q.Delete(b.now, third.Receipt))
	must(t, q.Delete(b.now, fourth.Receipt))
	must(t, q.Delete(b.now, fourth.Receipt)) // idempotent
	wantCode(t, q.Delete(b.now, "garbage"), InvalidReceipt)
	if len(q.Messages(b.now)) != 0 {
		t.Error("the message was not deleted")
	}
	hide := time.Duration(0)
	b.send(q, "y", "", "")
	for range 2 { // hidden for no time
		if got, err := q.Receive(b.now, 1, &hide, 1); err != nil || len(got) != 1 {
			t.Errorf("%v, %v, want the message", got, err)
		}
	}
}

func TestRedrive(t *testing.T) {
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("queue"+suffix, func(t *testing.T) {
			b := newBench(t)
			attributes := map[string]string{}
			if suffix != "" {
				attributes["FifoQueue"] = "true"
			}
			dead := b.create("dead"+suffix, attributes)
			attributes[redrivePolicy] = `{"deadLetterTargetArn":"` + b.arn("dead"+suffix) + `","maxReceiveCount":"2"}`
			q := b.create("q"+suffix, attributes)
			duplicate := strings.TrimPrefix(suffix, ".")
			b.send(q, "x", "g", duplicate)
			sent := b.now
			for range 2 {
				if got := b.bodies(q, 1); got != "x" {
					t.Errorf("received %q, want x", got)
				}
				b.pass(time.Minute)
			}
			if got := b.bodies(q, 1); got != "" {
				t.Errorf("received %q for the third time", got)
			}
			got := b.receive(dead, 1)[0]
			if got.Receives != 3 || got.Source != b.arn("q"+suffix) || got.Group != "g" {
				t.Errorf("in the dead-letter queue %+v", got)
			}
			if anew := !got.Sent.Equal(sent); anew != (suffix != "") {
				t.Errorf("sent %v, first sent %v", got.Sent, sent)
			}
		})
	}
}

func TestDelayAndRetention(t *testing.T) {
	b := newBench(t)
	q := b.create("q", map[string]string{"DelaySeconds": "10", "MessageRetentionPeriod": "60"})
	b.send(q, "queue's", "", "")
	own := 20
	_, err := q.Send(b.now, Draft{Body: "own", Delay: &own})
	must(t, err)
	must(t, q.Set(b.now, map[string]string{"DelaySeconds": "0"})) // not for those sent before
	if got := q.Attributes(b.now); got["ApproximateNumberOfMessagesDelayed"] != "2" || got["ApproximateNumberOfMessages"] != "0" {
		t.Errorf("counts %v", got)
	}
	for _, want := range []string{"", "queue's", "own"} {
		if got := b.bodies(q, 10); got != want {
			t.Errorf("after %v received %q, want %q", b.now, got, want)
		}
		b.pass(10 * time.Second)
	}
	if got := q.Attributes(b.now); got["ApproximateNumberOfMessagesNotVisible"] != "2" {
		t.Errorf("counts %v", got)
	}
	b.pass(30 * time.Second)
	if n := len(q.Messages(b.now)); n != 0 {
		t.Errorf("%d messages after the retention period", n)
	}

	f := b.fifo("DelaySeconds", "10")
	b.send(f, "x", "a", "1")
	must(t, f.Set(b.now, map[string]string{"DelaySeconds": "0"})) // also for those sent before
	if got := b.bodies(f, 1); got != "x" {
		t.Errorf("received %q, want x", got)
	}
}

func TestStandardOrderIsNotPromised(t *testing.T) {
	b := newBench(t)
	q := b.create("q", nil)
	var sent []string
	for i := range 40 {
		b.send(q, fmt.Sprint(i), "", "")
		sent = append(sent, fmt.Sprint(i))
	}
	var got []string
	for range 4 {
		got = append(got, strings.Fields(b.bodies(q, 10))...)
	}
	if slices.Equal(got, sent) {
		t.Error("a standard queue kept its order")
	}
	slices.Sort(got)
	slices.Sort(sent)
	if !slices.Equal(got, sent) {
		t.Errorf("received %v", got)
	}
}

// TestModel: under any calls no message is lost or in flight twice, deleted
// ones stay away, groups keep their order, and the counts are right.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		fifo := rapid.Bool().Draw(rt, "fifo")
		q := b.create("q", nil)
		if fifo {
			q = b.fifo()
		}
		type flight struct {
			m     Message
			until time.Time
		}
		stored := map[string]string{} // id -> group
		flying := map[string]flight{}
		var order []string
		rt.Repeat(map[string]func(*rapid.T){
			"send": func(rt *rapid.T) {
				group := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "group")
				d := Draft{Body: "x", Group: group}
				if fifo {
					d.Duplicate = fmt.Sprint(len(order))
				}
				sent, err := q.Send(b.now, d)
				must(t, err)
				stored[sent.ID] = group
				order = append(order, sent.ID)
			},
			"receive": func(rt *rapid.T) {
				hide := time.Duration(rapid.IntRange(1, 20).Draw(rt, "hide")) * time.Second
				got, err := q.Receive(b.now, rapid.IntRange(1, 10).Draw(rt, "most"), &hide, rapid.Uint64().Draw(rt, "chance"))
				must(t, err)
				last := map[string]int{}
				for _, m := range got {
					if _, ok := stored[m.ID]; !ok {
						rt.Fatalf("received %s, which is not stored", m.ID)
					}
					if f, ok := flying[m.ID]; ok && f.until.After(b.now) {
						rt.Fatalf("received %s while it is in flight", m.ID)
					}
					if fifo {
						for id, f := range flying {
							if f.until.After(b.now) && stored[id] == m.Group {
								rt.Fatalf("received of group %s while it is locked", m.Group)
							}
						}
						at := slices.Index(order, m.ID)
						for _, id := range order[last[m.Group]:at] {
							if group, ok := stored[id]; ok && group == m.Group {
								rt.Fatalf("received %s before %s", m.ID, id)
							}
						}
						last[m.Group] = at + 1
					}
				}
				if len(got) == 0 && !fifo {
					for id := range stored {
						if !flying[id].until.After(b.now) {
							rt.Fatalf("%s could not be received", id)
						}
					}
				}
				for _, m := range got {
					flying[m.ID] = flight{m, b.now.Add(hide)}
				}
			},
			"delete": func(rt *rapid.T) {
				for id, f := range flying {
					if rapid.Bool().Draw(rt, "delete") {
						err := q.Delete(b.now, f.m.Receipt)
						if expired := fifo && !f.until.After(b.now); expired != (err != nil) {
							rt.Fatalf("deleting: %v", err)
						}
						if err == nil {
							delete(stored, id)
						}
						delete(flying, id)
					}
				}
			},
			"pass": func(rt *rapid.T) { b.pass(time.Duration(rapid.IntRange(1, 15).Draw(rt, "seconds")) * time.Second) },
			"": func(rt *rapid.T) {
				hidden := 0
				for id, f := range flying {
					if _, ok := stored[id]; ok && f.until.After(b.now) {
						hidden++
					}
				}
				got := q.Attributes(b.now)
				if got["ApproximateNumberOfMessagesNotVisible"] != fmt.Sprint(hidden) || got["ApproximateNumberOfMessages"] != fmt.Sprint(len(stored)-hidden) {
					rt.Fatalf("counts %v, want %d hidden of %d", got, hidden, len(stored))
				}
			},
		})
	})
}
