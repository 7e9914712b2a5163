package event

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// scanner passes over JSON, a token at a time.
type scanner struct {
	data []byte
	at   int // the next byte
}

// each reads what stands between two brackets, separated by commas.
func (s *scanner) each(first, last byte, element func() error) error {
	if !s.take(first) {
		return s.expected(string(first))
	}
	if s.take(last) {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.take(last) {
			return nil
		}
		if !s.take(',') {
			return s.expected("a comma or " + string(last))
		}
	}
}

// name reads a member's name and its colon.
func (s *scanner) name() ([]byte, error) {
	name, err := s.quoted()
	if err == nil && !s.take(':') {
		err = s.expected("a colon")
	}
	return name, err
}

// quoted reads a text. The bytes may be those of the input: callers copy them.
func (s *scanner) quoted() ([]byte, error) {
	if !s.take('"') {
		return nil, s.expected("a text in quotes")
	}
	start, plain := s.at, true
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			text := s.data[start:s.at]
			s.at++
			if plain && utf8.Valid(text) {
				return text, nil
			}
			return unquote(s.data[start-1 : s.at])
		case c == '\\':
			plain = false
			s.at++ // whatever it is, it does not end the text
		case c < ' ':
			plain = false
		}
	}
	return nil, s.expected("a closing quote")
}

// unquote leaves the rare texts, those with escapes, to encoding/json.
func unquote(quoted []byte) ([]byte, error) {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return nil, fmt.Errorf("reading a text: %w", err)
	}
	return []byte(text), nil
}

// take passes white space, and c if it comes next.
func (s *scanner) take(c byte) bool {
	s.space()
	found := s.at < len(s.data) && s.data[s.at] == c
	if found {
		s.at++
	}
	return found
}

func (s *scanner) word(word string) bool {
	s.space()
	found := len(s.data)-s.at >= len(word) && string(s.data[s.at:s.at+len(word)]) == word
	if found {
		s.at += len(word)
	}
	return found
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) expected(what string) error {
	return fmt.Errorf("byte %d of the item: expected %s", min(s.at, len(s.data)), what)
}
