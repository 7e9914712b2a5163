package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/event"
	"millrace/eventstore"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/projection"
	"millrace/projection/ordersview"
	"millrace/service"
)

// earlier is the registry of the release that does not know gifts.
func (w *world) earlier(t *testing.T) service.Registry {
	t.Helper()
	fold, err := ordersview.BeforeGifts()
	if err != nil {
		t.Fatal(err)
	}
	return service.Registry{Folds: map[string]projection.Projection{"orders": fold}}
}

// gifts appends orders whose second event is a gift, and orders without one.
func (w *world) gifts(t *testing.T, poisoned, healthy int) {
	t.Helper()
	events := w.service(t).Events()
	amount := event.Item{"customer": event.String("Ada"), "amount": event.Number("1")}
	for i := range poisoned + healthy {
		second, name := ordersview.GiftWrapped, fmt.Sprintf("gift-%03d", i)
		if i >= poisoned {
			second, name = ordersview.ItemAdded, fmt.Sprintf("plain-%03d", i)
		}
		var story []eventstore.NewEvent
		for _, kind := range []string{ordersview.OrderPlaced, second, ordersview.ItemAdded} {
			story = append(story, eventstore.NewEvent{Type: kind, Time: time.Now(), Attributes: amount})
		}
		if _, err := events.Append(t.Context(), name, 0, story...); err != nil {
			t.Fatal(err)
		}
	}
}

// work runs a worker until the function it returns is called.
func (w *world) work(t *testing.T, registry service.Registry) (stop func()) {
	t.Helper()
	s, err := service.New(t.Context(), w.config, registry)
	if err != nil {
		t.Fatal(err)
	}
	return w.run(t, s)
}

// run runs a worker of a service until the function it returns is called.
func (w *world) run(t *testing.T, s *service.Service) (stop func()) {
	t.Helper()
	return w.running(t, func(ctx context.Context) error {
		return s.Workers(ctx, func(worker *pipeline.Worker) error { return s.Work(ctx, context.Background(), worker) })
	})
}

