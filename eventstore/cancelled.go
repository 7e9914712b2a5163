package eventstore

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
)

// meaning is what one reason of a cancelled transaction stands for.
type meaning uint8

const (
	innocent meaning = iota // this item did not cancel the transaction
	slower                  // the same transaction can succeed later
	taken                   // the condition failed
	refused                 // it will never succeed
)

// meaningOf reads one reason. The exception itself says neither "lost race"
// nor "throttled", so the reasons are read one by one (API Reference,
// TransactionCanceledException).
func meaningOf(reason types.CancellationReason) meaning {
	switch aws.ToString(reason.Code) {
	case "", "None":
		return innocent
	case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		return slower
	case "ConditionalCheckFailed":
		return taken
	}
	return refused // ValidationError, ItemCollectionSizeLimitExceeded and whatever is to come
}

func tell(i int, reason types.CancellationReason) error {
	return fmt.Errorf("item %d of the transaction: %s: %s", i+1, aws.ToString(reason.Code), aws.ToString(reason.Message))
}

// classifyCancelled classifies the error of a transaction without conditions.
func (s *Store) classifyCancelled(op string, err error) error {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return s.classify(op, err)
	}
	for i, reason := range cancelled.CancellationReasons {
		if m := meaningOf(reason); m == refused || m == taken {
			return invalid(op, tell(i, reason))
		}
	}
	return &event.Error{Class: event.Transient, Op: op, Err: err}
}
