package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/internal/localaws"
	"millrace/service"
)

func (w *world) expires(table string) {
	w.t.Helper()
	_, err := w.tables.UpdateTimeToLive(w.t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// queueOf makes the queue that the configuration names.
func (w *world) queueOf(attributes map[string]string) {
	w.t.Helper()
	w.config.Queue = "failures"
	if _, err := sqs.NewFromConfig(w.engine.Config("setup")).CreateQueue(w.t.Context(), &sqs.CreateQueueInput{QueueName: &w.config.Queue, Attributes: attributes}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) denied(operation, table string) {
	w.engine.Inject(localaws.Fault{Do: localaws.Deny, Match: func(c localaws.Call) bool {
		return c.Operation == operation && (table == "" || c.Table == table) && c.App != "setup"
	}})
}

// TestCheck: what is wrong is named, with what to do, and nothing else is. Where
// nothing is spoiled all checks pass but one, and none of them writes.
func TestCheck(t *testing.T) {
	const noRecovery = "warn recovery: orders-events: point-in-time recovery is off"
	for _, tc := range []struct {
		name  string
		spoil func(*world)
		want  []string // of what neither passes nor is skipped, beside the recovery
	}{
		{"nothing", func(*world) {}, nil},
		{"no event table", func(w *world) { w.drop("orders-events") }, []string{"fail event table: table orders-events does not exist"}},
		{"no read model", func(w *world) { w.drop("orders-view") }, []string{"fail sink orders-view: table orders-view does not exist"}},
		{"no control table", func(w *world) { w.drop("control") }, []string{"fail control table: table control does not exist"}},
		{"keys only", func(w *world) { w.recreate(showing(types.StreamViewTypeKeysOnly)) }, []string{"fail event table: checking table orders-events against its layout: its stream shows KEYS_ONLY"}},
		{"no stream", func(w *world) { w.recreate(nil) }, []string{"fail event table: checking table orders-events against its layout: it has no stream"}},
		{
			"tables mixed up", func(w *world) { w.config.Sinks[0].ReadModel.Table, w.config.Control = "control", "orders-view" },
			[]string{"fail sink control: checking read model control: its key is", "fail control table: checking the control table: orders-view has the key"},
		},
		{"events expire", func(w *world) { w.expires("orders-events") }, []string{"fail event table: orders-events: TTL is on, by the attribute expires"}},
		{"markers expire", func(w *world) { w.expires("control") }, []string{"fail control table: control: TTL is on"}},
		{"items expire", func(w *world) { w.expires("orders-view") }, []string{"warn sink orders-view: orders-view: TTL is on"}},
		{"no queue of that name", func(w *world) { w.config.Queue = "failures" }, []string{"fail queue: queue failures does not exist"}},
		{"a queue that forgets", func(w *world) { w.queueOf(nil) }, []string{"warn queue: failures drops letters after 4.0 days"}},
		{"a good queue", func(w *world) { w.queueOf(map[string]string{"MessageRetentionPeriod": "1209600"}) }, nil},
		{"may not read the stream", func(w *world) { w.denied("GetRecords", "") }, []string{"fail stream: no permission: dynamodb:GetRecords on "}},
		{"may not fill gaps", func(w *world) { w.denied("TransactGetItems", "") }, []string{"fail event reads: no permission: dynamodb:Query and dynamodb:GetItem on orders-events"}},
		{"may not write the read model", func(w *world) { w.denied("UpdateItem", "orders-view") }, []string{"fail sink orders-view: no permission: dynamodb:UpdateItem on orders-view"}},
		{"may not read the read model", func(w *world) { w.denied("BatchGetItem", "orders-view") }, []string{"fail sink orders-view: no permission: dynamodb:BatchGetItem on orders-view"}},
		{"may not write markers", func(w *world) { w.denied("PutItem", "control") }, []string{"fail control table: no permission: dynamodb:PutItem on control"}},
		{"may not delete outbox rows", func(w *world) { w.denied("DeleteItem", "control") }, []string{"fail control table: no permission: dynamodb:DeleteItem on control"}},
		{"may not look at TTL", func(w *world) { w.denied("DescribeTimeToLive", "orders-events") }, []string{"warn event table: cannot be seen: no permission: dynamodb:DescribeTimeToLive on orders-events"}},
		{"may not ask for the queue", func(w *world) { w.queueOf(nil); w.denied("GetQueueUrl", "") }, []string{"fail queue: no permission: sqs:GetQueueUrl on failures"}},
		{
			"others read the stream", func(w *world) {
				w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Operation == "GetRecords" }})
			},
			[]string{"warn readers: a shard is read by as many as may: LimitExceededException"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if err := w.service(t).EnsureTables(t.Context()); err != nil {
				t.Fatal(err)
			}
			tc.spoil(w)
			before := len(w.engine.History(""))
			var got []string
			for _, c := range w.service(t).Check(t.Context()) {
				if c.Verdict == service.Passed || c.Verdict == service.Skipped {
					continue
				}
				line := fmt.Sprintf("%s %s: %s", c.Verdict, c.Check, c.Text)
				if line != noRecovery {
					got = append(got, line)
				}
				if c.Hint == "" && !strings.Contains(c.Text, "its key is") && !strings.Contains(c.Text, "has the key") && !strings.Contains(c.Text, "against its layout") {
					t.Errorf("%q does not say what to do", line)
				}
			}
			if !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
			if after := len(w.engine.History("")); after != before {
				t.Errorf("it has written %d times", after-before)
			}
		})
	}
}

// TestCheckOfASwitchedOnRecovery passes.
func TestCheckOfASwitchedOnRecovery(t *testing.T) {
	w := newWorld(t)
	s := w.service(t)
	if err := s.EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := w.tables.UpdateContinuousBackups(t.Context(), &dynamodb.UpdateContinuousBackupsInput{
		TableName: &w.config.Events, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Check(t.Context()) {
		if c.Verdict == service.Warned || c.Verdict == service.Failed {
			t.Errorf("%+v", c)
		}
	}
}