func (w *world) running(t *testing.T, work func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- work(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker ended: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// blocked waits until so many aggregates are blocked and all versions of them
// are on record, and lists them.
func (w *world) blocked(t *testing.T, n int) service.Listing {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		listing, err := w.service(t).Blocked(ctx, service.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		settled := 0
		for _, m := range listing.Markers {
			if m.SeenVersion == 3 {
				settled++
			}
		}
		if settled == n {
			return listing
		}
		if err := jitter.Sleep(ctx, 20*time.Millisecond); err != nil {
			t.Fatalf("%d of %d are blocked: %v", settled, n, err)
		}
	}
}

// poisoned is a world whose worker has blocked n orders and was stopped.
func poisoned(t *testing.T, n int) (*world, service.Listing) {
	t.Helper()
	w := newWorld(t)
	if err := w.service(t).EnsureTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.gifts(t, n, 3)
	stop := w.work(t, w.earlier(t))
	listing := w.blocked(t, n)
	if report, err := one(w.service(t).Verify(t.Context(), time.Minute)); err != nil || report.Behind > 0 {
		t.Fatalf("the others do not go on: %+v, %v", report, err)
	}
	stop()
	return w, listing
}

func (w *world) verified(t *testing.T, want string) {
	t.Helper()
	report, err := one(w.service(t).Verify(t.Context(), 0))
	got := fmt.Sprintf("%d aggregates, %d events, %d blocked, %d found", report.Aggregates, report.Events, report.Blocked, report.Found())
	if err != nil || got != want {
		t.Errorf("verify: %s, %v, want %s", got, err, want)
	}
}

// releases counts how often each aggregate became live.
func (w *world) releases() map[string]int {
	count := map[string]int{}
	for _, change := range w.engine.History(w.config.Control) {
		if event.Equal(change.New["state"], event.String("live")) && !event.Equal(change.Old["state"], event.String("live")) {
			name, _ := change.New["sk"].(event.String)
			count[string(name)]++
		}
	}
	return count
}

// TestIncident is the whole of it: a release that lacks a type of event blocks
// the orders that have one, the others go on; a redrive without the fix blocks
// them again; with the fix they come back, beside the new release's worker.
func TestIncident(t *testing.T) {
	w, listing := poisoned(t, 4)
	w.verified(t, "7 aggregates, 13 events, 4 blocked, 4 found")

	groups := service.Groups(listing.Markers)
	if len(groups) != 1 || groups[0].Aggregates != 4 || groups[0].Waiting != 8 || groups[0].Class != "permanent" || !strings.Contains(groups[0].Text, "GiftWrapped") {
		t.Fatalf("the groups are %+v", groups)
	}
	inSinks, err := w.service(t).Show(t.Context(), "gift-000")
	if err != nil {
		t.Fatal(err)
	}
	if shown := inSinks[0]; shown.Position != 1 || shown.Head != 3 || shown.Waiting() != 2 || shown.Event == nil || shown.Event.Version != 2 {
		t.Fatalf("shown is %+v", shown)
	}

	before, err := service.New(t.Context(), w.config, w.earlier(t))
	if err != nil {
		t.Fatal(err)
	}
	result, err := before.Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: -1})
	if err != nil || result.Failed != 4 || result.Done() {
		t.Fatalf("without the fix it ended %+v, %v", result, err)
	}
	again := w.blocked(t, 4)
	for i, m := range again.Markers {
		old := listing.Markers[i]
		if m.BlockID == old.BlockID || m.Cause.Fingerprint != old.Cause.Fingerprint || !m.Cause.First.Equal(old.Cause.First) || m.Cause.Attempts != old.Cause.Attempts+1 {
			t.Errorf("the marker was %+v and is %+v", old, m)
		}
	}

	// The listing of before the failed redrive selects nothing any more.
	s := w.service(t)
	if result, err := s.Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: -1}); err != nil || result.Left != 4 {
		t.Fatalf("a stale listing ended %+v, %v", result, err)
	}
	stop := w.work(t, w.registry)
	defer stop()
	if result, err = s.Redrive(t.Context(), t.Context(), again.Markers, service.RedriveOptions{}); err != nil || !result.Done() || result.Untouched != 0 {
		t.Fatalf("with the fix it ended %+v, %v", result, err)
	}
	w.verified(t, "7 aggregates, 21 events, 0 blocked, 0 found")
	if shown, err := s.Show(t.Context(), "gift-000"); err != nil || shown[0].Marker.NotLive() || shown[0].Position != 3 || shown[0].Waiting() != 0 {
		t.Errorf("released it is %+v, %v", shown, err)
	}
}

func TestSelection(t *testing.T) {
	w, listing := poisoned(t, 3)
	fingerprint := listing.Markers[0].Cause.Fingerprint
	for _, tc := range []struct {
		selection service.Selection
		want      string
		selected  int
	}{
		{service.Selection{}, "gift-000 gift-001 gift-002", 3},
		{service.Selection{Fingerprint: fingerprint, Class: "permanent"}, "gift-000 gift-001 gift-002", 3},
		{service.Selection{Fingerprint: "other"}, "", 0},
		{service.Selection{Class: "gap"}, "", 0},
		{service.Selection{Aggregates: []string{"gift-001", "plain-003"}}, "gift-001", 1},
	} {
		listing, err := w.service(t).Blocked(t.Context(), tc.selection)
		var names []string
		for _, m := range listing.Markers {
			names = append(names, m.Key.Aggregate)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); err != nil || got != tc.want || listing.Selected != tc.selected || len(listing.Foreign) != 0 {
			t.Errorf("%+v selects %q of %d, %v", tc.selection, got, listing.Selected, err)
		}
	}
	limited, err := w.service(t).Blocked(t.Context(), service.Selection{Limit: 2})
	if err != nil || len(limited.Markers) != 2 || limited.Selected != 3 || limited.Markers[1].Cause.First.Before(limited.Markers[0].Cause.First) {
		t.Errorf("with a limit it lists %+v, %v", limited, err)
	}
}

