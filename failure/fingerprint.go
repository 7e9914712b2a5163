package failure

// Fingerprint names a kind of failure, so that a thousand aggregates with one
// cause are one line on an operator's screen: the sink, the error's type, the
// place in our own code or the fold's rule, and the event's type. Never the
// error's text, which quotes payloads and differs each time.
func Fingerprint(sink, errorType, place, eventType string) string {
	return digest(sink, errorType, place, eventType)[:12]
}
