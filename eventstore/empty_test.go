package eventstore

import (
	"testing"

	"millrace/event"
)

// TestAnEmptyAnswerIsNoEmptyTable: an endpoint that is no DynamoDB may answer
// 200 and nothing. A read model would be found equal to that.
func TestAnEmptyAnswerIsNoEmptyTable(t *testing.T) {
	for name, read := range map[string]func(*Store) error{
		"scan": func(s *Store) error {
			return s.Scan(t.Context(), 0, 1, func([]event.Item) error { return nil })
		},
		"range": func(s *Store) error {
			return s.Range(t.Context(), "42", 1, 9, func([]event.Event) error { return nil })
		},
		"head": func(s *Store) error {
			_, err := s.Head(t.Context(), "42")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := scripted(t, Budget{}, success)
			if err := read(s); event.ClassOf(err) != event.Permanent {
				t.Errorf("an answer without items: %v", err)
			}
		})
	}
}
