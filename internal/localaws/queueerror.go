package localaws

import (
	"fmt"

	"millrace/internal/localaws/queue"
)

// queueError is a refusal of SQS as an answer.
func queueError(e *queue.Error) *apiError {
	failed := refuse(e.Code, "%s", e.Message)
	failed.query = queryCode(e.Code)
	return failed
}

// queryCode is what an error was called in the query protocol. SDKs whose users
// knew that protocol ask for it (header X-Amzn-Query-Mode) and show it as the
// error's code, while the error's type follows the name of today.
func queryCode(code string) string {
	const prefix = "AWS.SimpleQueueService."
	switch code {
	case queue.DoesNotExist:
		return prefix + "NonExistentQueue"
	case queue.NameExists:
		return "QueueAlreadyExists"
	case queue.DeletedRecently, queue.PurgeInProgress, queue.NotInFlight, queue.Unsupported,
		queue.EmptyBatch, queue.TooManyEntries, queue.BatchTooLong, queue.IDsNotDistinct, queue.InvalidID:
		return prefix + code
	}
	return code
}

// checkRange refuses a number that is out of its bounds.
func checkRange(name string, value *int, least, most int) error {
	if value == nil || *value >= least && *value <= most {
		return nil
	}
	return &queue.Error{
		Code:    queue.InvalidParameter,
		Message: fmt.Sprintf("Value %d for parameter %s is invalid. Reason: Must be between %d and %d, if provided.", *value, name, least, most),
	}
}
