package sqs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// raw is a letter whose encoder escapes what JSON demands and no more.
type raw struct{ note }

func (r raw) Body() ([]byte, error) {
	var b strings.Builder
	for i := range len(r.text) { // byte by byte: they need not be UTF-8
		switch c := r.text[i]; {
		case c == '"', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return []byte(`{"text":"` + b.String() + `"}`), nil
}

// TestAnyTextArrives: SQS takes every letter, whatever is in its text, id and
// attributes, and its reader reads what stood in its body.
func TestAnyTextArrives(t *testing.T) {
	b := newBench(t, "letters.fifo", nil)
	odd := rapid.SampledFrom([]string{
		"\x00", "\x1f", "\x7f", "\u0085", "\u2028", "\ufffd", "\ufffe", "\uffff", "\xff", "\xed\xa0\x80", "\U0001FFFE",
		`\`, `\u`, `\ufffe`, `"`, "\r\n\t", "é", "😀", strings.Repeat("x", 200),
	})
	text := rapid.Map(rapid.SliceOf(rapid.OneOf(odd, rapid.String())), func(parts []string) string { return strings.Join(parts, "") })
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		l := note{id: fmt.Sprint(text.Draw(rt, "id"), n), aggregate: text.Draw(rt, "aggregate"), text: text.Draw(rt, "text")}
		for i, l := range []Letter{l, raw{note{id: l.id + "raw", aggregate: l.aggregate, text: l.text}}} {
			if err := b.Send(t.Context(), []Letter{l})[0]; err != nil {
				rt.Fatal(err)
			}
			messages := b.Messages("letters.fifo")
			if len(messages) != 2*n-1+i {
				rt.Fatalf("%d letters, want %d", len(messages), 2*n-1+i)
			}
			body, err := l.Body()
			if err != nil {
				rt.Fatal(err)
			}
			if got, want := decoded(rt, []byte(messages[len(messages)-1].Body)), decoded(rt, body); got != want {
				rt.Fatalf("read %q, written %q", got, want)
			}
		}
	})
}

func decoded(rt *rapid.T, body []byte) string {
	var letter struct{ Text string }
	if err := json.Unmarshal(body, &letter); err != nil {
		rt.Fatalf("%q is no JSON: %v", body, err)
	}
	return letter.Text
}

func TestEscapeLeavesPlainBodiesAlone(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"b"}`:             `{"a":"b"}`,
		"{\n\t\"a\": \"é😀\"\r}": "{\n\t\"a\": \"é😀\"\r}",
		"{\"a\":\"\ufffe\"}":    `{"a":"\ufffe"}`,
		"{\"a\":\"\xff\"}":      "{\"a\":\"\ufffd\"}",
	} {
		if got := escape([]byte(in)); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}
