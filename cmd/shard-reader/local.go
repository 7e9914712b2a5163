package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"millrace/internal/cli"
	"millrace/internal/localaws"
)

type localCommand struct {
	Listen string `help:"Loopback address and port; port 0 takes a free one. Default: 127.0.0.1:8008, or a free port for a command." placeholder:"ADDRESS"`
	Shards int    `help:"Shards of a new stream." default:"4"`
	Seed   uint64 `help:"Seed of every random choice. Default: a random one, which is printed." placeholder:"N"`
	Tables bool   `help:"Create the tables that run and verify use by default." default:"true" negatable:""`
	Queue  string `help:"Create this queue too, for the letters of blocked aggregates." placeholder:"QUEUE"`

	Command []string `arg:"" optional:"" help:"After --: a command to run on the engine, which ends with it."`
}

// Help goes on where the verb's one line ends.
func (localCommand) Help() string {
	return `It keeps everything in memory and is a test double, never to be used in production. Its stdout is for a shell, and sets up any AWS client, the AWS CLI included:

    shard-reader local > engine.env    # in one terminal
    . ./engine.env                     # in the others

A queue for run --queue is made by --queue, or later by the AWS CLI. Its version 1 ignores AWS_ENDPOINT_URL for SQS, and would make the queue in AWS; so name the address:

    aws sqs create-queue --queue-name orders-failures \
        --endpoint-url "$AWS_ENDPOINT_URL"

With a command the engine lives as long as it, and the exit code is the command's:

    shard-reader local -- sh

The command gets the same variables, and none that begin with AWS_ from outside. SIGTERM is passed on to it; Ctrl-C reaches it from the terminal; a second of either kills it.`
}

// Run serves until it is told to stop.
func (l localCommand) Run(c cli.Console, s cli.Stop) error {
	if l.Shards < 1 || l.Shards > 1000 {
		return &cli.ExitError{Code: cli.Usage, Cause: fmt.Errorf("--shards is %d and must be between 1 and 1000", l.Shards)}
	}
	if l.Seed == 0 {
		l.Seed = rand.Uint64()
	}
	engine := localaws.New(localaws.Options{Shards: l.Shards, Seed: l.Seed})
	defer engine.Close() //nolint:errcheck // it returns nil
	listen := "127.0.0.1:8008"
	if len(l.Command) > 0 {
		listen = "127.0.0.1:0"
	}
	server, err := engine.Listen(cmp.Or(l.Listen, listen))
	if err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: fmt.Errorf("%w (choose another with --listen, or 127.0.0.1:0 for a free one)", err)}
	}
	defer server.Close() //nolint:errcheck // the process ends
	flags := cli.Defaults(server.URL)
	if l.Tables {
		if err := createTables(s.Drain, flags); err != nil {
			return err
		}
	}
	if l.Queue != "" {
		if _, err := sqs.NewFromConfig(engine.Config("local")).CreateQueue(s.Drain, &sqs.CreateQueueInput{QueueName: &l.Queue}); err != nil {
			return &cli.ExitError{Code: cli.Usage, Cause: fmt.Errorf("creating the queue --queue %s: %w", l.Queue, err)}
		}
	}
	fmt.Fprintf(c.Err, "A stand-in for DynamoDB, its streams and SQS, in memory, seed %d. It is a test double: never use it in production.\n", l.Seed)
	if len(l.Command) > 0 {
		return runOn(server.URL, l.Command, c, s)
	}
	fmt.Fprintln(c.Err, "Point any AWS client at it with these; Ctrl-C stops it and forgets everything.")
	for _, variable := range localEnvironment(server.URL) {
		fmt.Fprintln(c.Out, "export "+variable)
	}
	fmt.Fprintf(c.Err, "Then, for example: shard-reader run, and shard-reader verify\n")
	<-s.Drain.Done()
	return nil
}

// createTables makes the event table, the read model's and the control table.
func createTables(ctx context.Context, flags cli.Pipeline) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	pipeline, err := cli.Look{Pipeline: flags}.Service(ctx)
	if err != nil {
		return err
	}
	return pipeline.EnsureTables(ctx)
}
