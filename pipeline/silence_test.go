package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/awsvalue"
	"millrace/internal/localaws"
	"millrace/pipeline"
)

// journal keeps what workers log.
type journal struct {
	mu sync.Mutex
	io.Writer
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Write(p)
	return j.Writer.Write(p)
}

// lines counts the lines that hold a text.
func (j *journal) lines(text string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (w *world) journal() *journal {
	j := &journal{Writer: w.log}
	w.log = j
	return j
}

// TestAServiceThatDoesNotAnswerIsLogged: errors that pass by themselves are not
// worth a line, until they do not pass. Then there are a few lines, not one for
// every call.
func TestAServiceThatDoesNotAnswerIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		log := w.journal()
		w.append("a", 1)
		r := w.start("one")
		eventually(t, 20*time.Second, "it works", w.caughtUp)
		healed := w.engine.Inject(localaws.Fault{Match: func(c localaws.Call) bool { return c.App == r.app }, Do: localaws.FailBefore})
		<-time.After(10 * time.Minute)
		if n := log.lines(`"level":"warn"`); n == 0 || n > 60 {
			t.Errorf("%d lines in ten minutes without an answer, want a few", n)
		}
		healed()
		w.append("a", 1)
		eventually(t, time.Minute, "it works again", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// TestAHiccupIsNotLogged: a call that succeeds when it is repeated is no news.
func TestAHiccupIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		log := w.journal()
		r := w.start("one")
		w.engine.Inject(localaws.Fault{Match: func(c localaws.Call) bool { return c.App == r.app }, Do: localaws.FailBefore, Share: 0.1})
		w.append("a", 20)
		eventually(t, time.Minute, "it is applied", w.caughtUp)
		<-time.After(time.Minute)
		if n := log.lines("call"); n > 0 {
			t.Errorf("%d lines about calls that were repeated with success", n)
		}
		r.end()
		w.wholly()
	})
}

// ungranted is a control table that may be read and not written.
type ungranted struct{ pipeline.Control }

func (ungranted) Grant(context.Context, checkpoint.Lease, string) (checkpoint.Lease, error) {
	return checkpoint.Lease{}, &event.Error{Class: event.Permanent, Op: "granting a lease", Err: errors.New("AccessDenied")}
}

// TestALeaseThatMayNotBeTakenIsLogged: a permission that is missing must not
// look like a stream that has nothing to read.
func TestALeaseThatMayNotBeTakenIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2})
		log := w.journal()
		r := w.start("one", func(o *pipeline.Options) { o.Control = ungranted{o.Control} })
		<-time.After(5 * time.Minute)
		if n := log.lines("AccessDenied"); n == 0 || n > 20 {
			t.Errorf("%d lines in five minutes without a lease, want a few", n)
		}
		r.end()
	})
}

// TestALeaseRowThatCannotBeReadIsLogged: nobody reads its shard, and a day
// later its records are gone.
func TestALeaseRowThatCannotBeReadIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		log := w.journal()
		r := w.start("one")
		w.append("a", 1)
		eventually(t, 20*time.Second, "it works", w.caughtUp)
		schema := w.setSchema("2")
		during(t, 5*time.Minute, "the row is not touched", func() bool { return w.schema() == "2" })
		if n := log.lines("its schema is not 1"); n != 1 {
			t.Errorf("%d lines about the row, want one", n)
		}
		w.setSchema(schema)
		w.append("a", 1)
		eventually(t, time.Minute, "it works again", w.caughtUp)
		r.end()
		w.wholly()
	})
}

// row is the key of the one lease row.
func (w *world) row() event.Item {
	w.t.Helper()
	for _, row := range w.engine.Items(controlTable) {
		if pk, _ := row["pk"].(event.String); strings.HasPrefix(string(pk), "L|") {
			return row
		}
	}
	w.t.Fatal("there is no lease row")
	return nil
}

func (w *world) schema() string {
	w.t.Helper()
	n, _ := w.row()["schema"].(event.Number)
	return string(n)
}

// setSchema rewrites the lease row as another build would and returns the
// schema it had.
func (w *world) setSchema(schema string) (before string) {
	w.t.Helper()
	before = w.schema()
	row := w.row().Clone()
	row["schema"] = event.Number(schema)
	client := dynamodb.NewFromConfig(w.engine.Config("operator"))
	if _, err := client.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(controlTable), Item: awsvalue.ToItem(row)}); err != nil {
		w.t.Fatal(err)
	}
	return before
}
