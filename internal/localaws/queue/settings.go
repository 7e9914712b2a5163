package queue

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// The bounds of a message's size, body and attributes together, and of a batch.
const (
	MaxSize     = 1 << 20
	MaxDelay    = 900            // seconds
	MaxHidden   = 12 * 60 * 60   // seconds of visibility time-out, from the receive on
	MaxWait     = 20             // seconds of a long poll
	maxKept     = 14 * 24 * 3600 // seconds of retention
	maxReceives = 1000           // of a redrive policy
)

// numbers are the attributes that are whole numbers, with their bounds and
// defaults (API Reference, CreateQueue).
var numbers = map[string]struct{ least, most, initial int }{
	"DelaySeconds":                  {0, MaxDelay, 0},
	"MaximumMessageSize":            {1024, MaxSize, MaxSize},
	"MessageRetentionPeriod":        {60, maxKept, 4 * 24 * 3600},
	"ReceiveMessageWaitTimeSeconds": {0, MaxWait, 0},
	"VisibilityTimeout":             {0, MaxHidden, 30},
}

// choices are the attributes of FIFO queues with their values, the default
// first.
var choices = map[string][]string{
	"ContentBasedDeduplication": {"false", "true"},
	"DeduplicationScope":        {"queue", "messageGroup"},
	"FifoThroughputLimit":       {"perQueue", "perMessageGroupId"},
}

// unsupported are attributes of the service that this one does not have:
// accepting and ignoring them would be a lie.
var unsupported = []string{"Policy", "RedriveAllowPolicy", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"}

// redrivePolicy is the attribute that names a dead-letter queue.
const redrivePolicy = "RedrivePolicy"

// settings are the attributes of one queue that can be set.
type settings struct {
	fifo    bool
	numbers map[string]int
	choices map[string]string
	policy  string // the redrive policy as it was given
	dead    string // its target's ARN; "" for none
	allowed int    // receives before a message moves there
}

func newSettings(fifo bool) settings {
	s := settings{fifo: fifo, numbers: map[string]int{}, choices: map[string]string{}}
	for name, n := range numbers {
		s.numbers[name] = n.initial
	}
	if fifo {
		for name, values := range choices {
			s.choices[name] = values[0]
		}
	}
	return s
}

func (s settings) seconds(name string) time.Duration {
	return time.Duration(s.numbers[name]) * time.Second
}

// with is the settings after some attributes were set. The target of a redrive
// policy is left to the account to check.
func (s settings) with(attributes map[string]string) (settings, error) {
	out := s
	out.numbers, out.choices = maps.Clone(s.numbers), maps.Clone(s.choices)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := out.set(name, attributes[name]); err != nil {
			return s, err
		}
	}
	if out.choices["FifoThroughputLimit"] == "perMessageGroupId" && out.choices["DeduplicationScope"] != "messageGroup" {
		return s, refuse(InvalidAttribute, "FifoThroughputLimit perMessageGroupId is allowed only when DeduplicationScope is messageGroup")
	}
	return out, nil
}

func (s *settings) set(name, value string) error {
	if bounds, ok := numbers[name]; ok {
		n, err := strconv.Atoi(value)
		if err != nil || n < bounds.least || n > bounds.most {
			return refuse(InvalidAttribute, "Invalid value for the parameter %s.", name)
		}
		s.numbers[name] = n
		return nil
	}
	if values, ok := choices[name]; ok && s.fifo {
		if !slices.Contains(values, value) {
			return refuse(InvalidAttribute, "Invalid value for the parameter %s.", name)
		}
		s.choices[name] = value
		return nil
	}
	if name == redrivePolicy {
		return s.setPolicy(value)
	}
	if slices.Contains(unsupported, name) {
		return refuse(Unsupported, "The local engine does not support the queue attribute %s", name)
	}
	return refuse(InvalidAttributeName, "Unknown Attribute %s.", name)
}

func (s *settings) setPolicy(value string) error {
	if value == "" {
		s.policy, s.dead, s.allowed = "", "", 0
		return nil
	}
	var policy struct {
		DeadLetterTargetArn *string
		MaxReceiveCount     any // a number, or a number as text
	}
	if err := json.Unmarshal([]byte(value), &policy); err != nil || policy.DeadLetterTargetArn == nil {
		return refuse(InvalidParameter, "Value %s for parameter RedrivePolicy is invalid. Reason: Redrive policy is not a valid JSON map.", value)
	}
	allowed := 10
	switch n := policy.MaxReceiveCount.(type) {
	case float64:
		allowed = int(n)
	case string:
		allowed, _ = strconv.Atoi(n) // no number is out of the bounds
	}
	if allowed < 1 || allowed > maxReceives {
		return refuse(InvalidParameter, "Value %s for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: %v, valid values are from 1 to %d both inclusive.",
			value, policy.MaxReceiveCount, maxReceives)
	}
	s.policy, s.dead, s.allowed = value, *policy.DeadLetterTargetArn, allowed
	return nil
}

// texts are the settings as the service shows them.
func (s settings) texts() map[string]string {
	out := map[string]string{}
	for name, n := range s.numbers {
		out[name] = strconv.Itoa(n)
	}
	maps.Copy(out, s.choices)
	if s.fifo {
		out["FifoQueue"] = "true"
	}
	if s.policy != "" {
		out[redrivePolicy] = s.policy
	}
	return out
}

// IsAttribute tells whether a name is that of an attribute a queue can have.
func IsAttribute(name string) bool {
	_, isNumber := numbers[name]
	_, isChoice := choices[name]
	return isNumber || isChoice || slices.Contains(unsupported, name) || slices.Contains([]string{
		redrivePolicy, "FifoQueue", "QueueArn", "CreatedTimestamp", "LastModifiedTimestamp",
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
	}, name)
}
