package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/internal/cli"
	"millrace/internal/localaws"
	"millrace/service"
	"millrace/status"
)

// TestGentleStop: SIGTERM drains, and the successor need not wait for a lease
// to expire.
func TestGentleStop(t *testing.T) {
	t.Parallel()
	_, url := serve(t, localaws.Options{Shards: 3})
	pipeline := wired(t, url)
	writer := write(t, pipeline.Events(), 3)
	const lease, drain = "30s", "25s"
	first := work(t, url, "--lease", lease, "--drain", drain)
	first.applies()
	asked := time.Now()
	first.signal(syscall.SIGTERM)
	if code := first.wait(); code != cli.Done {
		t.Fatalf("code %d:\n%s", code, first.err.String())
	}
	if took := time.Since(asked); took > 30*time.Second {
		t.Errorf("it drained for %v", took)
	}
	if c := first.counters(); c.Pending != 0 {
		t.Errorf("%d records were left unsettled", c.Pending)
	}
	for _, line := range []string{"worker starts", "worker ends"} {
		if !strings.Contains(first.err.String(), line) {
			t.Errorf("the log lacks %q:\n%s", line, first.err.String())
		}
	}
	began := time.Now()
	second := work(t, url, "--lease", lease, "--drain", drain)
	second.applies()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("with leases of %s that were handed back the successor went on after %v", lease, took)
	}
	appended := writer.end()
	report, err := one(pipeline.Verify(t.Context(), within))
	if err != nil || !report.Healthy() || report.Events != appended {
		t.Errorf("%d events were appended: %+v, %v", appended, report, err)
	}
	second.signal(syscall.SIGTERM)
	if code := second.wait(); code != cli.Done {
		t.Errorf("the successor's code %d:\n%s", code, second.err.String())
	}
	checkProgress(t, first)
	checkProgress(t, second)
}

// checkProgress: every line can be read, and no counter ever falls.
func checkProgress(t *testing.T, p *proc) {
	t.Helper()
	all := p.out.whole()
	if len(all) < 2 || !strings.HasSuffix(p.out.String(), "\n") {
		t.Fatalf("progress is %q", p.out.String())
	}
	var last progress
	for i := range all {
		p.out.mu.Lock()
		p.out.text.Reset()
		p.out.text.WriteString(all[i] + "\n")
		p.out.mu.Unlock()
		now := p.counters()
		if now.Applied < last.Applied || now.Records < last.Records || now.Duplicates < last.Duplicates || now.Runs < last.Runs {
			t.Errorf("a counter falls: %+v, then %+v", last, now)
		}
		last = now
	}
	if last.Applied == 0 || last.Records < last.Applied {
		t.Errorf("the last line is %+v", last)
	}
}

// TestStopAtOnce: the second signal cuts a drain short.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	engine, url := serve(t, localaws.Options{Shards: 2})
	writer := write(t, wired(t, url).Events(), 4)
	p := work(t, url, "--drain", "10m", "--lease", "60s")
	p.applies()
	writer.end()
	// From now on nobody answers, so that the drain has to wait.
	engine.Inject(localaws.Fault{Do: localaws.TimeOut, Match: func(c localaws.Call) bool { return c.App != "setup" }})
	p.signal(syscall.SIGTERM)
	p.until("it drains", func() bool { return strings.Contains(p.err.String(), "a second signal stops at once") })
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != cli.Interrupted || !strings.Contains(p.err.String(), "shard-reader: stopped at once") {
		t.Errorf("code %d, stderr:\n%s", code, p.err.String())
	}
}

// TestStopTwice: a second signal to a worker that has nothing left to cut is no
// interruption.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	_, url := serve(t, localaws.Options{Shards: 1})
	writer := write(t, wired(t, url).Events(), 6)
	first := work(t, url, "--lease", "60s")
	first.applies()
	second := work(t, url, "--lease", "60s")
	second.until("it stands by", func() bool { return strings.Contains(second.err.String(), "worker starts") })
	second.signal(syscall.SIGTERM)
	second.signal(syscall.SIGINT)
	if code := second.wait(); code != cli.Done || strings.Contains(second.err.String(), "stopped at once") {
		t.Errorf("code %d:\n%s", code, second.err.String())
	}
	writer.end()
	first.signal(syscall.SIGTERM)
	if code := first.wait(); code != cli.Done {
		t.Errorf("the other ends with code %d:\n%s", code, first.err.String())
	}
}

