package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"millrace/config"
	"millrace/event"
	"millrace/projection"
	"millrace/projection/ordersview"
	"millrace/service"
)

// Pipeline is the flags that say which tables a command works on: a
// configuration file, or the tables of the orders layout one by one.
type Pipeline struct {
	File    string `name:"config" short:"c" help:"Configuration file. Without one, the flags below describe a pipeline over the orders layout." placeholder:"FILE" type:"path"`
	Group   string `help:"Consumer group: part of every key, so that groups share a control table. Default: orders." placeholder:"GROUP"`
	Events  string `help:"Event table, of the orders layout: pk, and sk of 12 digits. Default: orders-events." placeholder:"TABLE"`
	View    string `help:"Table of the read model, with the partition key pk. Default: orders-view." placeholder:"TABLE"`
	Control string `help:"Control table: leases, checkpoints and blocked aggregates. Default: millrace." placeholder:"TABLE"`
	Fold    string `help:"Fold of the read model: orders, or orders-before-gifts, that of an earlier release, which lacks one type of event. Default: orders." enum:",orders,orders-before-gifts" default:"" placeholder:"FOLD"`

	EndpointURL string `name:"endpoint-url" help:"Address of DynamoDB and its streams. Default: the configuration's, or AWS." placeholder:"URL"`
	Region      string `help:"AWS Region. Default: the configuration's, or the environment's." placeholder:"REGION"`
	Local       bool   `help:"For the embedded engine, with --endpoint-url: fixed credentials, and no AWS file of this machine is read."`
}

// Defaults are the flags that nobody gave, on an embedded engine.
func Defaults(endpoint string) Pipeline {
	return Pipeline{
		Group: "orders", Events: "orders-events", View: "orders-view", Control: "millrace", Fold: "orders",
		EndpointURL: endpoint, Local: true,
	}
}

// Validate is asked by the parser of every command that embeds the flags.
func (f Pipeline) Validate() error {
	if f.File != "" && f.Group+f.Events+f.View+f.Control+f.Fold != "" {
		return errors.New("--config says all about the pipeline: leave --group, --events, --view, --control and --fold out")
	}
	switch {
	case f.EndpointURL == "" && f.Local:
		// Its fixed credentials would go to AWS.
		return errors.New("--local is for the embedded engine and needs its address: --endpoint-url http://127.0.0.1:8008 is where shard-reader local listens by default")
	case f.EndpointURL == "":
		return nil
	}
	address, err := url.Parse(f.EndpointURL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return fmt.Errorf("--endpoint-url is %q and must be an address like http://127.0.0.1:8008", f.EndpointURL)
	}
	return nil
}

// Config is the configuration file, or the flags, as the service takes them.
// What is wrong with a file is an error of usage.
func (f Pipeline) Config() (service.Config, error) {
	aws := service.AWS{Region: f.Region, Endpoint: f.EndpointURL, Local: f.Local}
	if f.File == "" {
		d := Defaults("")
		return service.Config{
			Group: cmp.Or(f.Group, d.Group), Events: cmp.Or(f.Events, d.Events), Control: cmp.Or(f.Control, d.Control), AWS: aws,
			Sinks: []service.Sink{{ReadModel: &service.ReadModel{Table: cmp.Or(f.View, d.View), Fold: cmp.Or(f.Fold, d.Fold)}}},
		}, nil
	}
	file, err := config.Load(f.File, os.LookupEnv)
	if err != nil {
		return service.Config{}, &ExitError{Usage, err}
	}
	c := service.FromFile(file)
	c.AWS = service.AWS{Region: cmp.Or(aws.Region, c.AWS.Region), Endpoint: cmp.Or(aws.Endpoint, c.AWS.Endpoint), Local: aws.Local}
	return c, nil
}

// Look is the flags of a command that looks at a pipeline, or redrives it: all
// of its sinks, or one.
type Look struct {
	Pipeline
	Sink string `help:"Only this sink of the pipeline. Default: all of them." placeholder:"SINK"`
}

// Service wires the pipeline, with the folds that are built in. What it cannot
// be wired with is an error of usage.
func (l Look) Service(ctx context.Context) (*service.Service, error) {
	c, err := l.Config()
	if err != nil {
		return nil, err
	}
	return l.Wire(ctx, c)
}

// Wire is Service for a configuration that more flags went into.
func (l Look) Wire(ctx context.Context, c service.Config) (*service.Service, error) {
	s, err := Wire(ctx, c)
	if err != nil || l.Sink == "" {
		return s, err
	}
	if s, err = s.Only(l.Sink); err != nil {
		return nil, &ExitError{Usage, fmt.Errorf("--sink: %w", err)}
	}
	return s, nil
}

// Wire wires a worker's pipeline, as Look.Wire does.
func Wire(ctx context.Context, c service.Config) (*service.Service, error) {
	folds, err := Registry()
	if err != nil {
		return nil, err
	}
	s, err := service.New(ctx, c, folds)
	if err != nil {
		return nil, &ExitError{Usage, err}
	}
	return s, nil
}

// BeforeGifts names the fold that lacks a type of event.
const BeforeGifts = "orders-before-gifts"

// Registry is the folds that are built in.
func Registry() (service.Registry, error) {
	orders, err := ordersview.Projection()
	if err != nil {
		return service.Registry{}, err
	}
	earlier, err := ordersview.BeforeGifts()
	return service.Registry{Folds: map[string]projection.Projection{"orders": orders, BeforeGifts: earlier}}, err
}

// Configured gives what only an operator can put right its exit code: a table
// that is not there, a permission that is not given.
func Configured(err error) error {
	switch event.ClassOf(err) {
	case event.Permanent, event.Unavailable, event.Foreign:
		return &ExitError{Usage, err}
	default:
		return err
	}
}

// Deadline is the flag that ends a command which takes too long.
type Deadline struct {
	Timeout time.Duration `help:"Give up after this time. Default: never."`
}

// Validate is asked by the parser of every command that embeds the flag.
func (d Deadline) Validate() error {
	if d.Timeout < 0 {
		return fmt.Errorf("--timeout is %v and must not be negative", d.Timeout)
	}
	return nil
}

// Within bounds a context.
func (d Deadline) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d.Timeout)
}

// Told says of an error that the deadline was the reason, if it was; what is what
// was not finished.
func (d Deadline) Told(ctx context.Context, err error, what string) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("gave up after --timeout %v, %s: %w", d.Timeout, what, err)
	}
	return Configured(err)
}
