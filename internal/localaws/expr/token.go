package expr

import (
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	tokenEnd     tokenKind = iota
	tokenWord              // a name, a keyword or a function
	tokenName              // #name
	tokenValue             // :value
	tokenDigits            // a list index
	tokenSymbol            // punctuation and comparators
	tokenIllegal           // anything the languages have no use for
)

type token struct {
	kind       tokenKind
	text       string
	start, end int // byte offsets in the expression
}

// is reports whether the token is the given symbol.
func (t token) is(symbol string) bool { return t.kind == tokenSymbol && t.text == symbol }

// keyword reports whether the token is the given word, in any case.
func (t token) keyword(word string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, word)
}

// tokenize splits a whole expression; the last token is always tokenEnd.
// Illegal characters become tokens too, so that the parser reports them with
// their neighbours as it does any misplaced token.
func tokenize(text string) []token {
	var tokens []token
	for at := 0; ; {
		for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
			at++
		}
		if at == len(text) {
			return append(tokens, token{kind: tokenEnd, text: "<EOF>", start: at, end: at})
		}
		kind, length := scan(text[at:])
		tokens = append(tokens, token{kind: kind, text: text[at : at+length], start: at, end: at + length})
		at += length
	}
}

// scan returns the kind and length of the token that text begins with.
func scan(text string) (tokenKind, int) {
	switch c := text[0]; {
	case isLetter(c):
		// A bare name begins with a letter: an underscore or a digit at its
		// start needs a placeholder.
		return tokenWord, 1 + wordLength(text[1:])
	case isDigit(c):
		n := 1
		for n < len(text) && isDigit(text[n]) {
			n++
		}
		return tokenDigits, n
	case c == '#' || c == ':':
		n := wordLength(text[1:])
		switch {
		case n == 0:
			return tokenIllegal, 1
		case c == '#':
			return tokenName, 1 + n
		}
		return tokenValue, 1 + n
	case strings.HasPrefix(text, "<>"), strings.HasPrefix(text, "<="), strings.HasPrefix(text, ">="):
		return tokenSymbol, 2
	case strings.IndexByte("=<>()[],.+-", c) >= 0:
		return tokenSymbol, 1
	}
	_, n := utf8.DecodeRuneInString(text)
	return tokenIllegal, n
}

func wordLength(text string) int {
	n := 0
	for n < len(text) && (isLetter(text[n]) || isDigit(text[n]) || text[n] == '_') {
		n++
	}
	return n
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
