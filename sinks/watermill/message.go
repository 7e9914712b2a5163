package watermill

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"millrace/event"
)

// Schema is the version of the metadata's form.
const Schema = "millrace.event/v1"

// The metadata of each message, beside its UUID, which is the event's id.
const (
	MetadataSchema    = "schema"    // Schema
	MetadataEventID   = "eventId"   // the UUID once more, since few adapters carry that
	MetadataAggregate = "aggregate" // what to partition by
	MetadataVersion   = "version"   // decimal, from 1 on
	MetadataEventType = "eventType" // absent where the layout has no type
	MetadataTable     = "table"     // the event store's
)

// eventIDs is the name space of event ids, drawn once.
var eventIDs = uuid.UUID{0x4e, 0x1c, 0x9a, 0x37, 0x5d, 0x02, 0x4b, 0x86, 0xa3, 0x7f, 0xe8, 0x61, 0x0c, 0xd4, 0x92, 0xb5}

// EventID is the id of one version of one aggregate in one event store: the
// same whoever sends it, in whichever group, sink or sink version, and whether
// it came by the stream or from the store. It is a UUID of version 8, made with
// SHA-256 (RFC 9562, section 5.8), 36 characters long, which is what the
// adapters with a column for it reserve.
func EventID(table, aggregate string, version uint64) string {
	// A table's name has no slash (DynamoDB Developer Guide, "Naming rules"), so
	// no two events have one name.
	name := fmt.Sprintf("%s/%d/%s", table, version, aggregate)
	return uuid.NewHash(sha256.New(), eventIDs, []byte(name), 8).String()
}

// message makes an event's message and topic. A message that went to a
// publisher is not used again, so each attempt makes one.
func (s *Sink) message(e event.Event) (topic string, m *message.Message, err error) {
	kind, err := e.Type()
	if err != nil {
		return "", nil, permanent(fmt.Errorf("reading its type: %w", err))
	}
	if topic, err = topicOf(s.options.Topic, e.Aggregate, kind); err != nil {
		return "", nil, permanent(err)
	}
	payload, err := s.options.Marshal(e)
	if err != nil {
		return "", nil, permanent(fmt.Errorf("marshalling it: %w", err))
	}
	table := s.options.Identity.Source
	id := EventID(table, e.Aggregate, e.Version)
	m = message.NewMessage(id, payload)
	m.Metadata.Set(MetadataSchema, Schema)
	m.Metadata.Set(MetadataEventID, id)
	m.Metadata.Set(MetadataAggregate, e.Aggregate)
	m.Metadata.Set(MetadataVersion, strconv.FormatUint(e.Version, 10))
	if kind != "" {
		m.Metadata.Set(MetadataEventType, kind)
	}
	m.Metadata.Set(MetadataTable, table)
	return topic, m, nil
}

// checkTopic refuses a template that names a placeholder which there is not.
func checkTopic(template string) error {
	if template == "" {
		return errors.New("no topic")
	}
	if literal := fillTopic(template, "", ""); strings.ContainsAny(literal, "{}") {
		return fmt.Errorf("topic %q has another placeholder than {type} and {aggregate}", template)
	}
	return nil
}

// topicOf fills a template in. An event without a type has no place in a topic
// that is named after it.
func topicOf(template, aggregate, kind string) (string, error) {
	if kind == "" && strings.Contains(template, "{type}") {
		return "", fmt.Errorf("topic %q names the event's type, and it has none", template)
	}
	return fillTopic(template, aggregate, kind), nil
}

func fillTopic(template, aggregate, kind string) string {
	return strings.NewReplacer("{type}", kind, "{aggregate}", aggregate).Replace(template)
}

// permanent gives an error that has no class the class of what the event
// itself is to blame for.
func permanent(err error) error {
	var classed *event.Error
	if errors.As(err, &classed) {
		return err
	}
	return &event.Error{Class: event.Permanent, Op: "making a message", Err: err}
}
