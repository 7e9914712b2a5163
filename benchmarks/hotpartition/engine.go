package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/awsclient"
	"millrace/internal/jitter"
	"millrace/internal/localaws"
)

// served is what the engine's process says when its backlogs are written.
type served struct {
	URL string `json:"url"`
}

// serveEngine fills the backlogs, says where it listens and serves until in
// ends, as it does when the benchmark is killed.
func serveEngine(ctx context.Context, in io.Reader, out io.Writer, backlogs []backlog) error {
	engine := localaws.New(localaws.Options{
		Seed: seed, Shards: 1,
		Readers:    -1, // one run after the other reads the shard, within the second that counts as at the same time
		RollAfter:  -1,
		EmptyPages: -1,
	})
	err := serve(ctx, engine, in, out, backlogs)
	return errors.Join(err, engine.Close())
}

func serve(ctx context.Context, engine *localaws.Engine, in io.Reader, out io.Writer, backlogs []backlog) error {
	client := dynamodb.NewFromConfig(engine.Config("hotpartition/fill"))
	for _, b := range backlogs {
		store, err := eventStore(client, b)
		if err != nil {
			return err
		}
		if err := store.EnsureTable(ctx); err != nil {
			return err
		}
		if err := b.fill(ctx, store); err != nil {
			return err
		}
	}
	server, err := engine.Listen("127.0.0.1:0") //nolint:contextcheck // it opens a port and returns
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(served{URL: server.URL}); err != nil {
		return errors.Join(fmt.Errorf("saying where the engine listens: %w", err), server.Close())
	}
	_, err = io.Copy(io.Discard, in)
	if err != nil {
		err = fmt.Errorf("waiting for the end of the benchmark: %w", err)
	}
	return errors.Join(err, server.Close())
}

func eventStore(client *dynamodb.Client, b backlog) (*eventstore.Store, error) {
	return eventstore.New(eventstore.Options{
		Client: client, Table: b.table(), Layout: event.Orders(), Jitter: jitter.Source{Seed: seed},
	})
}

// remote is an engine with its backlogs, as the measuring side sees it.
type remote struct {
	url string
	pid int          // of its process; 0 when it has none of its own
	end func() error // ends the engine and waits for it
}

// config is the product's own configuration of the SDK, for one application.
func (r remote) config(ctx context.Context, app string) (aws.Config, error) {
	return awsclient.New(ctx, awsclient.Options{Endpoint: r.url, AppID: app, Local: true})
}

// startEngine runs this program once more, as the engine.
func startEngine(ctx context.Context, o options) (remote, error) {
	const op = "starting the engine's process"
	program, err := os.Executable()
	if err != nil {
		return remote{}, fmt.Errorf(op+": %w", err)
	}
	arguments := []string{
		"engine", "--events", strconv.Itoa(o.Events), "--size", strconv.Itoa(o.Size), "--aggregates", strconv.Itoa(o.Aggregates),
	}
	for _, w := range o.Workload {
		arguments = append(arguments, "--workload", w)
	}
	command := exec.CommandContext(ctx, program, arguments...) //nolint:gosec // the program is this one
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return remote{}, fmt.Errorf(op+": %w", err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return remote{}, fmt.Errorf(op+": %w", err)
	}
	if err := command.Start(); err != nil {
		return remote{}, fmt.Errorf(op+": %w", err)
	}
	end := func() error {
		closed := in.Close()
		if err := errors.Join(command.Wait(), closed); err != nil {
			return fmt.Errorf("ending the engine's process: %w", err)
		}
		return nil
	}
	var ready served
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		return remote{}, errors.Join(fmt.Errorf("waiting for the engine's backlogs: %w", err), end())
	}
	return remote{url: ready.URL, pid: command.Process.Pid, end: end}, nil
}
