package event

import "fmt"

// Missing is the cause of an error that met a table, a stream or a queue that is
// not there: it was deleted, or never made, or the name is wrong.
type Missing struct {
	What  string // "control table", "stream": what it is to us
	Name  string
	Place string // where it was looked for; empty: not said
	Err   error  // the service's answer
}

// Error names what is not there.
func (m *Missing) Error() string {
	text := fmt.Sprintf("the %s %q does not exist", m.What, m.Name)
	if m.Place != "" {
		text += " in " + m.Place
	}
	return text
}

// Unwrap returns the service's answer.
func (m *Missing) Unwrap() error { return m.Err }
