package awsclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/localaws"
)

// failing answers every call with one status and error code.
func failing(status int, code string) *dynamodb.Client {
	return client(&localaws.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"as told"}`, code)
	})})
}

func client(transport aws.HTTPClient) *dynamodb.Client {
	return dynamodb.NewFromConfig(aws.Config{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: transport, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	})
}

type broken struct{ err error }

func (b broken) Do(*http.Request) (*http.Response, error) { return nil, b.err }

func get(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String("t"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}},
	})
	return Classify("reading an item", err)
}

func TestWhatAFailedCallMeans(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	cutShort := client(&localaws.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"Item":{"pk":{"S":"a`)
	})})
	for _, tc := range []struct {
		name       string
		ctx        context.Context
		client     *dynamodb.Client
		class      event.Class
		throttled  bool
		unanswered bool
	}{
		{name: "throttle", client: failing(400, "ProvisionedThroughputExceededException"), class: event.Transient, throttled: true},
		{name: "throttle that no model has", client: failing(400, "ThrottlingException"), class: event.Transient, throttled: true},
		{name: "server error", client: failing(500, "InternalServerError"), class: event.Transient, unanswered: true},
		{name: "unavailable without a known code", client: failing(503, "Whatever"), class: event.Transient, unanswered: true},
		{name: "validation", client: failing(400, "ValidationException"), class: event.Permanent},
		{name: "no permission", client: failing(400, "AccessDeniedException"), class: event.Unavailable},
		{name: "no such table", client: failing(400, "ResourceNotFoundException"), class: event.Unavailable},
		{name: "credentials nobody knows", client: failing(400, "UnrecognizedClientException"), class: event.Unavailable},
		{name: "forbidden without a known code", client: failing(403, "Whatever"), class: event.Unavailable},
		{name: "a signature by a clock that is wrong", client: failing(403, "InvalidSignatureException"), class: event.Transient},
		{name: "expired token", client: failing(400, "ExpiredTokenException"), class: event.Transient},
		{name: "failed condition", client: failing(400, "ConditionalCheckFailedException"), class: event.Permanent},
		{name: "broken connection", client: client(broken{errors.New("connection reset by peer")}), class: event.Transient, unanswered: true},
		{name: "answer that breaks off", client: cutShort, class: event.Transient, unanswered: true},
		{name: "time-out", client: client(broken{context.DeadlineExceeded}), class: event.Transient, unanswered: true},
		{name: "our own stop", ctx: cancelled, client: client(broken{context.Canceled}), class: event.Stopping, unanswered: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			err := get(ctx, tc.client)
			if class := event.ClassOf(err); class != tc.class {
				t.Errorf("class %v, want %v: %v", class, tc.class, err)
			}
			if got := Throttled(err); got != tc.throttled {
				t.Errorf("throttled %v, want %v: %v", got, tc.throttled, err)
			}
			if got := Unanswered(err); got != tc.unanswered {
				t.Errorf("may have taken effect: %v, want %v: %v", got, tc.unanswered, err)
			}
		})
	}
	if Classify("reading", nil) != nil {
		t.Error("no error became one")
	}
}

// TestATableThatIsGoneIsNamed: an operator has several, and the service does
// not say which.
func TestATableThatIsGoneIsNamed(t *testing.T) {
	gone := ClassifyAt("reading lease rows", "control table", "millrace", get(t.Context(), failing(400, notFound)))
	var missing *event.Missing
	if !errors.As(gone, &missing) || missing.Name != "millrace" || event.ClassOf(gone) != event.Unavailable || Code(gone) != notFound ||
		!strings.HasPrefix(gone.Error(), `reading lease rows: the control table "millrace" does not exist (create it again or restore it`) {
		t.Errorf("it is %v", gone)
	}
	other := ClassifyAt("reading lease rows", "control table", "millrace", get(t.Context(), failing(400, "AccessDeniedException")))
	if errors.As(other, &missing) || event.ClassOf(other) != event.Unavailable {
		t.Errorf("a refusal is %v", other)
	}
	if ClassifyAt("reading", "control table", "millrace", nil) != nil {
		t.Error("no error became one")
	}
}

func TestTheServicesOwnTypeIsStillFound(t *testing.T) {
	var refused *types.ConditionalCheckFailedException
	if err := get(t.Context(), failing(400, "ConditionalCheckFailedException")); !errors.As(err, &refused) {
		t.Errorf("%v has lost its cause", err)
	}
}

func TestNoCredentialsSaysWhatToSet(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
	t.Setenv("AWS_CONFIG_FILE", "none")
	_, err := New(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("got %v, want a hint at what to set", err)
	}
}
