package sqs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"millrace/event"
	"millrace/failure"
)

// aggregateHash is the attribute of a letter that becomes its group in a FIFO
// queue: the letters of one aggregate keep their order.
const aggregateHash = "aggregateHash"

// message makes the message of a letter, without the id of a batch's entry. With
// an error it still has its group.
func (q *Queue) message(l failure.Letter) (types.SendMessageBatchRequestEntry, error) {
	attributes := l.Attributes()
	m := types.SendMessageBatchRequestEntry{MessageAttributes: make(map[string]types.MessageAttributeValue, len(attributes))}
	for name, value := range attributes {
		if value != "" {
			m.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(clean(value))}
		}
	}
	if q.fifo {
		// Each block, and each return to blocked, has a letter id of its own.
		// With less, SQS would drop a letter that follows another within five
		// minutes, also after the first was deleted.
		m.MessageGroupId, m.MessageDeduplicationId = aws.String(identifier(attributes[aggregateHash])), aws.String(identifier(l.ID()))
	}
	body, err := l.Body()
	if err != nil {
		return m, &event.Error{Class: event.Permanent, Op: q.op(sending), Err: err}
	}
	m.MessageBody = aws.String(escape(body))
	if size := size(m); size > maxBytes {
		return m, &event.Error{
			Class: event.Permanent, Op: q.op(sending), Err: fmt.Errorf("letter %s has %d bytes, SQS takes %d", l.ID(), size, maxBytes),
			Hint: "letters of records this large must leave the record out",
		}
	}
	return m, nil
}

// size is what counts towards the limits of a message and of a batch.
func size(m types.SendMessageBatchRequestEntry) int {
	n := len(aws.ToString(m.MessageBody))
	for name, a := range m.MessageAttributes {
		n += len(name) + len(aws.ToString(a.DataType)) + len(aws.ToString(a.StringValue))
	}
	return n
}

// escape makes a body of JSON one that SQS takes: only the characters of XML
// 1.0. JSON has escaped most others already; those it may leave as they are,
// U+FFFE and U+FFFF, stand inside of its strings, where an escape means the
// same. Bytes that are no UTF-8 become U+FFFD, as every JSON decoder reads
// them.
func escape(body []byte) string {
	text := string(body)
	if !strings.ContainsFunc(text, barred) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // RuneError for bytes that are no UTF-8
		if barred(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// clean is escape for texts that are not JSON: what SQS does not take becomes
// U+FFFD.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if barred(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// barred tells which characters SQS refuses (API Reference, SendMessage).
func barred(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

// identifier is a text that can be a group or de-duplication id: as it is where
// SQS takes it, else its hash.
func identifier(text string) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if text != "" && len(text) <= 128 && !strings.ContainsFunc(text, odd) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
