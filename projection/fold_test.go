package projection_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/event"
	"millrace/projection"
)

// account is a state with memory of its own, so that sharing would show.
type account struct {
	balance int
	log     []string
}

func number(e event.Event, name string) (int, error) {
	v, err := e.Image.Get(name)
	if err != nil {
		return 0, err
	}
	n, ok := v.(event.Number)
	if !ok {
		return 0, errors.New("no number in " + name)
	}
	return strconv.Atoi(string(n))
}

func accounts(tb testing.TB) projection.Projection {
	tb.Helper()
	p, err := projection.New(projection.Fold[account]{
		Apply: projection.On[account]{
			"Paid": func(a account, e event.Event) (account, error) {
				amount, err := number(e, "amount")
				a.balance += amount
				a.log = append(a.log, fmt.Sprint(amount))
				return a, err
			},
			"Closed": func(a account, _ event.Event) (account, error) { return a, projection.ErrDeleted },
			"Broken": func(a account, _ event.Event) (account, error) {
				return a, fmt.Errorf("no such line: %s", a.log[len(a.log)])
			},
		}.Apply,
		Encode: func(a account) (event.Item, error) {
			return event.Item{"balance": event.Number(strconv.Itoa(a.balance)), "log": event.String(strings.Join(a.log, ","))}, nil
		},
		Decode: func(item event.Item) (account, error) {
			var a account
			if n, ok := item["balance"].(event.Number); ok {
				var err error
				if a.balance, err = strconv.Atoi(string(n)); err != nil {
					return a, err
				}
			}
			if log, ok := item["log"].(event.String); ok && log != "" {
				a.log = strings.Split(string(log), ",")
			}
			return a, nil
		},
		Ignore: []string{"Viewed"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func made(version uint64, kind string, attributes event.Item) event.Event {
	item := event.Item{
		"pk": event.String("a-1"), "type": event.String(kind),
		"createdAt": event.String(fmt.Sprintf("2026-01-01T00:00:%02dZ", version%60)),
	}
	for name, v := range attributes {
		item[name] = v
	}
	return event.Event{Aggregate: "a-1", Version: version, Image: event.Decoded(item), Layout: event.Orders()}
}

func paid(version uint64, amount int) event.Event {
	return made(version, "Paid", event.Item{"amount": event.Number(strconv.Itoa(amount))})
}

func TestReplay(t *testing.T) {
	closedAt3 := event.Item{projection.DeletedAt: event.String("2026-01-01T00:00:03Z")}
	for _, tc := range []struct {
		name   string
		events []event.Event
		want   event.Item
	}{
		{name: "nothing", want: event.Item{"balance": event.Number("0"), "log": event.String("")}},
		{
			name: "a sum", events: []event.Event{paid(1, 5), paid(2, -7)},
			want: event.Item{"balance": event.Number("-2"), "log": event.String("5,-7")},
		},
		{
			name: "an ignored type has no effect", events: []event.Event{paid(1, 5), made(2, "Viewed", nil)},
			want: event.Item{"balance": event.Number("5"), "log": event.String("5")},
		},
		{name: "deleted", events: []event.Event{paid(1, 5), paid(2, 5), made(3, "Closed", nil)}, want: closedAt3},
		{
			name:   "an ignored type leaves a deleted aggregate deleted",
			events: []event.Event{paid(1, 5), paid(2, 5), made(3, "Closed", nil), made(4, "Viewed", nil)}, want: closedAt3,
		},
		{
			name: "life after deletion starts at zero", events: []event.Event{paid(1, 5), made(2, "Closed", nil), paid(3, 1)},
			want: event.Item{"balance": event.Number("1"), "log": event.String("1")},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := projection.Replay(accounts(t), tc.events)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equal(tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if projection.Deleted(got) != projection.Deleted(tc.want) {
				t.Errorf("deleted: %v", projection.Deleted(got))
			}
		})
	}
}

func TestWhatAFoldRefusesIsPermanentAndNamesTheVersion(t *testing.T) {
	for _, tc := range []struct {
		name string
		last event.Event
		text string
	}{
		{"an unknown type", made(3, "Merged", nil), `event type "Merged" is unknown to the fold (add this type to the fold, to be applied or to be ignored)`},
		{"an attribute that is not there", made(3, "Paid", nil), "no number in amount"},
		{"a deletion with a time that is none", made(3, "Closed", event.Item{"createdAt": event.String("noon")}), "reading the time"},
		{"a type that is no text", made(3, "", event.Item{"type": event.Bool(true)}), "reading attribute type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := projection.Replay(accounts(t), []event.Event{paid(1, 1), paid(2, 1), tc.last})
			if class := event.ClassOf(err); class != event.Permanent {
				t.Errorf("class %v, want permanent: %v", class, err)
			}
			if err == nil || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), "version 3 of a-1") {
				t.Errorf("got %v, want %q and the version", err, tc.text)
			}
		})
	}
}

func TestAPanicIsAnErrorOfItsEvent(t *testing.T) {
	_, err := projection.Replay(accounts(t), []event.Event{paid(1, 1), made(2, "Broken", nil)})
	var panicked *event.Panic
	if !errors.As(err, &panicked) {
		t.Fatalf("got %v, want a panic", err)
	}
	if class := event.ClassOf(err); class != event.Permanent {
		t.Errorf("class %v, want permanent", class)
	}
	// The place is this file's handler, not the runtime's check of the index.
	if first := panicked.Frames[0]; !strings.Contains(first, "accounts") || !strings.Contains(first, "fold_test.go") {
		t.Errorf("first frame %q, want the fold's", first)
	}
}

func TestPanicsAndErrorsOfTheCodec(t *testing.T) {
	apply := func(s int, _ event.Event) (int, error) { return s, nil }
	encode := func(int) (event.Item, error) { return event.Item{"n": event.Number("1")}, nil }
	decode := func(event.Item) (int, error) { return 0, nil }
	for _, tc := range []struct {
		name string
		fold projection.Fold[int]
	}{
		{"encoding panics", projection.Fold[int]{Apply: apply, Decode: decode, Encode: func(int) (event.Item, error) { panic("encode") }}},
		{"decoding panics", projection.Fold[int]{Apply: apply, Encode: encode, Decode: func(event.Item) (int, error) { panic("decode") }}},
		{"decoding fails", projection.Fold[int]{Apply: apply, Encode: encode, Decode: func(event.Item) (int, error) { return 0, errors.New("old form") }}},
		{"panicking with a stop", projection.Fold[int]{Apply: apply, Encode: encode, Decode: func(event.Item) (int, error) { panic(context.Canceled) }}},
		{"writing the attribute of the deleted", projection.Fold[int]{Apply: apply, Decode: decode, Encode: func(int) (event.Item, error) {
			return event.Item{projection.DeletedAt: event.Null{}}, nil
		}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := projection.New(tc.fold)
			if err != nil {
				t.Fatal(err)
			}
			state, err := p.Start(event.Item{"n": event.Number("1")})
			if err == nil {
				_, err = state.Item()
			}
			if class := event.ClassOf(err); class != event.Permanent {
				t.Errorf("got %v, want a permanent error", err)
			}
		})
	}
}

func TestAnErrorKeepsItsClass(t *testing.T) {
	p, err := projection.New(projection.Fold[int]{
		Apply: func(s int, _ event.Event) (int, error) {
			return s, &event.Error{Class: event.Transient, Op: "asking a neighbour"}
		},
		Encode: func(int) (event.Item, error) { return nil, nil },
		Decode: func(event.Item) (int, error) { return 0, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := projection.Replay(p, []event.Event{paid(1, 1)}); event.ClassOf(err) != event.Transient {
		t.Errorf("got %v, want transient", err)
	}
}

func TestAFoldNeedsAllItsFunctions(t *testing.T) {
	if _, err := projection.New(projection.Fold[int]{}); err == nil {
		t.Error("a fold without functions became a projection")
	}
}

func TestADeletionWithoutATimeIsStillADeletion(t *testing.T) {
	e := made(1, "Closed", nil)
	layout := *e.Layout
	layout.Time = ""
	e.Layout = &layout
	item, err := projection.Replay(accounts(t), []event.Event{e})
	if err != nil || !projection.Deleted(item) {
		t.Errorf("got %v, %v, want a deleted item", item, err)
	}
}

// TestSplitAnywhere: folding a history in pieces, through stored items, ends
// in the item of folding it at once, whatever stands beside the fold's
// attributes.
func TestSplitAnywhere(t *testing.T) {
	p := accounts(t)
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"Paid", "Viewed", "Closed"}), 0, 12).Draw(t, "kinds")
		var events []event.Event
		for i, kind := range kinds {
			events = append(events, made(uint64(i+1), kind, event.Item{"amount": event.Number(strconv.Itoa(i))}))
		}
		whole, err := projection.Replay(p, events)
		if err != nil {
			t.Fatal(err)
		}
		stored := event.Item{"pk": event.String("a-1"), "foreign": event.Bool(true)}
		for rest := events; ; {
			state, err := p.Start(stored)
			if err != nil {
				t.Fatal(err)
			}
			n := rapid.IntRange(0, len(rest)).Draw(t, "piece")
			for _, e := range rest[:n] {
				if err := state.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			own, err := state.Item()
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			if len(rest) == 0 {
				if !own.Equal(whole) {
					t.Fatalf("in pieces %v, at once %v", own, whole)
				}
				return
			}
			stored = own.Clone()
			stored["pk"], stored["foreign"] = event.String("a-1"), event.Bool(true)
		}
	})
}

func BenchmarkFold(b *testing.B) {
	p := accounts(b)
	state, err := p.Start(nil)
	if err != nil {
		b.Fatal(err)
	}
	e := made(1, "Viewed", nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := state.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
}
