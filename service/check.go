package service

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"millrace/internal/awsclient"
)

// Verdict is what a check comes to.
type Verdict string

// The verdicts. Warned is of what works and should not stay so, and of what could
// not be looked at; skipped of what does not apply, or cannot be known.
const (
	Passed  Verdict = "ok"
	Warned  Verdict = "warn"
	Failed  Verdict = "fail"
	Skipped Verdict = "skip"
)

// Checked is the outcome of one check.
type Checked struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Hint    string  `json:"hint,omitempty"` // what to do
}

// Check looks whether a worker could do its work as it is configured, and what
// will trouble it later. It changes nothing: rights to write are tried with
// conditions that never hold. An error of a call is an outcome like any other,
// so that one missing permission does not hide the rest.
func (s *Service) Check(ctx context.Context) []Checked {
	cfg := s.aws.Copy()
	cfg.Retryer = func() aws.Retryer { return retry.NewStandard() }
	c := &checker{
		Service: s, tables: dynamodb.NewFromConfig(cfg), streams: streams.NewFromConfig(cfg), queues: sqs.NewFromConfig(cfg),
	}
	c.access()
	c.eventTable(ctx)
	for _, t := range s.targets {
		c.sink(ctx, t)
	}
	c.control(ctx)
	c.queue(ctx)
	c.readers()
	return c.done
}

// checker is a Check under way.
type checker struct {
	*Service
	tables  *dynamodb.Client
	streams *streams.Client
	queues  *sqs.Client
	done    []Checked
}

func (c *checker) ok(check, format string, args ...any) {
	c.done = append(c.done, Checked{Check: check, Verdict: Passed, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) skip(check, format string, args ...any) {
	c.done = append(c.done, Checked{Check: check, Verdict: Skipped, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) warn(check, hint, format string, args ...any) {
	c.done = append(c.done, Checked{Check: check, Verdict: Warned, Text: fmt.Sprintf(format, args...), Hint: hint})
}

func (c *checker) fail(check, hint, format string, args ...any) {
	c.done = append(c.done, Checked{Check: check, Verdict: Failed, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// unseen is the outcome of a call that has failed. needed says that a worker
// makes the same call, so that it will fail, too.
func (c *checker) unseen(check, action string, needed bool, err error) {
	text, hint := brief(err), "try again; if it lasts, look at the endpoint and at the service"
	switch {
	case strings.HasPrefix(awsclient.Code(err), "AccessDenied"):
		text, hint = "no permission: "+action, "give the role the action "+action
	case awsclient.Code(err) == "UnknownOperationException":
		c.skip(check, "%s is not known to this endpoint", action)
		return
	}
	if needed {
		c.fail(check, hint, "%s", text)
		return
	}
	c.warn(check, hint, "cannot be seen: %s", text)
}

// brief is the part of the SDK's error that says something.
func brief(err error) string {
	var answer smithy.APIError
	var sent *url.Error
	switch {
	case errors.As(err, &answer):
		return answer.ErrorCode() + ": " + answer.ErrorMessage()
	case errors.As(err, &sent):
		return sent.Err.Error()
	}
	return err.Error()
}

// access tells where the calls go: of all that can be wrong, what nobody looks at
// twice.
func (c *checker) access() {
	place := func(endpoint *string) string {
		if endpoint == nil {
			return "AWS"
		}
		return *endpoint
	}
	c.ok("access", "Region %s; DynamoDB at %s, its streams at %s, SQS at %s", c.aws.Region,
		place(c.tables.Options().BaseEndpoint), place(c.streams.Options().BaseEndpoint), place(c.queues.Options().BaseEndpoint))
}

// describe looks at a table, which is nil when it is not there or cannot be used,
// and says how it is in a few words.
func (c *checker) describe(ctx context.Context, check, name string, fits func(*types.TableDescription) error) (table *types.TableDescription, words string) {
	out, err := c.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	switch {
	case awsclient.Code(err) == "ResourceNotFoundException":
		c.fail(check, "create it, name another, or look at Region and endpoint", "table %s does not exist", name)
		return nil, ""
	case err != nil:
		c.unseen(check, "dynamodb:DescribeTable on "+name, true, err)
		return nil, ""
	}
	if err := fits(out.Table); err != nil {
		c.fail(check, "", "%v", err)
		return nil, ""
	}
	paid := "provisioned capacity"
	if b := out.Table.BillingModeSummary; b != nil && b.BillingMode == types.BillingModePayPerRequest {
		paid = "on demand"
	}
	var key []string
	for _, k := range out.Table.KeySchema {
		key = append(key, aws.ToString(k.AttributeName))
	}
	return out.Table, fmt.Sprintf("%s: key %s, %s", name, strings.Join(key, ", "), paid)
}

// expiry looks at a table's time to live, and reports whether it is off.
func (c *checker) expiry(ctx context.Context, check, name string, found func(attribute string)) bool {
	out, err := c.tables.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		c.unseen(check, "dynamodb:DescribeTimeToLive on "+name, false, err)
		return false
	}
	d := out.TimeToLiveDescription
	if d == nil || !slices.Contains([]types.TimeToLiveStatus{types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling}, d.TimeToLiveStatus) {
		return true
	}
	found(aws.ToString(d.AttributeName))
	return false
}

// writes tries the rights to write an item, and reports whether all are there. The
// condition never holds, so that
// the answer of a right that is there is that it failed.
func (c *checker) writes(ctx context.Context, check, table string, key map[string]types.AttributeValue, actions ...string) bool {
	var name string
	for name = range key {
		break
	}
	never, names := aws.String("attribute_exists(#k) AND attribute_not_exists(#k)"), map[string]string{"#k": name}
	calls := map[string]func() error{
		"PutItem": func() error {
			_, err := c.tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: key, ConditionExpression: never, ExpressionAttributeNames: names})
			return err //nolint:wrapcheck // its code is looked at below
		},
		"UpdateItem": func() error {
			_, err := c.tables.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &table, Key: key, ConditionExpression: never, ExpressionAttributeNames: names})
			return err //nolint:wrapcheck // likewise
		},
		"DeleteItem": func() error {
			_, err := c.tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key, ConditionExpression: never, ExpressionAttributeNames: names})
			return err //nolint:wrapcheck // likewise
		},
	}
	for _, action := range actions {
		if err := calls[action](); awsclient.Code(err) != "ConditionalCheckFailedException" {
			if err == nil {
				err = fmt.Errorf("%s has written under a condition that never holds", action)
			}
			c.unseen(check, "dynamodb:"+action+" on "+table, true, err)
			return false
		}
	}
	return true
}
