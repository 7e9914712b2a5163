package readmodel_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/sinks/readmodel"
)

func TestEnsureTable(t *testing.T) {
	b := newBench(t) // creates it
	if err := b.sink().EnsureTable(t.Context()); err != nil {
		t.Errorf("a second time: %v", err)
	}
	for name, key := range map[string][]readmodel.KeyPart{
		"another name": {{Attribute: "id", Template: "{aggregate}"}},
		"a sort key":   {{Attribute: "pk", Template: "{aggregate}"}, {Attribute: "sk", Template: "view"}},
	} {
		err := b.sink(func(o *readmodel.Options) { o.Key = key }).EnsureTable(t.Context())
		if event.ClassOf(err) != event.Permanent {
			t.Errorf("%s: %v, want a permanent error", name, err)
		}
	}
	two := b.sink(func(o *readmodel.Options) {
		o.Table = "with-a-sort-key"
		o.Key = []readmodel.KeyPart{{Attribute: "pk", Template: "all"}, {Attribute: "sk", Template: "{aggregate}"}}
	})
	if err := two.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.must(two, run("a", 0, 2))
	b.must(two, run("b", 0, 3))
	if got := b.Item("with-a-sort-key", event.Item{"pk": event.String("all"), "sk": event.String("b")}); got["lastProcessedVersion"] != event.Number("3") {
		t.Errorf("stored %v", got)
	}
}

// slowTable is a service that shows a new table late and in creation at first.
type slowTable struct{ describes int }

func (s *slowTable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".CreateTable") {
		fmt.Fprint(w, `{"TableDescription":{"TableStatus":"CREATING"}}`)
		return
	}
	s.describes++
	switch s.describes {
	case 1:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"not yet"}`)
	case 2, 3:
		fmt.Fprint(w, `{"Table":{"TableStatus":"CREATING"}}`)
	default:
		fmt.Fprint(w, `{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],`+
			`"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}}`)
	}
}

// TestEnsureTableWaits for a table that is being created, and no longer than
// its caller.
func TestEnsureTableWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &slowTable{}
		b := newBench(t)
		s := b.sink(func(o *readmodel.Options) {
			o.Client = dynamodb.NewFromConfig(aws.Config{
				Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
				HTTPClient: &localaws.Transport{Handler: service}, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
			})
		})
		began := time.Now()
		if err := s.EnsureTable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); service.describes != 4 || took < time.Second || took > 2*time.Second {
			t.Errorf("%d looks in %v, want 4 in about 1.5 s", service.describes, took)
		}
	})
}