// TestStopWithoutControlTable: leases that cannot be handed back are told of,
// by the exit code too.
func TestStopWithoutControlTable(t *testing.T) {
	t.Parallel()
	engine, url := serve(t, localaws.Options{Shards: 2})
	writer := write(t, wired(t, url).Events(), 5)
	p := work(t, url, "--drain", "2s", "--lease", "60s")
	p.applies()
	writer.end()
	engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Table == "millrace" && c.App != "setup" }})
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != cli.Failed || !strings.Contains(p.err.String(), "2 leases are left to expire") {
		t.Errorf("code %d, stderr:\n%s", code, p.err.String())
	}
}

// TestCannotRun: what an operator has to put right is exit code 2 and told at
// the start; what may go away by itself is 1.
func TestCannotRun(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(t *testing.T, tables *dynamodb.Client) // of the engine's tables
		args  []string
		code  int
		want  []string
	}{
		{"no event table", nil, []string{"--events", "events"}, cli.Usage, []string{`the event table "events" does not exist in Region eu-central-1 at http://127.0.0.1:`, "check the table's name, the Region and the endpoint"}},
		{"no view", nil, []string{"--view", "view"}, cli.Usage, []string{`"view" does not exist in Region eu-central-1 at http://127.0.0.1:`, "--create-tables"}},
		{"no control table", nil, []string{"--control", "control"}, cli.Usage, []string{`"control" does not exist`, "--create-tables"}},
		{"no stream", stream(nil), []string{"--events", "other"}, cli.Usage, []string{"aws dynamodb update-table --table-name other --stream-specification"}},
		{"keys only", stream(showing(types.StreamViewTypeKeysOnly)), []string{"--events", "other"}, cli.Usage, []string{"KEYS_ONLY", "needs NEW_IMAGE"}},
		{"old images", stream(showing(types.StreamViewTypeOldImage)), []string{"--events", "other"}, cli.Usage, []string{"OLD_IMAGE", "needs NEW_IMAGE"}},
		{"nobody there", nil, []string{"--endpoint-url", "http://127.0.0.1:1"}, cli.Failed, []string{"refused", "nobody listens at 127.0.0.1:1: start what should, or correct the endpoint"}},
		{"no address", nil, []string{"--endpoint-url", "localhost:8008"}, cli.Usage, []string{"--endpoint-url", "http://"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine, url := serve(t, localaws.Options{Shards: 1})
			if tc.spoil != nil {
				tc.spoil(t, dynamodb.NewFromConfig(engine.Config("setup")))
			}
			code, out, stderr := call(t, append([]string{"run", "--local", "--log-level", "error", "--endpoint-url", url}, tc.args...)...)
			if code != tc.code || out != "" {
				t.Errorf("code %d, want %d; stdout %q", code, tc.code, out)
			}
			for _, want := range tc.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q, want %q", stderr, want)
				}
			}
		})
	}
}

func showing(view types.StreamViewType) *types.StreamSpecification {
	return &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view}
}

// stream makes the table "other" with a stream of its own kind.
func stream(s *types.StreamSpecification) func(*testing.T, *dynamodb.Client) {
	return func(t *testing.T, tables *dynamodb.Client) {
		t.Helper()
		_, err := tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: aws.String("other"), BillingMode: types.BillingModePayPerRequest, StreamSpecification: s,
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
			},
			AttributeDefinitions: []types.AttributeDefinition{
				{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
				{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// one is the report of a pipeline that has one read model.
func one(all []service.Verified, err error) (status.Report, error) {
	if len(all) != 1 {
		return status.Report{}, fmt.Errorf("%d reports: %w", len(all), err)
	}
	return all[0].Report, err
}
