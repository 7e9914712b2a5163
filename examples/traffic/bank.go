package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"millrace/event"
	"millrace/eventstore"
)

// accountState is what the rules have to know of an account.
type accountState struct {
	open  bool
	cents int64
}

func foldAccount(state accountState, e event.Event) (accountState, error) {
	kind, err := e.Type()
	if err != nil {
		return state, err
	}
	switch kind {
	case "AccountOpened":
		state.open = true
	case "MoneyDeposited", "MoneyWithdrawn":
		attributes, err := e.Image.Item()
		if err != nil {
			return state, err
		}
		cents, err := centsOf(attributes["amount"])
		if kind == "MoneyWithdrawn" {
			cents = -cents
		}
		state.cents += cents
		return state, err
	}
	return state, nil
}

// accountSnapshots spare a command the load of a busy account's past. They lie
// beside the events, as the view does, and the stream shows them to the worker.
func accountSnapshots() *eventstore.Snapshots[accountState] {
	return &eventstore.Snapshots[accountState]{
		Every: 10, Fold: 1,
		Encode: func(s accountState) (event.Item, error) {
			return event.Item{"open": event.Bool(s.open), "cents": event.Number(strconv.FormatInt(s.cents, 10))}, nil
		},
		Decode: func(item event.Item) (accountState, error) {
			open, _ := item["open"].(event.Bool)
			number, _ := item["cents"].(event.Number)
			cents, err := strconv.ParseInt(string(number), 10, 64)
			if err != nil {
				return accountState{}, fmt.Errorf("reading the balance %q: %w", number, err)
			}
			return accountState{open: bool(open), cents: cents}, nil
		},
	}
}

// account is a movement of one of 40 accounts, one of which is busy.
func account(ctx context.Context, s *eventstore.Store, random *rand.Rand, _ int) (int, error) {
	number, step, cents := max(0, random.IntN(50)-10), random.IntN(20), 1+random.Int64N(10_000)
	return handle(ctx, s, fmt.Sprintf("account-%d", number), foldAccount, accountSnapshots(), func(state accountState) (*eventstore.NewEvent, error) {
		switch {
		case !state.open:
			return happened("AccountOpened", event.Item{"owner": event.String(fmt.Sprintf("owner %d", number))}), nil
		case step == 0:
			return happened("StatementSent", nil), nil
		case step < 12:
			return happened("MoneyDeposited", event.Item{"amount": money(cents)}), nil
		case cents > state.cents:
			return nil, fmt.Errorf("a withdrawal of %s is more than the balance, %s", money(cents), money(state.cents))
		default:
			return happened("MoneyWithdrawn", event.Item{"amount": money(cents)}), nil
		}
	})
}

// centsOf is an amount that money wrote, or another whole number of cents.
func centsOf(v event.Value) (int64, error) {
	number, _ := v.(event.Number)
	amount, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return 0, fmt.Errorf("reading the amount %q: %w", number, err)
	}
	return int64(amount*100 + 0.5), nil
}
