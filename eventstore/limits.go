package eventstore

import (
	"fmt"

	"millrace/event"
)

// The service's limits (DynamoDB Developer Guide, "Quotas and limits in
// Amazon DynamoDB").
const (
	MaxItemBytes         = 400 << 10 // of one item, names included
	MaxTransactionItems  = 100       // events of one append
	MaxTransactionBytes  = 4 << 20   // of all items of one transaction
	MaxPartitionKeyBytes = 2048
	MaxNesting           = 32 // lists and maps in one another
)

// LimitError is an append that DynamoDB would refuse, found before any call.
type LimitError struct {
	Limit   string // what is limited
	Unit    string // what Found and Max count
	Found   uint64
	Max     uint64
	Version uint64 // the event that is too much; 0 when the append as a whole is
	Advice  string // what to do
}

// Error tells the limit, what was found and what to do.
func (l *LimitError) Error() string {
	at := ""
	if l.Version != 0 {
		at = fmt.Sprintf(" of version %d", l.Version)
	}
	return fmt.Sprintf("%s%s is %d %s, at most %d are allowed: %s", l.Limit, at, l.Found, l.Unit, l.Max, l.Advice)
}

// checkCounts checks what can be checked before any item is built.
func (s *Store) checkCounts(partition event.Value, expected uint64, events int) error {
	if size := valueBytes(partition); size > MaxPartitionKeyBytes {
		return &LimitError{
			Limit: "the aggregate's id", Unit: "bytes", Found: uint64(size), Max: MaxPartitionKeyBytes,
			Advice: "use a shorter id, or a hash of it",
		}
	}
	if most := s.mostEvents(); events > most {
		return &LimitError{
			Limit: "the append", Unit: "events", Found: uint64(events), Max: uint64(most),
			Advice: "one transaction holds no more: append in several steps, each of them valid by itself",
		}
	}
	// Subtracted, since expected+events can overflow.
	if highest := s.layout.MaxVersion(); expected > highest || uint64(events) > highest-expected {
		return &LimitError{
			Limit: "the version", Unit: "as the last one", Found: expected + uint64(events), Max: highest,
			Advice: fmt.Sprintf("the layout's %d digits are used up: go on in a new aggregate", s.layout.Digits),
		}
	}
	return nil
}

// mostEvents is how many events one append can hold: the head item takes a
// place of its own in the transaction.
func (s *Store) mostEvents() int {
	if s.layout.Head.Key != "" {
		return MaxTransactionItems - 1
	}
	return MaxTransactionItems
}

// checkSizes checks the built items, the first of which has version first.
func checkSizes(items []event.Item, first uint64) error {
	total := 0
	for i, item := range items {
		size := ItemBytes(item)
		if size > MaxItemBytes {
			return &LimitError{
				Limit: "the item", Unit: "bytes", Found: uint64(size), Max: MaxItemBytes, Version: first + uint64(i),
				Advice: "keep the payload elsewhere and only its address and hash in the event",
			}
		}
		total += size
	}
	if len(items) > 1 && total > MaxTransactionBytes {
		return &LimitError{
			Limit: "the transaction", Unit: "bytes", Found: uint64(total), Max: MaxTransactionBytes,
			Advice: "append in several steps, each of them valid by itself",
		}
	}
	return nil
}
