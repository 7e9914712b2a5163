package service

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/rs/zerolog"

	"millrace/event"
	"millrace/failure"
	"millrace/internal/jitter"
	"millrace/projection"
	"millrace/sinks"
	"millrace/sinks/position"
	"millrace/sinks/readmodel"
)

// Sink is one sink of a pipeline: a read model, or one that the registry makes.
type Sink struct {
	// Name names the sink in the group, and Version is raised by a rebuild: both
	// are part of its positions' keys. Defaults: the read model's table, 1.
	Name    string
	Version int
	// Parallel is how many runs are applied at a time. Default 64.
	Parallel int
	// FromStart has an aggregate that the sink has never seen begin with its
	// first version that is younger than the group, and not with version 1. Only
	// sinks that keep their positions in the control table can.
	FromStart bool

	ReadModel *ReadModel // or
	Made      *Made
}

// ReadModel is a DynamoDB table with one item for each aggregate.
type ReadModel struct {
	// Table is the event table itself where the layout tells the two apart.
	// Required.
	Table string
	// Key makes the item's key of the aggregate. Default: pk is the aggregate.
	Key []readmodel.KeyPart
	// Position is the attribute of the last version in effect. Default
	// lastProcessedVersion.
	Position string
	// Fold names the projection in the registry; Projection is one by itself. One
	// of them is required.
	Fold       string
	Projection projection.Projection
	// Passes chooses among an aggregate's events; those that do not pass move the
	// position and have no effect. Default: all pass.
	Passes func(event.Event) (bool, error)
}

// Made is a sink that the program makes.
type Made struct {
	By       string // its name in the registry. Required
	Settings map[string]string
}

// Registry holds what is written in Go, by the names that a Config uses.
type Registry struct {
	Folds map[string]projection.Projection
	Sinks map[string]Maker
}

// Maker makes a sink, for each worker and each program that redrives. Its errors
// are of the configuration.
type Maker func(SinkOptions) (sinks.Sink, error)

// SinkOptions is what a maker is given.
type SinkOptions struct {
	Identity sinks.Identity    // whose positions the sink keeps
	Settings map[string]string // the configuration's
	// Positions keeps positions in the control table, for targets that cannot.
	Positions *position.Store
	Log       zerolog.Logger
}

// withDefaults is the sink with what was left out, as part of a configuration.
func (s Sink) withDefaults(c Config, r Registry) (Sink, error) {
	var errs []error
	switch {
	case (s.ReadModel == nil) == (s.Made == nil):
		errs = append(errs, errors.New("a read model or a sink of the registry is required, and only one of the two"))
	case s.ReadModel != nil:
		m, err := s.ReadModel.withDefaults(c, r)
		s.ReadModel = &m
		errs = append(errs, err)
		if s.Name == "" {
			s.Name = m.Table
		}
		if s.FromStart {
			errs = append(errs, errors.New("a read model is the fold of all events: it cannot begin in the middle"))
		}
	case r.Sinks[s.Made.By] == nil:
		errs = append(errs, fmt.Errorf("%q is not in the registry, which has %v", s.Made.By, names(r.Sinks)))
	}
	if s.Name == "" {
		errs = append(errs, errors.New("a name is required"))
	}
	if s.Name == failure.EverySink {
		errs = append(errs, fmt.Errorf("%q stands for every sink; no sink can be called so", s.Name))
	}
	if s.Version < 0 {
		errs = append(errs, errors.New("version is negative"))
	}
	if s.Parallel < 0 {
		errs = append(errs, errors.New("parallel is negative"))
	}
	if s.Version == 0 {
		s.Version = 1
	}
	return s, errors.Join(errs...)
}

func (m ReadModel) withDefaults(c Config, r Registry) (ReadModel, error) {
	var errs []error
	if m.Key == nil {
		m.Key = []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}}
	}
	switch {
	case m.Table == "":
		errs = append(errs, errors.New("the read model's table is required"))
	case m.Table == c.Control:
		errs = append(errs, fmt.Errorf("the read model and control are the same table %q: each needs one of its own", m.Table))
	case m.Table == c.Events && m.feeds(c.Layout):
		errs = append(errs, fmt.Errorf("events and the read model are the same table %q, and the read model's items would be taken for events: give it a table, or a key that the layout takes for no event", m.Table))
	}
	fold, ok := r.Folds[m.Fold]
	switch {
	case m.Fold == "" && m.Projection == nil, m.Fold != "" && m.Projection != nil:
		errs = append(errs, errors.New("fold or projection is required, and only one of the two"))
	case m.Projection != nil:
		fold = m.Projection
	case !ok:
		errs = append(errs, fmt.Errorf("fold %q is not in the registry, which has %v", m.Fold, names(r.Folds)))
	}
	if m.Passes != nil && fold != nil {
		fold = projection.Filter(fold, m.Passes)
	}
	m.Projection, m.Passes = fold, nil
	return m, errors.Join(errs...)
}

// feeds reports whether the read model's items could be events.
func (m ReadModel) feeds(layout *event.Layout) bool {
	item := event.Item{}
	for _, part := range m.Key {
		item[part.Attribute] = event.String(strings.ReplaceAll(part.Template, "{aggregate}", "x"))
	}
	_, isEvent, err := layout.FromItem(item)
	return isEvent || err != nil
}

// target is a sink that is wired.
type target struct {
	config Sink
	scope  failure.Scope   // of its markers
	view   *readmodel.Sink // nil: it keeps no items that could be looked at
	// open makes the sink anew, for a worker, which closes it. shared is the one
	// that redrives use.
	open, shared func() (sinks.Sink, error)
}

// target wires one sink. It calls nobody.
func (s *Service) target(c Sink, r Registry) (*target, error) {
	id := sinks.Identity{Group: s.config.Group, Source: s.config.Events, Sink: c.Name, Version: c.Version}
	t := &target{config: c, scope: failure.Scope{Group: id.Group, Table: id.Source, Sink: id.Sink, SinkVersion: id.Version}}
	client := dynamodb.NewFromConfig(s.aws)
	if m := c.ReadModel; m != nil {
		options := readmodel.Options{
			Client: client, Table: m.Table, Key: m.Key, Position: m.Position, Identity: id, Projection: m.Projection, Jitter: jitter.New(),
		}
		var err error
		t.view, err = readmodel.New(options)
		t.open = func() (sinks.Sink, error) { return readmodel.New(options) }
		t.shared = func() (sinks.Sink, error) { return t.view, nil }
		return t, err
	}
	positions, err := position.New(position.Options{Client: client, Table: s.config.Control})
	t.open = func() (sinks.Sink, error) {
		made, err := r.Sinks[c.Made.By](SinkOptions{Identity: id, Settings: c.Made.Settings, Positions: positions, Log: s.config.Log})
		if err != nil {
			return nil, &event.Error{Class: event.Permanent, Op: "making sink " + c.Name, Err: err}
		}
		return made, nil
	}
	t.shared = sync.OnceValues(t.open)
	return t, err
}
