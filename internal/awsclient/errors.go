package awsclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"syscall"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"millrace/event"
)

// throttles are the codes by which DynamoDB, its streams and SQS say "slower"
// (Developer Guide, "Error handling with DynamoDB"). ThrottlingException is
// not modelled for streams and must be matched by its code.
var throttles = []string{
	"ProvisionedThroughputExceededException", "ThrottlingException", "Throttling", "ThrottledException",
	"RequestLimitExceeded", "LimitExceededException", "TooManyRequestsException", "RequestThrottled",
}

// transients are the other codes after which the same call can succeed.
var transients = []string{
	"InternalServerError", "InternalFailure", "InternalServerFault", "ServiceUnavailable", "ServiceUnavailableException",
	"TransactionConflictException", "TransactionInProgressException", "RequestTimeout", "RequestTimeoutException",
	// Credentials that expire are refreshed by their provider, clocks by NTP.
	"ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidSignatureException",
}

// notFound is the code for a table, a stream or a shard that is not there.
const notFound = "ResourceNotFoundException"

// refusals are the codes by which a service refuses every call alike: no
// permission, no credentials it knows, no such table or queue (Developer Guide,
// "Error handling with DynamoDB"; SQS API Reference, "Common errors").
var refusals = []string{
	"AccessDenied", "AccessDeniedException", "NotAuthorized", "OptInRequired",
	"UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
	"IncompleteSignature", "IncompleteSignatureException", "SignatureDoesNotMatch",
	notFound, "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist",
}

// Code returns the service's code for an error, or nothing when no service
// answered.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Throttled reports whether the service asked to slow down.
func Throttled(err error) bool { return slices.Contains(throttles, Code(err)) }

// Unanswered reports whether the call may have taken effect although it
// failed: no answer came, or one that says nothing about the effect.
func Unanswered(err error) bool {
	if err == nil {
		return false
	}
	if status := statusOf(err); status != 0 {
		// An error with a 200 is an answer that broke off, or was none: the call
		// has taken effect.
		return status >= 500 || status < 300
	}
	// No answer at all: a cancelled call, a time-out, a broken connection. An
	// API error without a response does not occur; a refusal before sending
	// (no credentials, bad parameters) is no lost answer.
	var api smithy.APIError
	return !errors.As(err, &api) && !refusedBeforeSending(err)
}

// statusOf returns the HTTP status of the answer, or 0 when there was none:
// the SDK wraps a broken connection in a response error without a response.
func statusOf(err error) int {
	var answered *smithyhttp.ResponseError
	if errors.As(err, &answered) && answered.Response != nil && answered.Response.Response != nil {
		return answered.HTTPStatusCode()
	}
	return 0
}

func refusedBeforeSending(err error) bool {
	var params smithy.InvalidParamsError
	var sign *smithy.SerializationError
	return errors.As(err, &params) || errors.As(err, &sign)
}

// Classify wraps a call's error with its class; nil stays nil. The chain is
// kept, so errors.As still finds the service's own type.
func Classify(op string, err error) error {
	if err == nil {
		return nil
	}
	var classed *event.Error
	if errors.As(err, &classed) {
		return &event.Error{Class: classed.Class, Op: op, Err: err}
	}
	return &event.Error{Class: classOf(err), Op: op, Err: err, Hint: hintOf(err)}
}

// ClassifyAt is Classify for a call to one table, which the error names where it
// is not there. what says what the table is to its caller.
func ClassifyAt(op, what, table string, err error) error {
	if Code(err) != notFound {
		return Classify(op, err)
	}
	return &event.Error{
		Class: event.Unavailable, Op: op, Err: &event.Missing{What: what, Name: table, Err: err},
		Hint: "create it again or restore it, and then run verify; if it never was there, check its name, the Region and the endpoint",
	}
}

func classOf(err error) event.Class {
	code := Code(err)
	var netErr net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return event.Stopping
	case Throttled(err), slices.Contains(transients, code):
		return event.Transient
	case statusOf(err) >= 500, statusOf(err) != 0 && statusOf(err) < 300:
		return event.Transient
	case slices.Contains(refusals, code), refusesAll(statusOf(err)):
		return event.Unavailable
	case code != "":
		return event.Permanent
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr), Unanswered(err):
		return event.Transient
	}
	return event.Permanent
}

// refusesAll reports whether a status speaks of the caller or of the table, and
// not of the item: DynamoDB answers all that an item can have at fault with 400.
func refusesAll(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound
}

func hintOf(err error) string {
	switch Code(err) {
	case "AccessDeniedException", "UnrecognizedClientException":
		return "check the task's role and its permissions"
	case notFound:
		return "check the table's name, the Region and the endpoint"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "nobody listens at " + addressOf(err) + ": start what should, or correct the endpoint"
	}
	return ""
}

// addressOf is the address that a connection was to be made to.
func addressOf(err error) string {
	var failed *net.OpError
	if errors.As(err, &failed) && failed.Addr != nil {
		return failed.Addr.String()
	}
	return "the endpoint"
}

// Place says in messages where a client looks: its Region, and the endpoint that
// replaces the Region's own, if any.
func Place(region string, endpoint *string) string {
	if endpoint == nil {
		return "Region " + region
	}
	return "Region " + region + " at " + *endpoint
}
