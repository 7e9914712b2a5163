package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// event is one that the AWS command line appends.
const event = `{"pk":{"S":"by-hand"},"sk":{"S":"000000000001"},"type":{"S":"OrderPlaced"},"createdAt":{"S":"2026-01-02T03:04:05Z"},"customer":{"S":"Ada"},"amount":{"N":"12.50"}}`

// orders runs the orders example with its real programs against another server:
// a worker, traffic, an event that the AWS command line appends, and the proof.
func orders(ctx context.Context, endpoint string) error {
	folder, err := os.MkdirTemp("", "millrace-interop-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // it is temporary
	environment := append(os.Environ(), "AWS_ENDPOINT_URL="+endpoint, "AWS_REGION=eu-central-1", "AWS_DEFAULT_REGION=eu-central-1",
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, name, args...)
		c.Env, c.Stdout, c.Stderr = environment, os.Stdout, os.Stderr
		return c
	}
	if err := command("go", "build", "-buildvcs=false", "-trimpath", "-o", folder+string(filepath.Separator), "./cmd/shard-reader", "./examples/traffic").Run(); err != nil {
		return fmt.Errorf("building the programs: %w", err)
	}
	reader, file := filepath.Join(folder, "shard-reader"), "examples/orders/millrace.yaml"

	var log bytes.Buffer
	worker := command(reader, "run", "-c", file, "--create-tables")
	worker.Stderr = &log
	worker.Cancel = func() error { return worker.Process.Signal(os.Interrupt) }
	worker.WaitDelay = 30 * time.Second
	if err := worker.Start(); err != nil {
		return fmt.Errorf("starting a worker: %w", err)
	}
	proved := prove(command, reader, file, filepath.Join(folder, "traffic"))
	if err := worker.Process.Signal(os.Interrupt); err != nil {
		proved = errors.Join(proved, fmt.Errorf("stopping the worker: %w", err))
	}
	if err := worker.Wait(); err != nil || proved != nil {
		return errors.Join(proved, err, fmt.Errorf("the worker said:\n%s", log.Bytes()))
	}
	return nil
}

func prove(command func(string, ...string) *exec.Cmd, reader, file, traffic string) error {
	if err := command(traffic, "--events", "300", "--create-tables", "orders").Run(); err != nil {
		return fmt.Errorf("appending traffic: %w", err)
	}
	if _, err := exec.LookPath("aws"); err != nil {
		fmt.Println(`SKIPPED: the AWS command line is not installed (pip install awscli). It appended no event.`)
	} else if err := command("aws", "dynamodb", "put-item", "--table-name", "orders-events", "--condition-expression", "attribute_not_exists(pk)", "--item", event).Run(); err != nil {
		return fmt.Errorf("appending an event with the AWS command line: %w", err)
	}
	if err := command(reader, "verify", "-c", file, "--wait", "60s").Run(); err != nil {
		return fmt.Errorf("verifying: %w", err)
	}
	return nil
}