// TestTwoRedrives: two operators have the same idea. Each aggregate is released
// once, and each operator's counts are true.
func TestTwoRedrives(t *testing.T) {
	w, listing := poisoned(t, 20)
	var results [2]service.Redriven
	var both sync.WaitGroup
	for i := range results {
		s := w.service(t)
		both.Go(func() {
			var err error
			if results[i], err = s.Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: -1}); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if a, b := results[0], results[1]; a.Released+b.Released != 20 || a.Left != b.Released || b.Left != a.Released {
		t.Errorf("they ended %+v and %+v", a, b)
	}
	for aggregate, n := range w.releases() {
		if n != 1 {
			t.Errorf("%s was released %d times", aggregate, n)
		}
	}
	w.verified(t, "23 aggregates, 69 events, 0 blocked, 0 found")
}

// TestCase03_AJobEndsThoughItsLettersFailAgain: where the cause is not gone, the
// sample fails and the rest is not touched; and what fails is not picked up
// anew by the job that failed with it.
func TestCase03_AJobEndsThoughItsLettersFailAgain(t *testing.T) {
	w, listing := poisoned(t, 14)
	before, err := service.New(t.Context(), w.config, w.earlier(t))
	if err != nil {
		t.Fatal(err)
	}
	var told []redrive.Result
	result, err := before.Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{
		Rate: -1, Each: func(r redrive.Result) { told = append(told, r) },
	})
	if err != nil || result.Failed != 10 || result.Untouched != 4 || result.Stopped != "10 of 10 could not be released" || len(told) != 10 {
		t.Errorf("it ended %+v, %v, and told %d", result, err, len(told))
	}
	for _, r := range told {
		if r.Outcome != redrive.Failed || r.From != 1 || r.To != 1 || event.ClassOf(r.Err) != event.Permanent {
			t.Errorf("it told %+v", r)
		}
	}
	patient := service.RedriveOptions{Rate: -1, Sample: 100, Parallel: 3}
	if result, err := before.Redrive(t.Context(), t.Context(), w.blocked(t, 14).Markers, patient); err != nil || result.Failed != 14 || result.Stopped != "" {
		t.Errorf("with a larger sample it ended %+v, %v", result, err)
	}
}

// TestCase04_NewFailuresAreNotTouched: an aggregate that is blocked for the same
// cause while a job runs is left to the next one, and so is one of the listing
// that is blocked anew after somebody had brought it back.
func TestCase04_NewFailuresAreNotTouched(t *testing.T) {
	w, listing := poisoned(t, 3)
	s := w.service(t)
	markers := s.Markers()
	cause := listing.Markers[0].Cause
	late := listing.Markers[0].Key
	late.Aggregate = "gift-late"
	anew := listing.Markers[2].Key
	apply := func(key failure.Key, steps ...failure.Transition) {
		for _, step := range steps {
			if verdict, _, err := markers.Apply(t.Context(), key, step); err != nil || verdict != failure.Applied {
				t.Fatalf("%s of %v gave %v, %v", step.Name, key, verdict, err)
			}
		}
	}
	began := false
	result, err := s.Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: -1, Each: func(redrive.Result) {
		if began {
			return
		}
		began = true // the sample is worked on one at a time
		apply(late, failure.Block(2, "late", cause))
		apply(anew, failure.Heal(3, "healed"), failure.Block(2, "anew", cause))
	}})
	if err != nil || result.Selected != 3 || result.Released != 2 || result.Left != 1 || result.Done() {
		t.Fatalf("it ended %+v, %v", result, err)
	}
	rest, err := s.Blocked(t.Context(), service.Selection{})
	var left []string
	for _, m := range rest.Markers {
		left = append(left, fmt.Sprint(m.Key.Aggregate, " ", m.State, " ", m.Generation))
	}
	slices.Sort(left)
	if got, want := strings.Join(left, ", "), anew.Aggregate+" blocked anew, gift-late blocked late"; err != nil || got != want {
		t.Errorf("left are %q, %v, want %q", got, err, want)
	}
}

// TestRate: aggregates are begun no faster than asked for.
func TestRate(t *testing.T) {
	w, listing := poisoned(t, 6)
	began := time.Now()
	result, err := w.service(t).Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: 10})
	if took := time.Since(began); err != nil || !result.Done() || took < 500*time.Millisecond {
		t.Errorf("it ended %+v, %v, after %v", result, err, took)
	}
}

