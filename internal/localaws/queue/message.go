package queue

import (
	"crypto/md5" //nolint:gosec // the protocol's checksum
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxAttributes is how many message attributes a message can have.
const maxAttributes = 10

// Attribute is one message attribute: a text (types String and Number) or
// bytes (type Binary).
type Attribute struct {
	Type   string
	Text   string
	Binary []byte
}

// IsBytes tells whether the value is Binary and not Text.
func (a Attribute) IsBytes() bool { return a.kind() == "Binary" }

// kind is the type without the label that a user may add after a period.
func (a Attribute) kind() string {
	kind, _, _ := strings.Cut(a.Type, ".")
	return kind
}

func (a Attribute) value() []byte {
	if a.IsBytes() {
		return a.Binary
	}
	return []byte(a.Text)
}

// Draft is a message before it is accepted.
type Draft struct {
	Body       string
	Attributes map[string]Attribute
	Delay      *int   // seconds; nil for the queue's
	Group      string // "" for none
	Duplicate  string // the de-duplication id; "" for none
	Sender     string
}

// Size is what counts towards the limits of messages and batches: body, and
// the names, types and values of the attributes, in bytes.
func (d Draft) Size() int {
	size := len(d.Body)
	for name, a := range d.Attributes {
		size += len(name) + len(a.Type) + len(a.value())
	}
	return size
}

// check checks what holds in every queue.
func (d Draft) check(most int) error {
	if d.Body == "" {
		return refuse(MissingParameter, "The request must contain the parameter MessageBody.")
	}
	if d.Size() > most {
		return refuse(InvalidParameter, "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", most)
	}
	if !allowed(d.Body) {
		return refuse(InvalidContents, "Invalid characters found in the message body. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF")
	}
	if d.Delay != nil && (*d.Delay < 0 || *d.Delay > MaxDelay) {
		return refuse(InvalidParameter, "Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= %d.", *d.Delay, MaxDelay)
	}
	if len(d.Attributes) > maxAttributes {
		return refuse(InvalidParameter, "Number of message attributes [%d] exceeds the allowed maximum [%d].", len(d.Attributes), maxAttributes)
	}
	for name, a := range d.Attributes {
		if err := a.check(name); err != nil {
			return err
		}
	}
	return nil
}

func (a Attribute) check(name string) error {
	lower := strings.ToLower(name)
	switch {
	case len(name) > 256 || !plain(strings.ReplaceAll(name, ".", "")),
		strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."),
		strings.HasPrefix(lower, "aws."), strings.HasPrefix(lower, "amazon."):
		return refuse(InvalidParameter, "The message attribute name '%s' is invalid.", name)
	case a.kind() != "String" && a.kind() != "Number" && a.kind() != "Binary", len(a.Type) > 256:
		return refuse(InvalidParameter, "The message attribute '%s' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.", name)
	case len(a.value()) == 0:
		return refuse(InvalidParameter, "Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, a.kind())
	case a.kind() == "Number" && !number(a.Text):
		return refuse(InvalidParameter, "Can't cast the value of message (user) attribute '%s' to a number.", name)
	case !a.IsBytes() && !allowed(a.Text):
		return refuse(InvalidContents, "Invalid characters found in the message attribute '%s'.", name)
	}
	return nil
}

// number tells whether a text is a decimal number.
func number(text string) bool {
	digits := false
	for i, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits = true
		case (r == '-' || r == '+') && (i == 0 || text[i-1] == 'e' || text[i-1] == 'E'):
		case (r == '.' && !strings.ContainsAny(text[:i], ".eE")), (r == 'e' || r == 'E') && digits && !strings.ContainsAny(text[:i], "eE"):
		default:
			return false
		}
	}
	return digits
}

// allowed tells whether a text has only the characters of XML 1.0, which are
// all that a message may have.
func allowed(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	})
}

// message is a message in a queue.
type message struct {
	id        string
	order     uint64 // of arrival in this queue
	sequence  string // of FIFO queues
	body      string
	attrs     map[string]Attribute
	group     string
	duplicate string
	sender    string
	sent      time.Time
	source    string // the ARN of the queue it was moved from; "" for none

	line     *line
	inFlight bool
	taken    time.Time // of the last receive
	first    time.Time // of the first one
	total    int       // receives over all queues
	here     int       // receives in this queue: what tells receipt handles apart
	until    time.Time // hidden until then, while in the pile of timers

	timer, age int // places in the queue's piles
}

// BodyMD5 is the checksum of a body.
func BodyMD5(body string) string {
	sum := md5.Sum([]byte(body)) //nolint:gosec // the protocol's checksum
	return hex.EncodeToString(sum[:])
}

// AttributesMD5 is the checksum of message attributes, "" for none: name, type
// and value of each in the order of names, each after its length, the value
// also after its encoding, 1 for text and 2 for bytes (Developer Guide,
// "Calculating the MD5 message digest for message attributes").
func AttributesMD5(attributes map[string]Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	var b []byte
	add := func(part []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part))) //nolint:gosec // below the size limit
		b = append(b, part...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		add([]byte(name))
		add([]byte(a.Type))
		encoding := byte(1)
		if a.IsBytes() {
			encoding = 2
		}
		b = append(b, encoding)
		add(a.value())
	}
	sum := md5.Sum(b) //nolint:gosec // the protocol's checksum
	return hex.EncodeToString(sum[:])
}
