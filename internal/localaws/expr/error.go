package expr

import "fmt"

// Error is a request that DynamoDB refuses with a ValidationException.
type Error struct {
	// Message is the service's message, complete.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func errorf(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// Kind is the request parameter an expression came in; messages name it.
type Kind string

// The expressions of DynamoDB's API.
const (
	ConditionExpression    Kind = "ConditionExpression"
	FilterExpression       Kind = "FilterExpression"
	KeyConditionExpression Kind = "KeyConditionExpression"
	ProjectionExpression   Kind = "ProjectionExpression"
	UpdateExpression       Kind = "UpdateExpression"
)

func (k Kind) errorf(format string, args ...any) *Error {
	return errorf("Invalid %s: %s", k, fmt.Sprintf(format, args...))
}

// Messages that an update can meet when it runs; DynamoDB does not say which
// operand or path it means.
const (
	wrongOperand = "An operand in the update expression has an incorrect data type"
	wrongPath    = "The document path provided in the update expression is invalid for update"
	noAttribute  = "The provided expression refers to an attribute that does not exist in the item"
	tooDeep      = "Nesting Levels have exceeded supported limits"
)
