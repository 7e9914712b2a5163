package localaws

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"millrace/event"
	"millrace/internal/localaws/queue"
)

// apiError is an answer that is not the one the caller hoped for. Code is the
// service's error name without its name space.
type apiError struct {
	status  int
	code    string
	message string
	query   string         // what SQS called the error before it spoke JSON; empty for other services
	item    *row           // the item a condition failed on, where the caller asked for it
	reasons []cancellation // of a TransactionCanceledException
}

// cancellation is why one operation of a transaction did not happen; the code
// "None" stands for an operation that was not the reason.
type cancellation struct {
	code, message string
	item          *row
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

func refuse(code, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, code: code, message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *apiError {
	return refuse("ValidationException", format, args...)
}

func internalError() *apiError {
	return &apiError{status: http.StatusInternalServerError, code: "InternalServerError", message: "Internal server error"}
}

func conditionFailed(found *row) *apiError {
	e := refuse("ConditionalCheckFailedException", "The conditional request failed")
	e.item = found
	return e
}

func noTable() *apiError {
	return refuse("ResourceNotFoundException", "Requested resource not found")
}

// asAPIError turns any error of an operation into an answer. What is not an
// apiError already is the complaint of a parser about the request.
func asAPIError(err error) *apiError {
	var known *apiError
	if errors.As(err, &known) {
		return known
	}
	var refused *queue.Error
	if errors.As(err, &refused) {
		return queueError(refused)
	}
	return invalid("%s", err.Error())
}

// body is the error in the services' JSON form.
func (e *apiError) body() []byte {
	r := newReply()
	space := "com.amazonaws.dynamodb.v20120810#"
	if e.query != "" {
		space = "com.amazonaws.sqs#"
	}
	r.text("__type", space+e.code)
	r.text("message", e.message)
	if e.item != nil {
		r.raw("Item", e.item.json)
	}
	if e.reasons != nil {
		// The one shape whose message member is spelled with a capital.
		r.text("Message", e.message)
		r.list("CancellationReasons", len(e.reasons), func(i int) {
			reason := e.reasons[i]
			r.text("Code", reason.code)
			if reason.message != "" {
				r.text("Message", reason.message)
			}
			if reason.item != nil {
				r.raw("Item", reason.item.json)
			}
		})
	}
	return r.bytes()
}

// cancelled is the error of a transaction of which at least one operation
// could not happen.
func cancelled(reasons []cancellation) *apiError {
	codes := make([]string, len(reasons))
	for i, reason := range reasons {
		codes[i] = reason.code
	}
	e := refuse("TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	e.reasons = reasons
	return e
}

// describeKey writes a key's values for messages and for Call.Key.
func describeKey(values ...event.Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case event.String:
			texts[i] = string(v)
		case event.Number:
			texts[i] = string(v)
		case event.Binary:
			texts[i] = hex.EncodeToString(v)
		default:
			texts[i] = fmt.Sprint(v)
		}
	}
	return strings.Join(texts, "/")
}
