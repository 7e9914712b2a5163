package sqs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"millrace/failure"
)

// bare is a letter's JSON with what JSON demands to be escaped and no more.
func bare(text string) []byte {
	var b strings.Builder
	for i := range len(text) { // byte by byte: they need not be UTF-8
		switch c := text[i]; {
		case c == '"', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return []byte(`{"cause":{"text":"` + b.String() + `"}}`)
}

func oddText() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]string{
		"\x00", "\x1f", "\x7f", "\u0085", "\u2028", "\ufffd", "\ufffe", "\uffff", "\xff", "\xed\xa0\x80", "\U0001FFFE",
		`\`, `\u`, `\ufffe`, `"`, "\r\n\t", "é", "😀", strings.Repeat("x", 200),
	})
	return rapid.Map(rapid.SliceOf(rapid.OneOf(odd, rapid.String())), func(parts []string) string { return strings.Join(parts, "") })
}

// TestAnyTextArrives: SQS takes every letter, whatever is in its text, id and
// attributes, and its reader reads what stood in its body.
func TestAnyTextArrives(t *testing.T) {
	b := newBench(t, "letters.fifo", nil)
	text, n := oddText(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		l := letter(fmt.Sprint(text.Draw(rt, "id"), n), text.Draw(rt, "aggregate"), text.Draw(rt, "text"))
		l.Group = text.Draw(rt, "group")
		if err := b.Send(t.Context(), []failure.Letter{l})[0]; err != nil {
			rt.Fatal(err)
		}
		messages := b.Messages("letters.fifo")
		if len(messages) != n {
			rt.Fatalf("%d letters, want %d", len(messages), n)
		}
		body, err := l.Body()
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := decoded(rt, []byte(messages[n-1].Body)), decoded(rt, body); got != want {
			rt.Fatalf("read %q, written %q", got, want)
		}
	})
}

// TestEscape: whatever an encoder leaves unescaped, the result has only what
// SQS takes, and reads the same.
func TestEscape(t *testing.T) {
	text := oddText()
	rapid.Check(t, func(rt *rapid.T) {
		body := bare(text.Draw(rt, "text"))
		got := escape(body)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, barred) {
			rt.Fatalf("SQS does not take %q", got)
		}
		if got, want := decoded(rt, []byte(got)), decoded(rt, body); got != want {
			rt.Fatalf("read %q, written %q", got, want)
		}
	})
}

func decoded(rt *rapid.T, body []byte) string {
	var l failure.Letter
	if err := json.Unmarshal(body, &l); err != nil {
		rt.Fatalf("%q is no JSON: %v", body, err)
	}
	return l.Cause.Text
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
