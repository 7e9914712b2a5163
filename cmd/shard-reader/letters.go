package main

import (
	"time"

	"millrace/service"
)

// lettersProgress is what a line of progress tells of letters that wait for
// their queue. What nobody knows is absent, never 0.
type lettersProgress struct {
	LettersUnsent       *int   `json:"lettersUnsent,omitempty"`
	OldestUnsentSeconds *int64 `json:"oldestUnsentSeconds,omitempty"` // since the oldest of their events failed first
}

func lettersOf(wired *service.Service) (p lettersProgress) {
	letters, known := wired.Letters()
	if !known {
		return p
	}
	p.LettersUnsent = &letters.Unsent
	if !letters.Oldest.IsZero() {
		age := int64(time.Since(letters.Oldest).Seconds())
		p.OldestUnsentSeconds = &age
	}
	return p
}
