package dynamodb

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

var errNoAnswer = errors.New("connection reset: no answer came")

// faulty is a worker's connection, with writes that lose their answer or land
// whenever the test likes.
type faulty struct {
	inner aws.HTTPClient

	mu   sync.Mutex
	next func(*http.Request) // what becomes of the next write; nil: it is done
}

// Do makes one call.
func (f *faulty) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation == "UpdateItem" || operation == "PutItem" {
		f.mu.Lock()
		fault := f.next
		f.next = nil
		f.mu.Unlock()
		if fault != nil {
			fault(r)
			return nil, errNoAnswer
		}
	}
	return f.inner.Do(r)
}

// send makes a call whose answer nobody waits for.
func (f *faulty) send(r *http.Request) {
	if answer, err := f.inner.Do(r); err == nil {
		_ = answer.Body.Close()
	}
}

// Lose makes the next write take effect without an answer.
func (f *faulty) Lose() { f.meet(f.send) }

// Late makes the next write stay without an answer, and without an effect
// until land is called.
func (f *faulty) Late() (land func()) {
	var held *http.Request
	f.meet(func(r *http.Request) {
		held = r.Clone(context.WithoutCancel(r.Context()))
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err) // a body in memory
		}
		held.Body = io.NopCloser(bytes.NewReader(body))
	})
	return func() { f.send(held) }
}

func (f *faulty) meet(fault func(*http.Request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = fault
}
