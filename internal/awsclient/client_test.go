package awsclient

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
)

// TestCallThatHangsIsGivenUp: redrives and letters give their calls no
// deadline, and a server that takes a request and never answers used to hold
// them until the process ended.
func TestCallThatHangsIsGivenUp(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer server.Close()
	defer close(over)
	cfg, err := New(t.Context(), Options{Local: true, Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	cfg.HTTPClient = newHTTPClient(100 * time.Millisecond)
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = dynamodb.NewFromConfig(cfg).GetItem(within, &dynamodb.GetItemInput{TableName: aws.String("t"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "k"}}})
	if got := Classify("calling", err); err == nil || within.Err() != nil || event.ClassOf(got) != event.Transient {
		t.Errorf("a call that hung ended with %v, of class %v", err, event.ClassOf(got))
	}
}
