package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"millrace/config"
	"millrace/internal/cli"
	"millrace/telemetry"
)

type healthcheckCommand struct {
	File    string        `name:"config" short:"c" help:"Configuration file, whose http.listen is asked." placeholder:"FILE" type:"path"`
	HTTP    string        `name:"http" help:"Address of the worker's port, instead." placeholder:"ADDRESS"`
	Timeout time.Duration `help:"No answer within this time is no health." default:"3s"`
}

// Help goes on where the verb's one line ends.
func (healthcheckCommand) Help() string {
	return `For an orchestrator, in an image that has no other program. The question is whether the worker's own loops go on: an outage of a sink, a table or a queue is no reason to restart it. Exit code 5, and the reason on stderr, when they do not, or when nobody answers.`
}

// address is where to ask. An address that listens everywhere is asked here.
func (h healthcheckCommand) address() (string, error) {
	address := h.HTTP
	switch {
	case (h.File == "") == (h.HTTP == ""):
		return "", errors.New("say where to ask: --config or --http, and only one of the two")
	case h.File != "":
		file, err := config.Load(h.File, os.LookupEnv)
		if err != nil {
			return "", err
		}
		if address = file.HTTP.Listen; address == "" {
			return "", fmt.Errorf("%s has no http.listen: a worker with this file has no port to ask", h.File)
		}
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("%q is no address and port such as 127.0.0.1:9464", address)
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Run asks once.
func (h healthcheckCommand) Run(s cli.Stop) error {
	address, err := h.address()
	if err != nil {
		return &cli.ExitError{Code: cli.Usage, Cause: err}
	}
	ctx, cancel := context.WithTimeout(s.Drain, h.Timeout)
	defer cancel()
	health, err := ask(ctx, address)
	switch {
	case err != nil:
		return &cli.ExitError{Code: cli.Unhealthy, Cause: fmt.Errorf("asking the worker on %s: %w", address, err)}
	case !health.OK:
		return &cli.ExitError{Code: cli.Unhealthy, Cause: errors.New(strings.Join(health.Reasons, "; "))}
	}
	return nil
}

func ask(ctx context.Context, address string) (telemetry.Health, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return telemetry.Health{}, err //nolint:wrapcheck // the caller names the address
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return telemetry.Health{}, err //nolint:wrapcheck // likewise
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	var health telemetry.Health
	if err := json.NewDecoder(response.Body).Decode(&health); err != nil || health.Schema != telemetry.HealthSchema {
		return health, fmt.Errorf("something else answers there (%s)", response.Status)
	}
	return health, nil
}
