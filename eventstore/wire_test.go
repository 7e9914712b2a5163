package eventstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/jitter"
)

// request is one call as it went over the wire.
type request struct {
	op   string
	body map[string]json.RawMessage
}

// answer is what the wire gives back to a request.
type answer func(request) (*http.Response, error)

// wire is a service that answers by a script: the n-th call gets the n-th
// answer. A call beyond the script fails the test.
type wire struct {
	t      *testing.T
	mu     sync.Mutex
	script []answer
	sent   []request
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	call := request{op: op}
	if err := json.Unmarshal(raw, &call.body); err != nil {
		return nil, err
	}
	w.mu.Lock()
	n := len(w.sent)
	w.sent = append(w.sent, call)
	w.mu.Unlock()
	if n >= len(w.script) {
		w.t.Errorf("call %d, %s, is not in the script", n+1, op)
		return nil, errors.New("not in the script")
	}
	answered, err := w.script[n](call)
	if answered == nil && err == nil { // hangs
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return answered, err
}

func respond(status int, body string) (*http.Response, error) {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func success(request) (*http.Response, error) { return respond(200, `{}`) }

func lost(request) (*http.Response, error) { return nil, errors.New("connection reset by peer") }

func hangs(request) (*http.Response, error) { return nil, nil }

func fails(status int, code string) answer {
	return func(request) (*http.Response, error) {
		return respond(status, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"as told"}`, code))
	}
}

// planned are the items of a write.
func planned(r request) []string {
	if r.op == "PutItem" {
		return []string{string(r.body["Item"])}
	}
	var writes []struct {
		Put struct{ Item json.RawMessage }
	}
	if err := json.Unmarshal(r.body["TransactItems"], &writes); err != nil {
		panic(err)
	}
	items := make([]string, len(writes))
	for i, write := range writes {
		items[i] = string(write.Put.Item)
	}
	return items
}

const foreign = `{"pk":{"S":"42"},"sk":{"S":"000000000008"},"type":{"S":"Other"},"commandId":{"S":"x"}}`

// conditionFailed answers a put whose condition failed; "own" returns the put's own item,
// "" none at all.
func conditionFailed(stands string) answer {
	return func(r request) (*http.Response, error) {
		if stands == "own" {
			stands = planned(r)[0]
		}
		item := ""
		if stands != "" {
			item = `,"Item":` + stands
		}
		return respond(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"`+item+`}`)
	}
}

// cancelled answers a transaction with one reason an item: a code, or
// "own", "foreign" or "silent" for a failed condition with the transaction's
// own item, another's, or none.
func cancelled(reasons ...string) answer {
	return func(r request) (*http.Response, error) {
		var told []string
		for i, reason := range reasons {
			failed := func(item string) string {
				return `{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"` + item + `}`
			}
			switch reason {
			case "own":
				told = append(told, failed(`,"Item":`+planned(r)[i]))
			case "foreign":
				told = append(told, failed(`,"Item":`+foreign))
			case "silent":
				told = append(told, failed(""))
			default:
				told = append(told, fmt.Sprintf(`{"Code":%q}`, reason))
			}
		}
		return respond(400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction cancelled","CancellationReasons":[`+strings.Join(told, ",")+`]}`)
	}
}

// found answers TransactGetItems with what the first write of the script
// planned ("own"), another's item ("foreign") or nothing ("").
func (w *wire) found(items ...string) answer {
	return func(request) (*http.Response, error) {
		var told []string
		for i, item := range items {
			switch item {
			case "own":
				told = append(told, `{"Item":`+planned(w.sent[0])[i]+`}`)
			case "foreign":
				told = append(told, `{"Item":`+foreign+`}`)
			default:
				told = append(told, `{}`)
			}
		}
		return respond(200, `{"Responses":[`+strings.Join(told, ",")+`]}`)
	}
}

// scripted is a store over a wire.
func scripted(t *testing.T, budget Budget, script ...answer) (*Store, *wire) {
	t.Helper()
	w := &wire{t: t, script: script}
	s, err := New(Options{
		Client: dynamodb.NewFromConfig(aws.Config{
			Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
			HTTPClient: w, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		}),
		Table: "orders", Layout: event.Orders(), Jitter: jitter.Source{Seed: 1}, Budget: budget,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func placed(amount string) NewEvent {
	return NewEvent{Type: "Placed", Time: noon, Attributes: event.Item{"payload": event.Map{"amount": event.Number(amount)}}}
}
