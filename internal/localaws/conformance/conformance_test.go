package conformance

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// httpClient returns a client whose idle connections end with the test.
func httpClient(t *testing.T) *http.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestMoto(t *testing.T) {
	endpoint := os.Getenv("MILLRACE_MOTO_ENDPOINT")
	if endpoint == "" {
		t.Skip("set MILLRACE_MOTO_ENDPOINT to the address of a moto server, such as http://127.0.0.1:5000, to compare with it")
	}
	cfg := aws.Config{
		HTTPClient:       httpClient(t),
		Region:           "us-east-1",
		BaseEndpoint:     &endpoint,
		Credentials:      credentials.NewStaticCredentialsProvider("conformance", "conformance", ""),
		RetryMaxAttempts: 2, // one for a lost connection; moto answers 500 where AWS says 400, and more only take time
	}
	Run(t, Target{
		Name:     "moto",
		DynamoDB: dynamodb.NewFromConfig(cfg),
		Streams:  dynamodbstreams.NewFromConfig(cfg),
		SQS:      sqs.NewFromConfig(cfg),
		Known:    KnownMoto(),
		Skip:     UnsteadyMoto(),
		Wait:     5 * time.Second,
	})
}

func TestAWS(t *testing.T) {
	if os.Getenv("MILLRACE_AWS_CONFORMANCE") != "1" {
		t.Skip("set MILLRACE_AWS_CONFORMANCE=1 to run against the AWS account of the environment; it makes and deletes some hundred on-demand tables, and costs a little")
	}
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatalf("loading the AWS configuration: %v", err)
	}
	cfg.HTTPClient = httpClient(t)
	Run(t, Target{
		Name:     "AWS",
		DynamoDB: dynamodb.NewFromConfig(cfg),
		Streams:  dynamodbstreams.NewFromConfig(cfg),
		SQS:      sqs.NewFromConfig(cfg),
		Wait:     3 * time.Minute,
		Poll:     time.Second,
	})
}

func TestCaseNames(t *testing.T) {
	cases := Cases()
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.Name] || c.Name == "" || c.Doc == "" || c.check == nil {
			t.Errorf("case %q: want a name of its own, a document and a check", c.Name)
		}
		seen[c.Name] = true
	}
	for _, name := range unknownNames(Target{Known: KnownMoto(), Skip: UnsteadyMoto()}, cases) {
		t.Errorf("the differences of moto name %q, which is no case", name)
	}
	if unknown := unknownNames(Target{Known: map[string]string{"no/such/case": ""}}, cases); len(unknown) != 1 {
		t.Errorf("an entry for a case that does not exist went unnoticed")
	}
}

func TestVerdict(t *testing.T) {
	c := Case{Name: "a/b", Doc: "the guide"}
	known := Target{Name: "target", Known: map[string]string{"a/b": "a reason"}}
	for _, tc := range []struct {
		name     string
		target   Target
		failures []string
		failed   bool
		message  []string
	}{
		{"right", Target{}, nil, false, nil},
		{"wrong", Target{}, []string{"got 1", "got 2"}, true, []string{"got 1", "got 2", "the guide"}},
		{"known to be wrong", known, []string{"got 1"}, false, []string{"got 1", "a reason"}},
		{"no longer wrong", known, nil, true, []string{"stale", "a reason"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			failed, message := c.verdict(tc.target, tc.failures)
			if failed != tc.failed {
				t.Errorf("failed: got %t, want %t", failed, tc.failed)
			}
			if len(tc.message) == 0 && message != "" {
				t.Errorf("message: got %q, want none", message)
			}
			for _, part := range tc.message {
				if !strings.Contains(message, part) {
					t.Errorf("message %q lacks %q", message, part)
				}
			}
		})
	}
}

func TestProbeStopsAtFatal(t *testing.T) {
	p := &probe{}
	p.run(func(p *probe) {
		p.errorf("first")
		p.fatalf("second")
		p.errorf("never reached")
	})
	if got := strings.Join(p.failures, " "); got != "first second" {
		t.Errorf("failures: got %q", got)
	}

	defer func() {
		if recover() == nil {
			t.Error("a panic of a case's own was swallowed")
		}
	}()
	p.run(func(*probe) { panic("a defect of the case") })
}

func TestLaterThan(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"100", "99", true},
		{"99", "100", false},
		{"101", "100", true},
		{"100", "100", false},
	} {
		if got := laterThan(tc.a, tc.b); got != tc.want {
			t.Errorf("laterThan(%s, %s): got %t", tc.a, tc.b, got)
		}
	}
}

// TestTextTellsApart guards the comparison that nearly all cases rest on.
func TestTextTellsApart(t *testing.T) {
	values := []item{
		nil,
		{"a": str("1")},
		{"a": num("1")},
		{"a": num("1.0")},
		{"a": boolean(true)},
		{"a": null()},
		{"b": str("1")},
		{"a": bin(1)},
		{"a": strs("1")},
		{"a": nums("1")},
		{"a": bins([]byte{1})},
		{"a": list(str("1"))},
		{"a": list(num("1"))},
		{"a": list()},
		{"a": dict(item{})},
		{"a": dict(item{"a": str("1")})},
		{"a": str("")},
		{"a": bin()},
		{"a": strs("1", "2")},
		{"a": strs("1 2")},
	}
	seen := map[string]int{}
	for i, value := range values {
		if other, again := seen[text(value)]; again {
			t.Errorf("values %d and %d have the same text %s", i, other, text(value))
		}
		seen[text(value)] = i
	}
	if a, b := text(item{"a": strs("1", "2"), "b": nums("3", "4")}), text(item{"b": nums("4", "3"), "a": strs("2", "1")}); a != b {
		t.Errorf("the order of members makes a difference: %s and %s", a, b)
	}
}
