package service_test

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/rs/zerolog"

	"millrace/event"
	"millrace/projection"
	"millrace/service"
)

// stock is a read model of your own: how many pieces of an article there are.
type stock struct{ pieces int }

// stockFold reads the event types Received and Sold, each with a number in the
// attribute pieces. A type that it does not know is an error, and never skipped.
func stockFold() (projection.Projection, error) {
	change := func(sign int) func(stock, event.Event) (stock, error) {
		return func(s stock, e event.Event) (stock, error) {
			pieces, err := e.Image.Get("pieces")
			if err != nil {
				return s, err
			}
			number, _ := pieces.(event.Number)
			n, err := strconv.Atoi(string(number))
			return stock{s.pieces + sign*n}, err
		}
	}
	return projection.New(projection.Fold[stock]{
		Apply: projection.On[stock]{"Received": change(1), "Sold": change(-1)}.Apply,
		Encode: func(s stock) (event.Item, error) {
			return event.Item{"pieces": event.Number(strconv.Itoa(s.pieces))}, nil
		},
		Decode: func(item event.Item) (stock, error) {
			number, ok := item["pieces"].(event.Number)
			if !ok {
				return stock{}, nil // nothing was folded yet
			}
			n, err := strconv.Atoi(string(number))
			return stock{n}, err
		},
	})
}

// A main of your own: one worker of a consumer group with a fold written in Go.
// The first signal drains it, the second kills it, and its successor goes on.
func Example() {
	log := zerolog.New(os.Stderr).With().Timestamp().Logger()
	fold, err := stockFold()
	if err != nil {
		log.Fatal().Err(err).Msg("the fold is not complete")
	}
	drain, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(drain, stop) // from then on a signal ends the process
	err = service.Run(drain, context.Background(), service.Config{
		Group: "stock", Events: "stock-events", Sinks: []service.Sink{{ReadModel: &service.ReadModel{Table: "stock", Fold: "stock"}}},
		CreateTables: true, Log: log,
	}, service.Registry{Folds: map[string]projection.Projection{"stock": fold}})
	if err != nil {
		log.Fatal().Err(err).Msg("the worker ended")
	}
}
