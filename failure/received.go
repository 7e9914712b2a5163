package failure

import "time"

// Received is a letter that a queue handed out.
type Received struct {
	// Handle deletes the letter. It is good until the letter is received
	// again; in a FIFO queue until its visibility time-out ends.
	Handle string
	// Body is the letter's JSON, equal in meaning to what was sent and not
	// always in its bytes.
	Body []byte
	// Attributes are those the letter was sent with.
	Attributes map[string]string
	// Receives is how often the letter was received, about; Sent is when it
	// was sent.
	Receives int
	Sent     time.Time
}
