package dynamodbstreams

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"millrace/internal/localaws"
)

const testARN = "arn:aws-cn:dynamodb:cn-north-1:123456789012:table/events/stream/2026-03-01T12:00:00.000"

// script is a service that answers each operation from a list; the last answer
// of a list is given for ever.
type script struct {
	mu      sync.Mutex
	answers map[string][]answer
	calls   []call
}

type answer struct {
	code string // an error's; empty: body is the answer
	body string
	date string
}

type call struct {
	operation string
	in        map[string]any
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, _ := io.ReadAll(r.Body)
	c := call{operation: operation}
	if err := json.Unmarshal(body, &c.in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.calls = append(s.calls, c)
	list := s.answers[operation]
	if len(list) == 0 {
		http.Error(w, "no answer in the script for "+operation, http.StatusNotImplemented)
		return
	}
	a := list[0]
	if len(list) > 1 {
		s.answers[operation] = list[1:]
	}
	if a.date != "" {
		w.Header().Set("Date", a.date)
	}
	switch a.code {
	case "":
		fmt.Fprint(w, a.body)
	case "InternalServerError":
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s"}`, a.code)
	default:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"as scripted"}`, a.code)
	}
}

func (s *script) operations() (out []string) {
	for _, c := range s.calls {
		out = append(out, c.operation)
	}
	return out
}

// open binds to a scripted stream.
func open(t *testing.T, answers map[string][]answer) (*Stream, *script) {
	t.Helper()
	c, s := scripted(t, answers)
	return c.Open(testARN), s
}

func scripted(t *testing.T, answers map[string][]answer) (*Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	cfg := aws.Config{
		Region: "cn-north-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: &localaws.Transport{Handler: s}, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
	c, err := New(Options{Streams: sdk.NewFromConfig(cfg), Tables: dynamodb.NewFromConfig(cfg)})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func ok(body string) []answer   { return []answer{{body: body}} }
func fail(code string) []answer { return []answer{{code: code}} }

// described is a DescribeStream answer.
func described(next string, shards ...string) string {
	out := `{"StreamDescription":{"StreamArn":"` + testARN + `","TableName":"events","StreamStatus":"ENABLED","Shards":[` + strings.Join(shards, ",") + `]`
	if next != "" {
		out += `,"LastEvaluatedShardId":"` + next + `"`
	}
	return out + `}}`
}

// listed is a shard of a DescribeStream answer; end is empty for an open one.
func listed(id, parent, end string) string {
	return fmt.Sprintf(`{"ShardId":%q,"ParentShardId":%q,"SequenceNumberRange":{"StartingSequenceNumber":"100","EndingSequenceNumber":%q}}`, id, parent, end)
}

// inserted is a record of a GetRecords answer.
func inserted(sequence int, newImage string) string {
	return fmt.Sprintf(`{"eventID":"e%[1]d","eventName":"INSERT","dynamodb":{"ApproximateCreationDateTime":1772366400,"Keys":{"pk":{"S":"a"}},"NewImage":%[2]s,"SequenceNumber":"%[1]d","SizeBytes":20,"StreamViewType":"NEW_IMAGE"}}`, sequence, newImage)
}

func records(next string, records ...string) string {
	out := `{"Records":[` + strings.Join(records, ",") + `]`
	if next != "" {
		out += `,"NextShardIterator":"` + next + `"`
	}
	return out + `}`
}