// TestRedriveGoesOn: a redrive that was cut short, at a moment that its markers
// show as under way, is finished by the next one.
func TestRedriveGoesOn(t *testing.T) {
	w, listing := poisoned(t, 8)
	abort, cut := context.WithCancel(t.Context())
	defer cut()
	var effects atomic.Int64
	remove := w.engine.Inject(localaws.Fault{Do: localaws.TimeOut, Match: func(c localaws.Call) bool {
		if c.Operation != "UpdateItem" || c.Table != w.config.Sinks[0].ReadModel.Table || effects.Add(1) <= 3 {
			return false
		}
		cut()
		return true
	}})
	result, err := w.service(t).Redrive(abort, abort, listing.Markers, service.RedriveOptions{Rate: -1})
	remove()
	if !errors.Is(err, context.Canceled) || result.Released != 3 || result.Untouched != 5 {
		t.Fatalf("cut short it ended %+v, %v", result, err)
	}
	rest, err := w.service(t).Blocked(t.Context(), service.Selection{})
	claimed := 0
	for _, m := range rest.Markers {
		if m.State == failure.Redriving {
			claimed++
		}
	}
	if err != nil || len(rest.Markers) != 5 || claimed != 1 {
		t.Fatalf("left are %+v, %v", rest.Markers, err)
	}
	if result, err := w.service(t).Redrive(t.Context(), t.Context(), rest.Markers, service.RedriveOptions{Rate: -1}); err != nil || !result.Done() {
		t.Errorf("the next one ended %+v, %v", result, err)
	}
	w.verified(t, "11 aggregates, 33 events, 0 blocked, 0 found")
}

// TestRedriveUnderFaults: a claim and a release lose their answers, the control
// table is throttled; each aggregate is released once all the same.
func TestRedriveUnderFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault localaws.Fault
	}{
		{"the claim's answer is lost", localaws.Fault{Do: localaws.LoseAnswer, Times: 1}},
		{"every answer but the claim's is lost once", localaws.Fault{Do: localaws.LoseAnswer, After: 1, Times: 2}},
		{"throttled", localaws.Fault{Do: localaws.Throttle, Share: 0.5, Times: 40}},
		{"errors of the service", localaws.Fault{Do: localaws.FailAfter, Share: 0.5, Times: 40}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, listing := poisoned(t, 3)
			tc.fault.Match = func(c localaws.Call) bool { return c.Table == w.config.Control || c.Operation == "UpdateItem" }
			defer w.engine.Inject(tc.fault)()
			result, err := w.service(t).Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: -1})
			if err != nil || !result.Done() {
				t.Errorf("it ended %+v, %v", result, err)
			}
			for aggregate, n := range w.releases() {
				if n != 1 {
					t.Errorf("%s was released %d times", aggregate, n)
				}
			}
			if n := len(w.releases()); n != 3 {
				t.Errorf("%d were released", n)
			}
			w.verified(t, "6 aggregates, 18 events, 0 blocked, 0 found")
		})
	}
}

// TestPaused: where the control table stays silent, nothing is released, and
// the redrive says so instead of waiting for ever.
func TestPaused(t *testing.T) {
	w, listing := poisoned(t, 2)
	remove := w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Operation == "UpdateItem" }})
	result, err := w.service(t).Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: -1, Patience: 50 * time.Millisecond})
	if err != nil || result.Paused != 2 {
		t.Errorf("it ended %+v, %v", result, err)
	}
	remove()
	if result, err := w.service(t).Redrive(t.Context(), t.Context(), listing.Markers, service.RedriveOptions{Rate: -1}); err != nil || !result.Done() {
		t.Errorf("the next one ended %+v, %v", result, err)
	}
}

// TestGroups: one line for each cause, the largest first.
func TestGroups(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	marker := func(aggregate, fingerprint string, blocked, seen uint64, first, last int) failure.Marker {
		return failure.Marker{
			Key: failure.Key{Aggregate: aggregate}, State: failure.Blocked, BlockedVersion: blocked, SeenVersion: seen,
			Cause: failure.Cause{Fingerprint: fingerprint, Text: aggregate + " failed", First: at(first), Last: at(last)},
		}
	}
	groups := service.Groups([]failure.Marker{
		marker("a", "rare", 1, 1, 5, 6), marker("b", "often", 2, 4, 9, 9), marker("c", "often", 7, 7, 3, 12),
	})
	want := []service.Group{
		{Fingerprint: "often", Aggregates: 2, Waiting: 4, First: at(3), Last: at(12), Example: "c", Text: "c failed"},
		{Fingerprint: "rare", Aggregates: 1, Waiting: 1, First: at(5), Last: at(6), Example: "a", Text: "a failed"},
	}
	if !slices.Equal(groups, want) {
		t.Errorf("the groups are %+v", groups)
	}
}
