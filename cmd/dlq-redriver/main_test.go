package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/cli"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/projection"
	"millrace/projection/ordersview"
	"millrace/service"
	"millrace/status"
)

var update = flag.Bool("update", false, "write the golden files anew")

// asCommand has the test binary be the command itself, so that tests have real
// processes and nothing is built for them.
const asCommand = "MILLRACE_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "1" {
		os.Exit(execute(os.Args[1:], cli.Console{Out: os.Stdout, Err: os.Stderr}))
	}
	goleak.VerifyTestMain(m)
}

// within is how long anything may take on a busy machine.
const within = 60 * time.Second

// call runs a command line in this process.
func call(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = execute(args, cli.Console{Out: &stdout, Err: &stderr})
	http.DefaultTransport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	return code, stdout.String(), stderr.String()
}

// world is an engine with a port, on which a release that does not know gifts
// has blocked orders.
type world struct {
	t      *testing.T
	engine *localaws.Engine
	flags  cli.Pipeline
}

// incident has so many orders with a gift, which the next release can apply, so
// many with a surprise, which it cannot, and one that is well.
func incident(t *testing.T, gifts, surprises int) *world {
	t.Helper()
	engine := localaws.New(localaws.Options{Shards: 2, KeepHistory: true})
	server, err := engine.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Close()
		_ = engine.Close()
	})
	w := &world{t: t, engine: engine, flags: cli.Defaults(server.URL)}
	fold, err := ordersview.BeforeGifts()
	if err != nil {
		t.Fatal(err)
	}
	config, err := w.flags.Config()
	if err != nil {
		t.Fatal(err)
	}
	config.Lease, config.CreateTables = time.Second, true
	earlier, err := service.New(t.Context(), config, service.Registry{Folds: map[string]projection.Projection{"orders": fold}})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := earlier.Worker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range gifts {
		w.order(earlier.Events(), fmt.Sprintf("gift-%03d", i), ordersview.GiftWrapped)
	}
	for i := range surprises {
		w.order(earlier.Events(), fmt.Sprintf("surprise-%03d", i), "Surprise")
	}
	w.order(earlier.Events(), "plain", ordersview.ItemAdded)

	ctx, stop := context.WithTimeout(t.Context(), within)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx, context.Background()) }()
	for {
		report, err := one(earlier.Verify(ctx, 0))
		if err != nil {
			t.Fatal(err)
		}
		if listing, err := earlier.Blocked(ctx, service.Selection{}); err == nil && report.Behind == 0 && seen(listing) == 3*(gifts+surprises) {
			break
		}
		if err := jitter.Sleep(ctx, 20*time.Millisecond); err != nil {
			t.Fatalf("the orders are not blocked: %v", err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return w
}

func seen(listing service.Listing) (sum int) {
	for _, m := range listing.Markers {
		sum += int(m.SeenVersion) //nolint:gosec // three at most
	}
	return sum
}

// order appends three events, of which the second is of a type of its own.
func (w *world) order(events *eventstore.Store, name, second string) {
	w.t.Helper()
	var story []eventstore.NewEvent
	for _, kind := range []string{ordersview.OrderPlaced, second, ordersview.ItemAdded} {
		story = append(story, eventstore.NewEvent{Type: kind, Time: time.Now(), Attributes: event.Item{
			"customer": event.String("Ada"), "amount": event.Number("7"),
		}})
	}
	if _, err := events.Append(w.t.Context(), name, 0, story...); err != nil {
		w.t.Fatal(err)
	}
}

// args adds the world to a command line.
func (w *world) args(line string) []string {
	return append(strings.Fields(line), "--local", "--endpoint-url", w.flags.EndpointURL)
}

func (w *world) call(line string) (code int, out, err string) {
	w.t.Helper()
	return call(w.t, w.args(line)...)
}

// expect runs a command line that ends with a code and without a word on
// stderr but those wanted, and returns its stdout.
func (w *world) expect(code int, line string, stderr ...string) string {
	w.t.Helper()
	got, out, err := w.call(line)
	if got != code || len(stderr) == 0 && err != "" {
		w.t.Errorf("%s: code %d, want %d; stdout %q, stderr %q", line, got, code, out, err)
	}
	for _, want := range stderr {
		if !strings.Contains(err, want) {
			w.t.Errorf("%s: stderr %q, want %q", line, err, want)
		}
	}
	return out
}

// lines decodes JSON lines, and demands their schema.
func lines[T any](t *testing.T, out, schema string) (all []T) {
	t.Helper()
	for line := range strings.Lines(out) {
		var one T
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&one); err != nil || !strings.HasPrefix(line, `{"schema":"`+schema+`"`) {
			t.Fatalf("a line cannot be read: %v: %s", err, line)
		}
		all = append(all, one)
	}
	return all
}

// control is the control table's content.
func (w *world) control() string {
	var rows []string
	for _, item := range w.engine.Items(w.flags.Control) {
		rows = append(rows, fmt.Sprint(item)) // fmt sorts maps
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// releases counts how often each aggregate became live.
func (w *world) releases() map[string]int {
	count := map[string]int{}
	for _, change := range w.engine.History(w.flags.Control) {
		if event.Equal(change.New["state"], event.String("live")) && !event.Equal(change.Old["state"], event.String("live")) {
			name, _ := change.New["sk"].(event.String)
			count[string(name)]++
		}
	}
	return count
}

func (w *world) releasedOnce(n int) {
	w.t.Helper()
	all := w.releases()
	for aggregate, times := range all {
		if times != 1 {
			w.t.Errorf("%s was released %d times", aggregate, times)
		}
	}
	if len(all) != n {
		w.t.Errorf("%d aggregates were released, want %d", len(all), n)
	}
}

// TestHelp holds the help texts to testdata; -update writes them anew.
func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"root": {"--help"}, "groups": {"groups", "--help"}, "list": {"list", "--help"}, "show": {"show", "--help"},
		"redrive": {"redrive", "--help"}, "verify": {"verify", "--help"}, "version": {"version", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := call(t, args...)
			if code != cli.Done || stderr != "" {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			for _, line := range strings.Split(out, "\n") {
				if len(line) > 80 {
					t.Errorf("wider than 80 columns: %q", line)
				}
			}
			file := filepath.Join("testdata", "help-"+name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if out != string(want) {
				t.Errorf("help is\n%s\nwant\n%s", out, want)
			}
		})
	}
}

// TestVersion: as a verb, and for those who look for a flag.
func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		if code, out, stderr := call(t, arg); code != cli.Done || out != version+"\n" || stderr != "" {
			t.Errorf("%s: code %d, stdout %q, stderr %q", arg, code, out, stderr)
		}
	}
}

