package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// PrintText writes a result: data that must arrive.
func PrintText(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}

// PrintJSON writes one object on one line.
func PrintJSON(out io.Writer, v any) error {
	if err := json.NewEncoder(out).Encode(v); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}

// Grouped writes a whole number with separators: 20,000.
func Grouped[T int | int64 | uint64](n T) string {
	digits := fmt.Sprint(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for at := len(digits) - 3; at > start; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Clean keeps what events bring along from moving a terminal's cursor, or a
// table's columns.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}
