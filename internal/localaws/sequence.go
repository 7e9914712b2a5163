package localaws

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// sequence is a stream record's number: head*10^18 + tail. Its text has no
// leading zeros and 21 digits for a head of three. DynamoDB's are 21 to 40
// digits long (API Reference, "StreamRecord").
type sequence struct{ head, tail uint64 }

const (
	tailDigits = 18
	tailLimit  = 1_000_000_000_000_000_000
	leastHead  = 100 // 21 digits
	// Above this head a longer one still fits into 64 bits and 40 digits.
	longestHead = 1_000_000_000_000_000_000
)

func (s sequence) String() string {
	text := make([]byte, 0, 40)
	return string(s.append(text))
}

func (s sequence) append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, s.head, 10)
	tail := strconv.AppendUint(make([]byte, 0, tailDigits), s.tail, 10)
	for range tailDigits - len(tail) {
		dst = append(dst, '0')
	}
	return append(dst, tail...)
}

// parseSequence reads a number of 21 to 37 digits.
func parseSequence(text string) (sequence, error) {
	if len(text) < tailDigits+3 || text[0] == '0' {
		return sequence{}, fmt.Errorf("a sequence number has at least %d digits and no leading zeros: %q", tailDigits+3, text)
	}
	head, err := strconv.ParseUint(text[:len(text)-tailDigits], 10, 64)
	if err != nil {
		return sequence{}, fmt.Errorf("reading a sequence number: %w", err)
	}
	tail, err := strconv.ParseUint(text[len(text)-tailDigits:], 10, 64)
	if err != nil {
		return sequence{}, fmt.Errorf("reading a sequence number: %w", err)
	}
	return sequence{head, tail}, nil
}

func (s sequence) compare(other sequence) int {
	return cmp.Or(cmp.Compare(s.head, other.head), cmp.Compare(s.tail, other.tail))
}

// next is a greater number. It steps over the head now and then, so that the
// text grows by a digit within a shard when the head was close below a power
// of ten.
func (s sequence) next(random *rand.Rand) sequence {
	s.tail += 1 + random.Uint64N(1_000_000)
	if random.Uint64N(16) == 0 || s.tail >= tailLimit {
		s.head++
		s.tail = random.Uint64N(tailLimit / 2)
	}
	return s
}

// firstSequence starts a stream's first shards: just below or above the step
// from 21 to 22 digits, or from 22 to 23.
func firstSequence(random *rand.Rand) sequence {
	head := []uint64{990, 996, 998, 4_400, 9_990, 9_998}[random.IntN(6)]
	return sequence{head: head + random.Uint64N(2), tail: random.Uint64N(tailLimit / 2)}
}

// childSequence starts a child of a shard whose numbers went from first to
// last.
func childSequence(way Sequences, first, last sequence, random *rand.Rand) sequence {
	switch {
	case way == SequencesLower && first.head > leastHead:
		return sequence{head: max(leastHead, first.head/2), tail: first.tail}
	case way == SequencesLower:
		return sequence{head: leastHead, tail: first.tail / 2}
	case way == SequencesLonger && last.head < longestHead:
		return sequence{head: last.head*10 + random.Uint64N(10), tail: last.tail}
	default:
		return last.next(random)
	}
}

// before is the number just below s.
func (s sequence) before() sequence {
	if s.tail == 0 {
		return sequence{head: s.head - 1, tail: tailLimit - 1}
	}
	return sequence{head: s.head, tail: s.tail - 1}
}
