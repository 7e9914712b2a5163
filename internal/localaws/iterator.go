package localaws

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"strings"
	"time"
)

// iteratorLife is how long an iterator can be used, any number of times (API
// Reference, "GetShardIterator").
const iteratorLife = 15 * time.Minute

// iterator is a place in a shard. All of it is in the text that callers hold,
// so an engine keeps nothing for an iterator and one can be used twice.
type iterator struct {
	Stream     string
	Shard      string
	After      string // sequence number
	Issued     int64  // milliseconds since 1970
	Generation int
	Empty      int // empty pages to come before data
	Nonce      int // the page number: two iterators for one place are two texts
}

func (i iterator) String() string {
	encoded, err := json.Marshal(i)
	if err != nil { // texts and integers cannot fail to marshal
		panic(err)
	}
	encoded = binary.BigEndian.AppendUint32(encoded, crc32.ChecksumIEEE(encoded))
	return i.Stream + "|1|" + base64.RawURLEncoding.EncodeToString(encoded)
}

func parseIterator(text string) (iterator, error) {
	var i iterator
	broken := invalid("Invalid ShardIterator: the shard iterator was not issued by this service")
	_, code, ok := strings.Cut(text, "|1|")
	if !ok {
		return i, broken
	}
	encoded, err := base64.RawURLEncoding.DecodeString(code)
	if err != nil || len(encoded) < 4 {
		return i, broken
	}
	body, sum := encoded[:len(encoded)-4], binary.BigEndian.Uint32(encoded[len(encoded)-4:])
	if crc32.ChecksumIEEE(body) != sum || json.Unmarshal(body, &i) != nil || !strings.HasPrefix(text, i.Stream+"|") {
		return i, broken
	}
	return i, nil
}

type getShardIterator struct {
	StreamArn, ShardId, ShardIteratorType string
	SequenceNumber                        *string
	Timestamp                             *json.Number
}

func (o *getShardIterator) subject(*Engine) (string, string) {
	return plainName(o.StreamArn), o.ShardId
}

func (o *getShardIterator) run(e *Engine, c *callContext) (*reply, error) {
	if len(o.ShardId) < 28 || len(o.ShardId) > 65 {
		return nil, invalid("1 validation error detected: Value '%s' at 'shardId' failed to satisfy constraint: Member must have length between 28 and 65", o.ShardId)
	}
	if err := o.checkParameters(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s, err := e.stream(o.StreamArn, c.now)
	if err != nil {
		return nil, err
	}
	h := s.shard(o.ShardId)
	if h == nil {
		return nil, noShard(o.ShardId, s)
	}
	h.settle(e.options.Permute)
	at, err := o.position(h, c.now)
	if err != nil {
		return nil, err
	}
	r := newReply()
	r.text("ShardIterator", s.iterator(h, at, c.now, 0).String())
	return r, nil
}

func noShard(id string, s *stream) *apiError {
	return refuse("ResourceNotFoundException", "Requested resource not found: Shard: %s in stream %s not found", id, s.arn)
}

// iterator makes the iterator for a position; after a quiet stretch some empty
// pages may come first.
func (s *stream) iterator(h *shard, at position, now time.Time, nonce int) iterator {
	i := iterator{
		Stream: s.arn, Shard: h.id, After: at.after.String(), Issued: now.UnixMilli(),
		Generation: s.iterates, Nonce: nonce,
	}
	if most := s.engine.options.EmptyPages; most > 0 && h.firstAt(at) == len(h.records) {
		// Three quarters of the stretches end without one.
		draw := mix(s.engine.options.Seed ^ mix(at.after.tail) ^ pointOf(h.id, "").hash)
		i.Empty = max(0, int(draw%uint64(4*(most+1)))-3*(most+1))
	}
	return i
}

func (o *getShardIterator) checkParameters() error {
	numbered := o.ShardIteratorType == "AT_SEQUENCE_NUMBER" || o.ShardIteratorType == "AFTER_SEQUENCE_NUMBER"
	timed := o.ShardIteratorType == "AT_TIMESTAMP"
	switch o.ShardIteratorType {
	case "TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP":
	default:
		return invalid("1 validation error detected: Value '%s' at 'shardIteratorType' failed to satisfy constraint: Member must satisfy enum value set: [AFTER_SEQUENCE_NUMBER, LATEST, AT_SEQUENCE_NUMBER, TRIM_HORIZON, AT_TIMESTAMP]", o.ShardIteratorType)
	}
	switch {
	case numbered && o.SequenceNumber == nil:
		return invalid("The parameter SequenceNumber is required for the iterator type %s", o.ShardIteratorType)
	case !numbered && o.SequenceNumber != nil:
		return invalid("The parameter SequenceNumber is not allowed for the iterator type %s", o.ShardIteratorType)
	case timed && o.Timestamp == nil:
		return invalid("The parameter Timestamp is required for the iterator type %s", o.ShardIteratorType)
	case !timed && o.Timestamp != nil:
		return invalid("The parameter Timestamp is not allowed for the iterator type %s", o.ShardIteratorType)
	}
	return nil
}

// position is where the iterator begins. The caller holds Engine.mu.
func (o *getShardIterator) position(h *shard, now time.Time) (position, error) {
	switch o.ShardIteratorType {
	case "TRIM_HORIZON":
		return h.horizon(), nil
	case "LATEST":
		return position{after: h.last}, nil
	case "AT_TIMESTAMP":
		return o.atTime(h, now)
	}
	number, err := parseSequence(*o.SequenceNumber)
	if err != nil {
		return position{}, invalid("Invalid SequenceNumber: %v", err)
	}
	if number.compare(h.first) < 0 || number.compare(h.last) > 0 {
		return position{}, invalid("The SequenceNumber %s is not within the range of shard %s", *o.SequenceNumber, h.id)
	}
	if h.trimmed != (sequence{}) && number.compare(h.trimmed) <= 0 {
		return position{}, refuse("TrimmedDataAccessException", "The operation attempted to read past the oldest stream record in a shard: %s", *o.SequenceNumber)
	}
	if o.ShardIteratorType == "AT_SEQUENCE_NUMBER" {
		number = number.before()
	}
	return position{after: number}, nil
}

// atTime finds the first record whose creation time, a whole second, is at or
// after the asked one.
func (o *getShardIterator) atTime(h *shard, now time.Time) (position, error) {
	asked, err := o.Timestamp.Float64()
	if err != nil {
		return position{}, refuse("SerializationException", "reading the Timestamp: %v", err)
	}
	at := time.UnixMilli(int64(math.Round(asked * 1000)))
	if at.After(now) {
		return position{}, invalid("The Timestamp is in the future: %s", o.Timestamp)
	}
	out := h.horizon()
	for _, r := range h.records {
		if !r.at.Truncate(time.Second).Before(at) {
			break
		}
		out.after = r.sequence
	}
	return out, nil
}
