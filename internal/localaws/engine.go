package localaws

import (
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"millrace/internal/localaws/queue"
)

// Engine is one stand-in with its own tables, streams, queues, faults and
// counters.
// Engines share nothing. All methods are safe for concurrent use.
type Engine struct {
	options Options
	faults  faults
	tally   tally

	work     sync.WaitGroup // handlers, late landings included
	closing  chan struct{}  // closed by Close: held calls end
	clientMu sync.Mutex
	closed   bool
	clients  map[string]*Transport
	escaped  map[string]string // what the SDK's header makes of an application id -> the id

	mu      sync.Mutex
	tables  map[string]*table
	streams map[string]*stream // by ARN, those of deleted tables included
	tokens  tokens
	history []*Change
	reads   []Read
	commits uint64 // number of item changes so far
	ids     uint64 // number of identities given out

	queueMu sync.Mutex
	queues  *queue.Account
}

// New makes an engine without tables. Close frees it. An engine that is used
// in a testing/synctest bubble must be made there: its channels belong to it.
func New(options Options) *Engine {
	options = options.withDefaults()
	queues := queue.NewAccount(options.Region, options.AccountID, options.Seed)
	queues.KeepAccepted = options.KeepHistory
	return &Engine{
		options: options,
		closing: make(chan struct{}),
		clients: map[string]*Transport{},
		escaped: map[string]string{},
		tables:  map[string]*table{},
		streams: map[string]*stream{},
		queues:  queues,
	}
}

func (e *Engine) now() time.Time { return e.options.Now() }

// Client is the transport of one application: the AWS HTTP client that hands
// its requests to the engine without a socket. The same application gets the
// same transport, so cutting it cuts all of the application's clients.
func (e *Engine) Client(app string) *Transport {
	e.clientMu.Lock()
	defer e.clientMu.Unlock()
	t := e.clients[app]
	if t == nil {
		t = &Transport{Handler: e, app: app}
		e.clients[app] = t
		e.escaped[escapeApp(app)] = app
		if e.closed {
			t.Cut()
		}
	}
	return t
}

// Config is an SDK configuration whose clients talk to the engine in process
// as the given application. The SDK's own retries are off, so that a test sees
// each call it makes. Inside a testing/synctest bubble the clients must be made
// there.
func (e *Engine) Config(app string) aws.Config {
	config := e.config(app)
	config.HTTPClient = e.Client(app)
	return config
}

func (e *Engine) config(app string) aws.Config {
	return aws.Config{
		Region:      e.options.Region,
		AppID:       app,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}
}

// Close refuses new calls, ends the held ones and waits for every handler
// still at work, writes that are to land late included. It returns nil.
func (e *Engine) Close() error {
	e.clientMu.Lock()
	if !e.closed {
		e.closed = true
		close(e.closing)
	}
	clients := make([]*Transport, 0, len(e.clients))
	for _, t := range e.clients {
		clients = append(clients, t)
	}
	e.clientMu.Unlock()
	for _, t := range clients {
		t.Cut()
		t.calls.Wait()
	}
	e.work.Wait()
	return nil
}

// enter counts a handler in; it returns false when the engine is closed.
func (e *Engine) enter() bool {
	e.clientMu.Lock()
	defer e.clientMu.Unlock()
	if e.closed {
		return false
	}
	e.work.Add(1)
	return true
}

// ServeHTTP answers one call. A call whose answer is lost ends in a panic with
// http.ErrAbortHandler, which both net/http and Transport turn into a broken
// connection.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.enter() {
		panic(http.ErrAbortHandler)
	}
	defer e.work.Done()
	e.serve(w, r)
}

// identity is a number that is different for each of this engine's objects
// and the same in each run with the same seed. The caller holds e.mu.
func (e *Engine) identity() uint64 {
	e.ids++
	return mix(e.options.Seed ^ mix(e.ids))
}
