package pipeline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"millrace/internal/localaws"
)

// errDead is what a process that was cut off hears, if it still listens.
var errDead = errors.New("connection reset: the process is dead")

// tap stands between one process and the services. It names the process's
// writes in their order, and at one of them cuts the process off: before the
// write has left, or when it has landed and the answer is on its way.
type tap struct {
	client *localaws.Transport
	cut    moment        // zero: never
	died   chan struct{} // closed by the cut

	mu     sync.Mutex
	writes []string
	count  map[string]int
	marks  map[string]string // the checkpoints of lease rows as last written
}

// moment is one write of a process, and what becomes of it. Writes are told
// apart by what they are and not by their number, which concurrent ones change.
type moment struct {
	write string // as tap names it
	lands bool   // only its answer is lost
}

func newTap(client *localaws.Transport, cut moment) *tap {
	return &tap{client: client, cut: cut, died: make(chan struct{}), count: map[string]int{}, marks: map[string]string{}}
}

// Do makes one call, which may be the last.
func (t *tap) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("reading a request: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	if !t.last(strings.ToLower(req.Header.Get("X-Amz-Target")), body) {
		return t.client.Do(req)
	}
	if t.cut.lands {
		if _, err := t.client.Do(req); err != nil {
			return nil, err
		}
	}
	t.client.Cut()
	close(t.died)
	return nil, errDead
}

// last notes a write, and reports whether the process dies with it.
func (t *tap) last(target string, body []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	what := t.name(target[strings.Index(target, ".")+1:], body)
	if what == "" {
		return false
	}
	if t.count[what]++; t.count[what] > 1 {
		what = fmt.Sprintf("%s, %d", what, t.count[what])
	}
	t.writes = append(t.writes, what)
	return what == t.cut.write
}

// written is the request of a write, as far as its name depends on it.
type written struct {
	TableName                 string
	Key, Item                 map[string]map[string]any
	UpdateExpression          string
	ExpressionAttributeValues map[string]map[string]any
	TransactItems             []struct{ Update *written }
	Entries                   []struct{ MessageBody string }
}

func (w *written) text(row map[string]map[string]any, attribute string) string {
	text, _ := row[attribute]["S"].(string)
	return text
}

// name says what a write is about; reads have no name.
func (t *tap) name(operation string, body []byte) string {
	w := &written{}
	if json.Unmarshal(body, w) != nil {
		return ""
	}
	if operation == "transactwriteitems" && w.TransactItems[0].Update != nil {
		w = w.TransactItems[0].Update
	}
	row := w.Key
	if row == nil {
		row = w.Item
	}
	kind, sort := w.text(row, "pk"), w.text(row, "sk")
	update := w.UpdateExpression
	switch {
	case operation == "sendmessagebatch" || operation == "sendmessage":
		return "letters sent"
	case strings.HasPrefix(operation, "get"), strings.HasPrefix(operation, "describe"), operation == "query", operation == "batchgetitem", row == nil:
		return ""
	case w.TableName != controlTable:
		return "effect on " + kind
	case strings.HasPrefix(kind, "S|"):
		return "pin"
	case operation == "putitem" && strings.HasPrefix(kind, "L|"):
		return "lease row made"
	case operation == "deleteitem":
		return "outbox row of " + sort + " deleted"
	case strings.HasPrefix(kind, "L|"):
		return t.lease(w, sort)
	case strings.HasPrefix(kind, "M|"):
		return markerWrite(w, update) + " " + sort
	}
	return operation + " " + kind + " " + sort
}

// lease tells the writes of a lease row apart.
func (t *tap) lease(w *written, row string) string {
	checkpoint := fmt.Sprint(w.ExpressionAttributeValues[":checkpoint"])
	moved := t.marks[row] != checkpoint
	t.marks[row] = checkpoint
	switch {
	case strings.Contains(w.UpdateExpression, ":token"):
		t.marks[row] = ""
		return "lease granted"
	case strings.Contains(w.UpdateExpression, "#asked"):
		return "lease asked for"
	case strings.Contains(w.UpdateExpression, "REMOVE #owner"):
		return "lease released"
	case moved:
		return "lease renewed with a new checkpoint"
	}
	return "lease renewed"
}

// markerWrite tells the writes of a marker apart.
func markerWrite(w *written, update string) string {
	state := ""
	for _, v := range w.ExpressionAttributeValues {
		if s, _ := v["S"].(string); strings.Contains(update, "#state") && (s == "live" || s == "redriving") {
			state = s
		}
	}
	switch {
	case strings.Contains(update, "#cause"):
		return "block of"
	case strings.Contains(update, "#job"):
		return "claim of"
	case strings.Contains(update, "#notified"):
		return "notified of"
	case state != "":
		return "release of"
	}
	return "follow of"
}
