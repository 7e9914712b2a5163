// Package awsclient builds the product's AWS configuration and says what a
// failed call means.
package awsclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Options says whom to talk to.
type Options struct {
	// Region overrides the environment's. Default: the environment's, or
	// eu-central-1 with Local.
	Region string
	// Endpoint replaces every service's address: the embedded engine or another
	// server. Default: AWS.
	Endpoint string
	// AppID goes into each call's User-Agent: millrace/<group>/<worker>.
	AppID string
	// Local uses fixed credentials and consults neither the machine's AWS files
	// nor a metadata service.
	Local bool
	// Wait bounds the search for credentials. Default 5 s.
	Wait time.Duration
	// Calls counts the clients' calls. Nil: nobody does.
	Calls *Calls
}

// New resolves a configuration. The SDK's own retries are off: the product
// retries itself, with a seeded jitter, and counts what it does. Without
// usable credentials it fails within Wait and says what to set.
func New(ctx context.Context, o Options) (aws.Config, error) {
	if o.Local {
		region := o.Region
		if region == "" {
			region = "eu-central-1"
		}
		return finish(aws.Config{
			Region:      region,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
			HTTPClient:  newHTTPClient(callTime),
		}, o), nil
	}
	if o.Wait == 0 {
		o.Wait = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	overrides := []func(*config.LoadOptions) error{config.WithHTTPClient(newHTTPClient(callTime))}
	if o.Region != "" {
		overrides = append(overrides, config.WithRegion(o.Region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, overrides...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("loading the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return aws.Config{}, errors.New("no AWS Region: set AWS_REGION or --region")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return aws.Config{}, fmt.Errorf("no AWS credentials: give the task a role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", err)
	}
	return finish(cfg, o), nil
}

func finish(cfg aws.Config, o Options) aws.Config {
	cfg.AppID = o.AppID
	cfg.HTTPClient = sender{cfg.HTTPClient}
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	if o.Endpoint != "" {
		cfg.BaseEndpoint = aws.String(o.Endpoint)
	}
	if o.Calls != nil {
		cfg.APIOptions = append(cfg.APIOptions, o.Calls.count)
	}
	return cfg
}

// idleConnections is how many connections to one service are kept: as many as
// a worker's sinks and shards have calls under way. The SDK's default of 10
// makes a busy worker open a connection for most of its calls.
const idleConnections = 256

// callTime bounds every call, whoever makes it: a connection over which nothing
// comes back must not hold a redrive or the letters for ever. It is above the
// 20 s for which SQS may let a receiver wait; workers bound their own calls by
// less.
const callTime = 30 * time.Second

func newHTTPClient(limit time.Duration) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTimeout(limit).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 2 * idleConnections
		t.MaxIdleConnsPerHost = idleConnections
	})
}

// sender sends a request's body without its WriteTo. The SDK closes the body as
// soon as it has the answer, and a closed body answers io.EOF from WriteTo,
// which net/http takes for a failed request: it tears the connection down while
// the answer is being read. Servers as near as the embedded engine are quick
// enough for that.
type sender struct{ next aws.HTTPClient }

func (s sender) Do(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		request.Body = struct{ io.ReadCloser }{request.Body}
	}
	return s.next.Do(request) //nolint:wrapcheck // the SDK names the call
}
