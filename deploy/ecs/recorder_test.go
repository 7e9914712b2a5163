package ecs

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"millrace/internal/localaws"
)

// recorder is an engine that notes which action each call takes on what, as IAM
// would judge it.
type recorder struct {
	*localaws.Engine
	url string

	mu   sync.Mutex
	seen map[grant]bool
}

func record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{Engine: localaws.New(localaws.Options{Shards: 2}), seen: map[grant]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		r.note(t, q.Header.Get("X-Amz-Target"), body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		r.ServeHTTP(w, q)
	}))
	r.url = server.URL
	t.Cleanup(func() {
		server.Close()
		_ = r.Close()
	})
	return r
}

// call is what tells the resource in a request.
type call struct {
	TableName, StreamArn, ShardIterator, QueueUrl, QueueName string
	RequestItems                                             map[string]json.RawMessage
	TransactItems                                            []map[string]struct{ TableName string }
}

const (
	tableArn = "arn:aws:dynamodb:eu-central-1:123456789012:table/"
	queueArn = "arn:aws:sqs:eu-central-1:123456789012:"
)

func (r *recorder) note(t *testing.T, target string, body []byte) {
	t.Helper()
	service, operation, _ := strings.Cut(target, ".")
	var c call
	if err := json.Unmarshal(body, &c); err != nil {
		t.Errorf("%s: %v", target, err)
	}
	var took []grant
	switch {
	case strings.HasPrefix(service, "DynamoDBStreams"):
		took = append(took, grant{"dynamodb:" + operation, tableArn + "orders-events/stream/*"})
	case service == "AmazonSQS":
		name := c.QueueName
		if name == "" {
			name = c.QueueUrl[strings.LastIndex(c.QueueUrl, "/")+1:]
		}
		// A batch needs the right to the single one (SQS Developer Guide, actions).
		took = append(took, grant{"sqs:" + strings.TrimSuffix(operation, "Batch"), queueArn + name})
	case len(c.TransactItems) > 0:
		// A transaction needs the rights of its items (DynamoDB Developer Guide, "Using
		// IAM with DynamoDB transactions").
		items := map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem"}
		for _, item := range c.TransactItems {
			for kind, of := range item {
				took = append(took, grant{"dynamodb:" + items[kind], tableArn + of.TableName})
			}
		}
	case len(c.RequestItems) > 0:
		for table := range c.RequestItems {
			took = append(took, grant{"dynamodb:" + operation, tableArn + table})
		}
	default:
		took = append(took, grant{"dynamodb:" + operation, tableArn + c.TableName})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range took {
		r.seen[g] = true
	}
}

// forget drops what was noted, such as of the setting up.
func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.seen)
}

func (r *recorder) calls() []grant {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []grant
	for g := range r.seen {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b grant) int { return strings.Compare(a.action+a.resource, b.action+b.resource) })
	return all
}
