package localaws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// What a caller meets when its connection breaks. The SDK takes both for a
// failed connection, after which nobody knows whether the call took effect.
var (
	errAborted = errors.New("connection reset: no answer came")
	errCut     = errors.New("connection reset: the client was cut off")
)

// Transport hands an AWS client's requests to a handler directly, without a
// socket. A goroutine that reads a socket is never durably blocked, so this
// is what lets the SDK's clients work inside a testing/synctest bubble, where
// time is fake.
//
// It is safe for concurrent use when its handler is. The zero value with a
// Handler is ready for use.
type Transport struct {
	Handler http.Handler

	app   string
	calls sync.WaitGroup // handlers at work

	mu   sync.Mutex
	over chan struct{} // closed by Cut; made on demand
	cut  bool
	ice  chan struct{} // closed by Thaw; nil while not frozen
}

// Do serves one request. The answer is the context's error as soon as the
// context ends, whatever the handler does then: the service has the request
// and goes on with it, the caller gave up too early.
func (t *Transport) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	over, err := t.pass(ctx)
	if err != nil {
		return nil, err
	}
	served, err := t.received(req)
	if err != nil {
		return nil, err
	}
	if !t.begin() {
		return nil, errCut
	}
	done := make(chan outcome, 1)
	go func() {
		defer t.calls.Done()
		done <- t.serve(served)
	}()
	var result outcome
	select {
	case result = <-done:
	case <-ctx.Done():
	case <-over:
	}
	// An answer that arrives at a frozen process waits for it to thaw.
	if _, err := t.pass(ctx); err != nil {
		return nil, err
	}
	if result.err != nil {
		return nil, result.err
	}
	return result.answer.response(req), nil
}

// received is the request as the service holds it, independent of what the
// caller does with its own after giving up.
func (t *Transport) received(req *http.Request) (*http.Request, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, fmt.Errorf("sending the request: %w", err)
		}
	}
	served := req.Clone(context.WithValue(req.Context(), appKey{}, t.app))
	served.Body = readCloser{bytes.NewReader(body)}
	return served, nil
}

type outcome struct {
	answer *answer
	err    error
}

func (t *Transport) serve(req *http.Request) (o outcome) {
	o.answer = &answer{header: http.Header{}, status: http.StatusOK}
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
				panic(p)
			}
			o = outcome{err: errAborted}
		}
	}()
	t.Handler.ServeHTTP(o.answer, req)
	return o
}

// begin counts a call in, unless the transport was cut meanwhile: Close waits
// for the counted ones.
func (t *Transport) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return false
	}
	t.calls.Add(1)
	return true
}

// pass waits while the transport is frozen and says how it stands after that.
// A frozen process does not notice that its context ends until it thaws.
func (t *Transport) pass(ctx context.Context) (over <-chan struct{}, err error) {
	for {
		t.mu.Lock()
		if t.over == nil {
			t.over = make(chan struct{})
		}
		over, cut, ice := t.over, t.cut, t.ice
		t.mu.Unlock()
		if cut {
			return nil, errCut
		}
		if ice == nil {
			return over, ctx.Err()
		}
		select {
		case <-ice:
		case <-over:
		}
	}
}

// Cut makes every later call and every call under way fail, as if the process
// had crashed. What the service has received already still takes effect.
func (t *Transport) Cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over == nil {
		t.over = make(chan struct{})
	}
	if !t.cut {
		t.cut = true
		close(t.over)
	}
}

// Freeze stops the application between any two calls: later calls wait before
// they are sent, and answers of calls under way are not received, until Thaw
// or Cut.
func (t *Transport) Freeze() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ice == nil {
		t.ice = make(chan struct{})
	}
}

// Thaw lets a frozen application go on.
func (t *Transport) Thaw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ice != nil {
		close(t.ice)
		t.ice = nil
	}
}

// answer collects what a handler writes.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header    { return a.header }
func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
}

// own takes over a body that nobody else holds: a page of records is not
// copied once more.
func (a *answer) own(body []byte) { a.body = body }

func (a *answer) response(req *http.Request) *http.Response {
	return &http.Response{
		StatusCode:    a.status,
		Status:        http.StatusText(a.status),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          readCloser{bytes.NewReader(a.body)},
		ContentLength: int64(len(a.body)),
		Request:       req,
	}
}

// readCloser is a body with nothing to close.
type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }
