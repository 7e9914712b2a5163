package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// Target is one endpoint under test.
type Target struct {
	// Name tells the target apart in the log, such as "engine" or "moto".
	Name string

	// DynamoDB and Streams reach the same tables. They may retry throttling;
	// no case expects an error that the SDK retries.
	DynamoDB *dynamodb.Client
	Streams  *dynamodbstreams.Client

	// Known names the cases in which this target is known to differ from AWS,
	// each with the reason and the document that decides. A known case that
	// succeeds is reported as an error: the entry is stale.
	Known map[string]string

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
	reportUnknownNames(t, target, cases)

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
	target = target.withDefaults()
	ctx, cancel := context.WithTimeout(context.Background(), 3*target.Wait)
	defer cancel()

	p := &probe{ctx: ctx, target: target, shared: shared, own: newTables(target)}
	defer p.own.deleteAll(t)
	p.run(c.check)

	reason, known := target.Known[c.Name]
	switch {
	case known && len(p.failures) == 0:
		t.Errorf("%s answers as AWS does, so its entry under the known differences is stale; it reads: %s", target.Name, reason)
	case known:
		t.Logf("%s is known to differ: %s\nit answered: %s", target.Name, reason, strings.Join(p.failures, "\n"))
	default:
		for _, failure := range p.failures {
			t.Errorf("%s\ndecided by: %s", failure, c.Doc)
		}
	}
}

// reportUnknownNames fails on entries of Known that name no case: a case that
// was renamed would otherwise keep its excuse without anyone noticing.
func reportUnknownNames(t *testing.T, target Target, cases []Case) {
	t.Helper()
	for name := range target.Known {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name }) {
			t.Errorf("the known differences of %s name %q, which is no case", target.Name, name)
		}
	}
}
