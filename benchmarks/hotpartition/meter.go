package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"millrace/internal/jitter"
)

// meter is one run's clock and its counts. The clock starts with the first
// call for records, so that finding the stream and taking a lease are not in
// the figure: they come once in a worker's life, whatever the backlog. It is
// safe for concurrent use.
type meter struct {
	engine int // the engine's process; 0: not known

	writes atomic.Int64 // answered writes of the read model

	mu         sync.Mutex
	begun      bool
	start, end moment
}

func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.begun {
		m.begun, m.start = true, now(m.engine)
	}
}

func (m *meter) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end = now(m.engine)
}

// run is what a contender did.
type run struct {
	events     int // taken
	writes     int64
	start, end moment
}

// run reads the meter when everything is over.
func (m *meter) run(events int) run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return run{events: events, writes: m.writes.Load(), start: m.start, end: m.end}
}

// streams makes clients of a configuration start the clock.
func (m *meter) streams(c aws.Config) aws.Config {
	c.HTTPClient = transport{next: c.HTTPClient, before: func(r *http.Request) error {
		if operation(r) == "GetRecords" {
			m.begin()
		}
		return nil
	}}
	return c
}

// slow makes each call of a configuration's clients take longer.
func slow(c aws.Config, latency time.Duration) aws.Config {
	c.HTTPClient = transport{next: c.HTTPClient, before: func(r *http.Request) error {
		return jitter.Sleep(r.Context(), latency)
	}}
	return c
}

// readModel counts the writes.
func (m *meter) readModel(c aws.Config) aws.Config {
	c.HTTPClient = transport{next: c.HTTPClient, after: func(r *http.Request, answer *http.Response) {
		if operation(r) == "UpdateItem" && answer.StatusCode == http.StatusOK {
			m.writes.Add(1)
		}
	}}
	return c
}

// operation is the call a request makes.
func operation(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return name
}

// transport does something before and after each call.
type transport struct {
	next   aws.HTTPClient
	before func(*http.Request) error
	after  func(*http.Request, *http.Response)
}

func (t transport) Do(r *http.Request) (*http.Response, error) {
	if t.before != nil {
		if err := t.before(r); err != nil {
			return nil, err
		}
	}
	// The SDK closes a body as soon as it has the answer. Over loopback that can
	// be while net/http still sends it, and the connection would be torn down; a
	// body without WriteTo does not show that it was closed.
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	answer, err := t.next.Do(r)
	if err == nil && t.after != nil {
		t.after(r, answer)
	}
	return answer, err //nolint:wrapcheck // the SDK names the call
}
