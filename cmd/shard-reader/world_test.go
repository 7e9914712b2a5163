package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/eventstore"
	"millrace/internal/cli"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/service"
)

// serve is an engine of the test's own, with the default tables.
func serve(t *testing.T, o localaws.Options) (*localaws.Engine, string) {
	t.Helper()
	engine := localaws.New(o)
	server, err := engine.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Close()
		_ = engine.Close()
	})
	if err := createTables(t.Context(), cli.Defaults(server.URL)); err != nil {
		t.Fatal(err)
	}
	return engine, server.URL
}

// wired is the default pipeline as the test itself uses it.
func wired(t *testing.T, url string) *service.Service {
	t.Helper()
	s, err := cli.Look{Pipeline: cli.Defaults(url)}.Service(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// work starts a worker process on an engine.
func work(t *testing.T, url string, args ...string) *proc {
	t.Helper()
	return spawn(t, environment(t), append([]string{"run", "--local", "--endpoint-url", url, "--progress", "20ms"}, args...)...)
}

// counters reads a worker's newest line of progress; before the first all are
// zero.
func (p *proc) counters() (c progress) {
	p.t.Helper()
	all := p.out.whole()
	if len(all) == 0 {
		return progress{}
	}
	decoder := json.NewDecoder(strings.NewReader(all[len(all)-1]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil || c.Schema != "millrace.progress/v1" || c.Paused == nil {
		p.t.Fatalf("a line of progress cannot be read: %v: %s", err, all[len(all)-1])
	}
	return c
}

// applies waits until the worker has applied something.
func (p *proc) applies() {
	p.t.Helper()
	p.until("the worker applies something", func() bool { return p.counters().Applied > 0 })
}

// writer appends until it is stopped: half of its events are one order's.
type writer struct {
	t        *testing.T
	appended atomic.Uint64
	stop     context.CancelFunc
	done     sync.WaitGroup
}

func write(t *testing.T, store *eventstore.Store, seed uint64) *writer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &writer{t: t, stop: cancel}
	random := rand.New(rand.NewPCG(seed, 1))
	w.done.Go(func() {
		heads := map[string]uint64{}
		for i := 0; ctx.Err() == nil; i++ {
			name := hotAggregate
			if i%2 == 0 {
				name = fmt.Sprintf("order-%d", random.IntN(40))
			}
			events := make([]eventstore.NewEvent, 1+random.IntN(3))
			for k := range events {
				events[k] = orderEvent(heads[name]+uint64(k)+1, name, i)
			}
			// An append under way is finished, else nobody would know its version.
			head, err := store.Append(context.WithoutCancel(ctx), name, heads[name], events...)
			if err != nil {
				t.Errorf("appending: %v", err)
				return
			}
			heads[name] = head
			w.appended.Add(uint64(len(events)))
			_ = jitter.Sleep(ctx, time.Duration(random.IntN(10))*time.Millisecond)
		}
	})
	t.Cleanup(func() { w.end() })
	return w
}

// end stops the writer and says how many events it has appended.
func (w *writer) end() uint64 {
	w.stop()
	w.done.Wait()
	return w.appended.Load()
}
