package service_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"millrace/event"
	"millrace/service"
)

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// watched has the world's workers serve metrics on a free port, and returns what
// scrapes them.
func (w *world) watched() (log *logged, scrape func() string) {
	w.t.Helper()
	log = &logged{}
	w.config.Log, w.config.HTTP = zerolog.New(log), "127.0.0.1:0"
	address := regexp.MustCompile(`"address":"([^"]+)"`)
	return log, func() string {
		w.t.Helper()
		found := address.FindStringSubmatch(log.String())
		if found == nil {
			return ""
		}
		request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, found[1]+"/metrics", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			w.t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // it was read
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(body)
	}
}

// secret stands in every event's payload, and in no line of a log.
const secret = "SECRET-OF-ADA"

// TestH6_OddRecordsInEveryLayout: an item of another kind, one without a proper
// version, an event of a shape to come, one that is overwritten by hand and one
// that TTL removes. None reaches the fold, all are counted, the healthy aggregate
// goes on, and the log keeps payloads to itself.
func TestH6_OddRecordsInEveryLayout(t *testing.T) {
	for _, tc := range []struct {
		name, table string
		opened      func(w *world, s *service.Service, aggregate string)
		kind        event.Item // of another kind; nil: the layout knows none
		malformed   event.Item
		later       bool // a schema version is part of the layout
		second      string
	}{
		{
			name: "orders", table: "orders-events",
			opened: func(w *world, s *service.Service, aggregate string) {
				w.appended(s, aggregate, happened("OrderPlaced", 0, event.Item{"customer": event.String(secret), "amount": event.Number("1")}), happened("OrderPaid", 0, nil))
			},
			malformed: event.Item{"pk": event.String("bad"), "sk": event.String("7x"), "note": event.String(secret)}, second: "000000000002",
		},
		{
			name: "bank", table: "bank",
			opened: func(w *world, s *service.Service, aggregate string) {
				w.appended(s, aggregate, happened("AccountOpened", 0, event.Item{"owner": event.String(secret)}), happened("StatementSent", 0, nil))
			},
			kind:      event.Item{"pk": event.String("ACCOUNT#1"), "sk": event.String("SNAPSHOT"), "version": event.Number("2")},
			malformed: event.Item{"pk": event.String("ACCOUNT#1"), "sk": event.String("EVENT#12x"), "note": event.String(secret)}, second: "EVENT#000000000002",
		},
		{
			name: "maintenance", table: "maintenance-events",
			opened: func(w *world, s *service.Service, aggregate string) {
				w.appended(s, aggregate, happened("OrderCreated", 1, event.Item{"asset": event.String(secret)}), happened("OrderCompleted", 1, nil))
			},
			kind:      event.Item{"pk": event.String("a"), "sk": event.String("note"), "kind": event.String("note")},
			malformed: event.Item{"pk": event.String("a"), "sk": event.String("12"), "kind": event.String("event"), "note": event.String(secret)},
			later:     true, second: "000000000002",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.example(tc.name)
			log, scrape := w.watched()
			s := w.service(t)
			stop := w.working()
			defer func() { stop() }()
			for i := range 3 {
				tc.opened(w, s, fmt.Sprint("agg-", i))
			}
			w.inEffect(s, 3)

			w.put(tc.table, tc.malformed)
			if tc.kind != nil {
				w.put(tc.table, tc.kind)
			}
			// By hand: the second version of agg-0 says something else now.
			second := func(aggregate string) event.Item {
				return event.Item{"pk": event.String(aggregate), "sk": event.String(tc.second)}
			}
			changed := maps.Clone(w.engine.Item(tc.table, second("agg-0")))
			changed["note"] = event.String(secret)
			w.put(tc.table, changed)
			// By TTL: the second version of agg-1 is gone.
			expiring := maps.Clone(w.engine.Item(tc.table, second("agg-1")))
			expiring["expires"] = event.Number(fmt.Sprint(time.Now().Add(-time.Minute).Unix()))
			w.expires(tc.table)
			w.put(tc.table, expiring)
			if n, err := w.engine.ExpireItems(tc.table); err != nil || n != 1 {
				t.Fatalf("%d items expired, %v", n, err)
			}
			blocked := 0
			if tc.later {
				w.appended(s, "agg-2", happened("WorkLogged", 99, event.Item{"minutes": event.Number("1"), "note": event.String(secret)}))
				blocked = 1
			}
			want := []string{
				`millrace_records_unroutable_total{pipeline="` + w.config.Name + `"} 1`,
				`millrace_event_store_violations_total{kind="modified",pipeline="` + w.config.Name + `"} 2`, // the hand's, and the mark that lets it expire
				`millrace_event_store_violations_total{kind="removed",pipeline="` + w.config.Name + `"} 1`,
				fmt.Sprintf(`millrace_blocks_total{pipeline="%s"} %d`, w.config.Name, blocked),
			}
			w.until("all of it is counted", func() bool {
				body := scrape()
				for _, line := range want {
					if !strings.Contains(body, line+"\n") {
						return false
					}
				}
				return true
			})
			listing, err := s.Blocked(t.Context(), service.Selection{})
			if err != nil || len(listing.Markers) != blocked || len(listing.Unroutable) != 1 || listing.Unroutable[0].Cause.Class != "decode" {
				t.Errorf("blocked are %+v, %v", listing, err)
			}
			if blocked > 0 && len(listing.Markers) > 0 && listing.Markers[0].Cause.Class != "schema" {
				t.Errorf("the marker is %+v", listing.Markers[0])
			}
			// The fold kept what was: nothing above went into it.
			report, err := one(s.Verify(t.Context(), 0))
			if err != nil || report.Mismatches > 1 || report.Missing+report.Ahead == 0 {
				t.Errorf("verify says %+v, %v", report, err)
			}
			stop()
			stop = func() {}
			if strings.Contains(log.String(), secret) {
				t.Errorf("a payload is in the log:\n%s", log)
			}
			if n := strings.Count(log.String(), "an event was changed or removed"); n != 2 {
				t.Errorf("violations are told %d times, not once an aggregate:\n%s", n, log)
			}
		})
	}
}

// TestTakenPort: nothing is begun.
func TestTakenPort(t *testing.T) {
	w := newWorld(t)
	if err := w.service(t).EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.config.HTTP = strings.TrimPrefix(w.config.AWS.Endpoint, "http://")
	before := len(w.engine.History(""))
	err := service.Run(t.Context(), t.Context(), w.config, w.registry)
	if event.ClassOf(err) != event.Permanent || !strings.Contains(err.Error(), "http.listen") {
		t.Errorf("it ends with %v", err)
	}
	if after := len(w.engine.History("")); after != before {
		t.Error("something was begun")
	}
}
