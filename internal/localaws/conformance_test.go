package localaws

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/internal/localaws/conformance"
)

// TestConformance holds the engine to what AWS documents, in process and
// through a socket. The cases of queues wait for seconds, so they run in fake
// time, below.
func TestConformance(t *testing.T) {
	t.Run("in process", func(t *testing.T) {
		e := New(Options{Seed: 1})
		t.Cleanup(func() { _ = e.Close() })
		config := e.Config("conformance")
		conformance.Run(t, conformance.Target{
			Name: "engine", DynamoDB: dynamodb.NewFromConfig(config), Streams: dynamodbstreams.NewFromConfig(config),
		})
	})
	t.Run("http", func(t *testing.T) {
		e := New(Options{Seed: 2})
		t.Cleanup(func() { _ = e.Close() })
		server, err := e.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
		config := server.Config("conformance")
		conformance.Run(t, conformance.Target{
			Name: "engine over http", DynamoDB: dynamodb.NewFromConfig(config), Streams: dynamodbstreams.NewFromConfig(config),
		})
	})
}

func TestConformanceOfQueues(t *testing.T) {
	for _, c := range conformance.Cases() {
		if !strings.HasPrefix(c.Name, "sqs/") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := New(Options{Seed: 3})
				defer func() { _ = e.Close() }()
				c.Run(t, conformance.Target{Name: "engine", SQS: sqs.NewFromConfig(e.Config("conformance"))})
			})
		})
	}
}
