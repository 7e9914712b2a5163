// Command traffic appends to the event tables of the examples, by commands that
// a business would have, and on demand proves what a worker makes of them.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"millrace/config"
	"millrace/projection"
	"millrace/service"
)

type flags struct {
	Example string        `arg:"" enum:"orders,bank,maintenance" help:"Whose traffic: orders, bank or maintenance."`
	Config  string        `short:"c" help:"Configuration file. Default: examples/EXAMPLE/millrace.yaml." placeholder:"FILE"`
	Events  int           `default:"2000" help:"Append until this many events stand, from 1 on (${default})."`
	Rate    int           `default:"1000" help:"Events a second, from 1 on (${default})."`
	Seed    uint64        `help:"Seed of the traffic. Default: a random one, which is printed." placeholder:"N"`
	Create  bool          `name:"create-tables" help:"Create the tables where they are not there."`
	Worker  string        `help:"Proof: start this shard-reader on new tables beside the traffic, and verify what it made." placeholder:"PROGRAM"`
	Timeout time.Duration `default:"2m" help:"Give up after this time (${default})."`
}

// Validate is asked by the parser.
func (f flags) Validate() error {
	if f.Events < 1 || f.Rate < 1 {
		return fmt.Errorf("--events is %d and --rate is %d: both must be at least 1", f.Events, f.Rate)
	}
	return nil
}

func main() {
	var f flags
	kong.Parse(&f, kong.Exit(func(code int) { os.Exit(min(code, 2)) }), kong.Description("Appends to the event table of an example. Where to, the environment says: AWS_ENDPOINT_URL, AWS_REGION and credentials."))
	if f.Config == "" {
		f.Config = "examples/" + f.Example + "/millrace.yaml"
	}
	if f.Seed == 0 {
		f.Seed = rand.Uint64()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	err := f.run(ctx)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "traffic: %v\n", err)
		os.Exit(1)
	}
}

func (f flags) run(ctx context.Context) error {
	file, err := config.Load(f.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	s, err := service.New(ctx, service.FromFile(file), service.Registry{Folds: map[string]projection.Projection{}})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d events, %d a second, seed %d\n", f.Example, f.Events, f.Rate, f.Seed)
	if f.Worker != "" {
		return f.prove(ctx, s)
	}
	if f.Create {
		if err := s.EnsureTables(ctx); err != nil {
			return err
		}
	}
	done, err := f.append(ctx, s.Events())
	fmt.Println(done)
	return err
}