// TestUsage: a command line that cannot work is exit code 2, and says what
// would do.
func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"", []string{"expected one of", "Try dlq-redriver --help."}},
		{"redrive", []string{"say which", "--all"}},
		{"redrive a --all", []string{"only one of these"}},
		{"redrive --all --class gap", []string{"only one of these"}},
		{"redrive --class gpa", []string{`--class is "gpa" and must be one of permanent, gap, unknown, transient, batch, crash, decode`}},
		{"redrive --all --rate=-1", []string{"--rate is -1", "0 means no limit"}},
		{"redrive --all --rate=NaN", []string{"--rate is NaN"}},
		{"redrive --all --limit=-1", []string{"--limit is -1"}},
		{"redrive --all --parallel 0", []string{"--parallel is 0 and must be at least 1"}},
		{"redrive --all --queue letters", []string{"--queue is given without --execute"}},
		{"redrive --all --stop-at 0", []string{"--stop-at is 0"}},
		{"redrive --all --stop-at 1.5", []string{"--stop-at is 1.5"}},
		{"redrive --all --stop-at=NaN", []string{"--stop-at is NaN"}},
		{"list --class gpa", []string{"--class"}},
		{"list --limit=-1", []string{"--limit is -1"}},
		{"list --output yaml", []string{"--output", "Try dlq-redriver list --help."}},
		{"groups --timeout=-1s", []string{"--timeout is -1s"}},
		{"groups --endpoint-url localhost:8008", []string{"--endpoint-url", "http://"}},
		{"groups --local", []string{"--local is for the embedded engine and needs its address", "--endpoint-url"}},
		{"show", []string{"<aggregate>", "Try dlq-redriver show --help."}},
		{"groups --local --endpoint-url http://127.0.0.1:1 --view millrace", []string{`the read model and control are the same table "millrace"`}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			code, out, stderr := call(t, strings.Fields(tc.args)...)
			if code != cli.Usage || out != "" {
				t.Errorf("code %d, stdout %q", code, out)
			}
			for _, want := range tc.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q, want %q", stderr, want)
				}
			}
		})
	}
}

// one is the report of a pipeline that has one read model.
func one(all []service.Verified, err error) (status.Report, error) {
	if len(all) != 1 {
		return status.Report{}, fmt.Errorf("%d reports: %w", len(all), err)
	}
	return all[0].Report, err
}
