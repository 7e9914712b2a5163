package localaws

import (
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Services of the engine, as Call.Service and Counters name them.
const (
	DynamoDB = "DynamoDB"
	Streams  = "DynamoDBStreams"
	SQS      = "SQS"
)

// maxBody is the largest request read: above the services' 16 MB, so that the
// services' own limits answer first.
const maxBody = 24 << 20

// Call identifies one call, for latencies and faults.
type Call struct {
	Service   string // DynamoDB, Streams or SQS
	Operation string // for example PutItem
	Table     string // the table or queue; empty where the call names none
	// Key says what the call is about, whatever the order of its JSON: the
	// primary key as partition/sort (a Query: the partition key), the keys
	// of a batch or transaction separated by commas, or the id of a shard. For
	// SQS the group ids of what is sent, and the message ids of what is
	// deleted, hidden or shown.
	Key  string
	App  string // the caller's application id
	N    int    // counts the calls of this App and Operation, from 1
	Time time.Time

	endpoint string          // where the caller found the engine
	gone     <-chan struct{} // closed when the caller does not wait any more
}

// operation is a decoded request.
type operation interface {
	// subject is what the call is about. Faults in the request are left for
	// run to report.
	subject(e *Engine) (table, key string)
	run(e *Engine, c *callContext) (*reply, error)
}

// callContext is what an operation knows of its caller and of the time.
type callContext struct {
	app   string
	now   time.Time
	draw  uint64 // what this call has of chance, the same in each run of the seed
	fault Action // Partial and LoseDelete are the operation's own affair
	usage usage

	endpoint string
	gone     <-chan struct{}
}

// decode finds the operation that X-Amz-Target names and reads its request.
func (e *Engine) decode(target string, body []byte) (service, name string, op operation, err error) {
	prefix, name, _ := strings.Cut(target, ".")
	switch prefix {
	case "DynamoDB_20120810":
		service, op = DynamoDB, tableOperation(name)
	case "DynamoDBStreams_20120810":
		service, op = Streams, streamOperation(name)
	case "AmazonSQS":
		service, op = SQS, queueOperation(name)
	}
	if op == nil {
		return service, name, nil, refuse("UnknownOperationException", "The local engine has no operation %q", target)
	}
	return service, name, op, decodeRequest(body, op)
}

func (e *Engine) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		e.answer(w, nil, refuse("RequestEntityTooLarge", "the request could not be read or is above %d bytes", maxBody))
		return
	}
	service, name, op, err := e.decode(r.Header.Get("X-Amz-Target"), body)
	call := Call{Service: service, Operation: name, App: e.appOf(r), endpoint: endpointOf(r), gone: r.Context().Done()}
	call.N = e.tally.begin(call)
	if err != nil {
		e.tally.end(call, asAPIError(err).code, usage{})
		e.answer(w, nil, err)
		return
	}
	if get, ok := op.(*getRecords); ok {
		if it, err := parseIterator(get.ShardIterator); err == nil {
			defer e.tally.reading(it.Shard, call.App)()
		}
	}
	if e.options.Latency != nil || e.faults.any() {
		call.Table, call.Key = op.subject(e)
	}
	call.Time = e.now()
	if e.options.Latency != nil {
		e.pause(e.options.Latency(call))
		call.Time = e.now()
	}
	e.serveWithFaults(w, r, call, op)
}

// execute lets the call take effect and counts it.
func (e *Engine) execute(call Call, op operation, fault Action) (*reply, error) {
	c := &callContext{
		app: call.App, now: e.now(), fault: fault, draw: draw(e.options.Seed, call.App, call.Operation, call.N),
		endpoint: call.endpoint, gone: call.gone,
	}
	out, err := op.run(e, c)
	result := outcomeOK
	if err != nil {
		result = asAPIError(err).code
	}
	e.tally.end(call, result, c.usage)
	return out, err
}

// answer writes the answer with the engine's time as its Date: callers learn
// the service's time from it.
func (e *Engine) answer(w http.ResponseWriter, out *reply, err error) {
	header := w.Header()
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("Date", e.now().UTC().Format(http.TimeFormat))
	header.Set("X-Amzn-Requestid", strconv.FormatUint(e.tally.request(e.options.Seed), 36))
	status := http.StatusOK
	var body []byte
	if err != nil {
		failed := asAPIError(err)
		status, body = failed.status, failed.body()
		if failed.query != "" {
			header.Set("X-Amzn-Query-Error", failed.query+";Sender")
		}
	} else {
		body = out.bytes()
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	// The SDK checks it, and warns on every answer without.
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	w.WriteHeader(status)
	if a, ok := w.(*answer); ok {
		a.own(body)
		return
	}
	_, _ = w.Write(body) // a caller who is gone needs no answer
}
