package queue

import "fmt"

// The error codes, as the API Reference names them. The last two are the
// errors common to all actions.
const (
	DoesNotExist         = "QueueDoesNotExist"
	NameExists           = "QueueNameExists"
	DeletedRecently      = "QueueDeletedRecently"
	PurgeInProgress      = "PurgeQueueInProgress"
	OverLimit            = "OverLimit"
	InvalidAddress       = "InvalidAddress"
	InvalidAttributeName = "InvalidAttributeName"
	InvalidAttribute     = "InvalidAttributeValue"
	InvalidContents      = "InvalidMessageContents"
	InvalidReceipt       = "ReceiptHandleIsInvalid"
	NotInFlight          = "MessageNotInflight"
	Unsupported          = "UnsupportedOperation"
	EmptyBatch           = "EmptyBatchRequest"
	TooManyEntries       = "TooManyEntriesInBatchRequest"
	BatchTooLong         = "BatchRequestTooLong"
	IDsNotDistinct       = "BatchEntryIdsNotDistinct"
	InvalidID            = "InvalidBatchEntryId"
	InvalidParameter     = "InvalidParameterValue"
	MissingParameter     = "MissingParameter"
)

// Error is a refusal. Every refusal is the caller's fault.
type Error struct{ Code, Message string }

// Error tells the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
