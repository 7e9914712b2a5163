package eventstore

import (
	"errors"
	"maps"
	"strconv"
	"testing"

	"millrace/event"
	"millrace/internal/localaws"
)

// counted is a state that a snapshot can hold: how many events, and their sum.
type counted struct{ events, total int }

func count1(state counted, e event.Event) (counted, error) {
	v, err := e.Image.Get("payload")
	if err != nil {
		return state, err
	}
	payload, _ := v.(event.Map)
	amount, _ := payload["amount"].(event.Number)
	n, err := strconv.Atoi(string(amount))
	return counted{state.events + 1, state.total + n}, err
}

func snapshots(fold uint64) *Snapshots[counted] {
	return &Snapshots[counted]{
		Every: 10, Fold: fold,
		Encode: func(c counted) (event.Item, error) {
			return event.Item{"events": event.Number(strconv.Itoa(c.events)), "total": event.Number(strconv.Itoa(c.total))}, nil
		},
		Decode: func(item event.Item) (counted, error) {
			events, _ := item["events"].(event.Number)
			total, _ := item["total"].(event.Number)
			n, err := strconv.Atoi(string(events))
			m, wrong := strconv.Atoi(string(total))
			return counted{n, m}, errors.Join(err, wrong)
		},
	}
}

// deposit handles one command that appends an event.
func deposit(t *testing.T, s *Store, amount int, sn *Snapshots[counted]) counted {
	t.Helper()
	state, _, err := Handle(t.Context(), s, Command[counted]{
		Aggregate: "ACCOUNT#1", Fold: count1, Snapshots: sn,
		Decide:  func(counted) ([]NewEvent, error) { return []NewEvent{placed(strconv.Itoa(amount))}, nil },
		Unsaved: func(err error) { t.Errorf("a snapshot is not saved: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func bank(t *testing.T) (*Store, *localaws.Engine) {
	t.Helper()
	e := engine(t, localaws.Options{})
	s := shaped(t, e, event.Bank(), 1)
	if err := s.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, e
}

var snapshotKey = event.Item{"pk": event.String("ACCOUNT#1"), "sk": event.String("SNAPSHOT")}

// TestSnapshotsChangeNothingButTheCost: whatever becomes of the snapshot, a
// load gives the state that a load without one gives.
func TestSnapshotsChangeNothingButTheCost(t *testing.T) {
	change := func(edit func(event.Item)) func(*testing.T, *Store, *localaws.Engine) {
		return func(t *testing.T, s *Store, e *localaws.Engine) {
			t.Helper()
			item := maps.Clone(e.Item("events", snapshotKey))
			edit(item)
			put(t, s, item)
		}
	}
	for name, damage := range map[string]func(*testing.T, *Store, *localaws.Engine){
		"as it was":          func(*testing.T, *Store, *localaws.Engine) {},
		"of another fold":    change(func(item event.Item) { item["fold"] = event.Number("7") }),
		"without a state":    change(func(item event.Item) { delete(item, "state") }),
		"with a wrong state": change(func(item event.Item) { item["state"] = event.Map{"events": event.String("many")} }),
		"without a version":  change(func(item event.Item) { delete(item, "version") }),
		"ahead of the events": change(func(item event.Item) {
			item["version"], item["state"] = event.Number("90"), event.Map{"events": event.Number("90"), "total": event.Number("1")}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			s, e := bank(t)
			var want counted
			for i := range 34 {
				want = deposit(t, s, i, snapshots(1))
			}
			if at := e.Item("events", snapshotKey)["version"]; at != event.Number("30") {
				t.Fatalf("the snapshot is at %v", at)
			}
			damage(t, s, e)
			plain, version, err := Load(t.Context(), s, "ACCOUNT#1", count1)
			if err != nil || version != 34 || plain != want {
				t.Fatalf("a load without snapshots: %+v at %d, %v", plain, version, err)
			}
			got, version, err := LoadFrom(t.Context(), s, "ACCOUNT#1", count1, *snapshots(1))
			if err != nil || version != 34 || got != want {
				t.Errorf("a load with snapshots: %+v at %d, %v; want %+v", got, version, err, want)
			}
			if next := deposit(t, s, 1, snapshots(1)); next.events != 35 || next.total != want.total+1 {
				t.Errorf("the next command makes %+v", next)
			}
		})
	}
}

// TestSnapshotSparesReads: with a page of a few events, a load reads those
// after the snapshot alone.
func TestSnapshotSparesReads(t *testing.T) {
	s, e := bank(t)
	for i := range 20 {
		deposit(t, s, i, snapshots(1))
	}
	seen := 0
	fold := func(state counted, ev event.Event) (counted, error) { seen++; return count1(state, ev) }
	if _, version, err := LoadFrom(t.Context(), s, "ACCOUNT#1", fold, *snapshots(1)); err != nil || version != 20 || seen != 0 {
		t.Errorf("%d events folded to version %d, %v", seen, version, err)
	}
	deposit(t, s, 1, nil)
	if _, _, err := LoadFrom(t.Context(), s, "ACCOUNT#1", fold, *snapshots(1)); err != nil || seen != 1 {
		t.Errorf("%d events folded, %v", seen, err)
	}
	// A slower writer never replaces a newer snapshot, but one of another fold.
	before := e.Item("events", snapshotKey)
	if err := snapshots(1).mustCheck(t, s).save(t.Context(), s, "ACCOUNT#1", 9, 10, counted{}); err != nil || !e.Item("events", snapshotKey).Equal(before) {
		t.Errorf("an older snapshot: %v, %v", err, e.Item("events", snapshotKey))
	}
	if err := snapshots(2).mustCheck(t, s).save(t.Context(), s, "ACCOUNT#1", 9, 10, counted{}); err != nil || e.Item("events", snapshotKey)["fold"] != event.Number("2") {
		t.Errorf("another fold's: %v, %v", err, e.Item("events", snapshotKey))
	}
}

func (sn *Snapshots[S]) mustCheck(t *testing.T, s *Store) Snapshots[S] {
	t.Helper()
	checked, err := sn.checked(s.layout)
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// TestSnapshotThatCannotBeSaved fails no command.
func TestSnapshotThatCannotBeSaved(t *testing.T) {
	s, e := bank(t)
	e.Inject(localaws.Fault{Do: localaws.Throttle, Match: func(c localaws.Call) bool { return c.Operation == "PutItem" && c.Key == "ACCOUNT#1/SNAPSHOT" }})
	told := 0
	for i := range 12 {
		_, version, err := Handle(t.Context(), s, Command[counted]{
			Aggregate: "ACCOUNT#1", Fold: count1, Snapshots: snapshots(1),
			Decide:  func(counted) ([]NewEvent, error) { return []NewEvent{placed("1")}, nil },
			Unsaved: func(error) { told++ },
		})
		if err != nil || version != uint64(i)+1 {
			t.Fatalf("command %d: version %d, %v", i, version, err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// TestSnapshotsNeedALayoutThatTellsThemApart.
func TestSnapshotsNeedALayoutThatTellsThemApart(t *testing.T) {
	for name, tc := range map[string]struct {
		layout *event.Layout
		key    string
		ok     bool
	}{
		"orders":                      {event.Orders(), "", false},
		"bank":                        {event.Bank(), "", true},
		"bank, under an event's key":  {event.Bank(), "EVENT#000000000001", false},
		"maintenance":                 {event.Maintenance(), "", true},
		"a sort key that is a number": {&event.Layout{Aggregate: "pk", Version: "sk"}, "", false},
	} {
		sn := *snapshots(1)
		sn.Key = tc.key
		if _, err := sn.checked(tc.layout); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
