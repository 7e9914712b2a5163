package event

import "millrace/internal/jitter"

// Jitter draws waits and identifiers, each from its Seed, the name of what waits
// and how often it has. Where an option takes one its zero value will do; who sets
// a Seed, to have a test repeat, must not give two writers the same.
type Jitter = jitter.Source
