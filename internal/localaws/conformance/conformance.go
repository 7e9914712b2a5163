package conformance

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Target is one endpoint under test.
type Target struct {
	// Name tells the target apart in the log, such as "engine" or "moto".
	Name string

	// DynamoDB and Streams reach the same tables. They may retry throttling;
	// no case expects an error that the SDK retries.
	DynamoDB *dynamodb.Client
	Streams  *dynamodbstreams.Client

	// SQS reaches the queues; nil skips their cases, which are those whose
	// names begin with "sqs/".
	SQS *sqs.Client

	// Known names the cases in which this target is known to differ from AWS,
	// each with the reason and the document that decides. A known case that
	// succeeds is reported as an error: the entry is stale.
	Known map[string]string

	// Skip names the cases that are not run, each with the reason: those in
	// which the target differs on some runs only, so that the case could be
	// neither known to fail nor asked to succeed.
	Skip map[string]string

	// Wait bounds how long a case waits for what AWS does in its own time: a
	// table's status, a record's arrival in the stream. Default 10 s, more
	// than enough in process; against AWS take minutes.
	Wait time.Duration

	// Poll is the pause between two looks at such a thing. Default 5 ms.
	// Against AWS take 250 ms at least: GetRecords is throttled per shard.
	Poll time.Duration
}

func (target Target) withDefaults() Target {
	if target.Wait == 0 {
		target.Wait = 10 * time.Second
	}
	if target.Poll == 0 {
		target.Poll = 5 * time.Millisecond
	}
	return target
}

// Case is one behaviour with its expected answers.
type Case struct {
	// Name is unique and stable, of the form "group/subject/point".
	Name string
	// Doc names the document that decides what is right.
	Doc string

	check func(*probe)
}

// Cases returns every case, in the order in which [Run] takes them.
func Cases() []Case {
	return slices.Concat(
		tableCases(),
		timeToLiveCases(),
		backupCases(),
		itemCases(),
		typeCases(),
		keyCases(),
		returnValueCases(),
		conditionCases(),
		conditionFailureCases(),
		updateCases(),
		placeholderCases(),
		projectionCases(),
		queryCases(),
		queryPageCases(),
		scanCases(),
		batchCases(),
		transactionCases(),
		idempotenceCases(),
		transactionReadCases(),
		capacityCases(),
		streamShapeCases(),
		streamRecordCases(),
		streamSourceCases(),
		streamIteratorCases(),
		streamPageCases(),
		streamLifecycleCases(),
		sqsQueueCases(),
		sqsMessageCases(),
		sqsRefusalCases(),
		sqsVisibilityCases(),
		sqsBatchCases(),
		sqsFIFOCases(),
	)
}

// Run checks all cases as subtests of t, one after the other. Cases that only
// need some table share it. A case's failure says what AWS answers, what the
// target answered, and the document that decides.
//
// Subtests cannot be started inside a testing/synctest bubble: there, call
// [Case.Run] for each of [Cases], a bubble for each.
func Run(t *testing.T, target Target) {
	t.Helper()
	cases := Cases()
	for _, name := range unknownNames(target, cases) {
		t.Errorf("the differences of %s name %q, which is no case", target.Name, name)
	}

	shared := newTables(target.withDefaults())
	defer shared.deleteAll(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { c.run(t, target, shared) })
	}
}

// Run checks one case on tables of its own.
func (c Case) Run(t *testing.T, target Target) {
	t.Helper()
	shared := newTables(target.withDefaults())
	defer shared.deleteAll(t)
	c.run(t, target, shared)
}

func (c Case) run(t *testing.T, target Target, shared *tables) {
	t.Helper()
	if reason, skipped := target.Skip[c.Name]; skipped {
		t.Skip(reason)
	}
	if target.SQS == nil && strings.HasPrefix(c.Name, "sqs/") {
		t.Skip("the target has no SQS client")
	}
	target = target.withDefaults()
	ctx, cancel := context.WithTimeout(context.Background(), 3*target.Wait)
	defer cancel()

	p := &probe{ctx: ctx, target: target, shared: shared, own: newTables(target)}
	defer p.own.deleteAll(t)
	defer p.deleteQueues(t)
	p.run(c.check)

	failed, message := c.verdict(target, p.failures)
	switch {
	case failed:
		t.Error(message)
	case message != "":
		t.Log(message)
	}
}

// verdict weighs what a case found against what is known of the target.
func (c Case) verdict(target Target, failures []string) (failed bool, message string) {
	found := strings.Join(failures, "\n")
	reason, known := target.Known[c.Name]
	switch {
	case known && found == "":
		return true, target.Name + " answers as AWS does, so that its entry under the known differences is stale; it reads: " + reason
	case known:
		return false, target.Name + " is known to differ: " + reason + "\n" + found
	case found == "":
		return false, ""
	default:
		return true, found + "\ndecided by: " + c.Doc
	}
}

// unknownNames returns the entries of Known and Skip that name no case: a case
// that was renamed would otherwise keep its excuse without anyone noticing.
func unknownNames(target Target, cases []Case) []string {
	names := slices.Collect(maps.Keys(target.Known))
	names = slices.AppendSeq(names, maps.Keys(target.Skip))
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name })
	})
}
