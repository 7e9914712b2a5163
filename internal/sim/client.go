package sim

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// patience bounds every call as the product's own clients do: redrives and
// letters give theirs no deadline.
const patience = 10 * time.Second

func (w *world) config(app string) aws.Config {
	cfg := w.engine.Config(app)
	cfg.HTTPClient = impatient{cfg.HTTPClient}
	return cfg
}

func (w *world) client(app string) *dynamodb.Client { return dynamodb.NewFromConfig(w.config(app)) }

type impatient struct{ next aws.HTTPClient }

// Do may end the context behind the answer: its body is in memory.
func (c impatient) Do(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), patience)
	defer cancel()
	return c.next.Do(request.WithContext(ctx)) //nolint:wrapcheck // the SDK names the call
}
