package localaws

import (
	"bytes"
	"net/http"
)

// Transport hands an AWS client's requests to a handler directly, without a
// socket. A goroutine that reads a socket is never durably blocked, so this
// is what lets the SDK's clients work inside a testing/synctest bubble, where
// time is fake.
//
// It is safe for concurrent use when its handler is.
type Transport struct {
	Handler http.Handler
}

// Do serves one request in the caller's goroutine. When the request's context
// ends, the answer is the context's error, whatever the handler did: that is
// what a caller of a real service sees who gave up too early.
func (t *Transport) Do(req *http.Request) (*http.Response, error) {
	answer := &answer{header: http.Header{}, status: http.StatusOK}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	t.Handler.ServeHTTP(answer, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return answer.response(req), nil
}

// answer collects what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

func (a *answer) response(req *http.Request) *http.Response {
	return &http.Response{
		StatusCode:    a.status,
		Status:        http.StatusText(a.status),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          readCloser{bytes.NewReader(a.body.Bytes())},
		ContentLength: int64(a.body.Len()),
		Request:       req,
	}
}

// readCloser is a body with nothing to close.
type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }
