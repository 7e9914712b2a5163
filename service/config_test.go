package service

import (
	"strings"
	"testing"
	"time"

	"millrace/projection"
	"millrace/projection/ordersview"
)

func good(t *testing.T) (Config, Registry) {
	t.Helper()
	orders, err := ordersview.Projection()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Group: "g", Events: "e", Sinks: []Sink{{ReadModel: &ReadModel{Table: "v", Fold: "orders"}}}, AWS: AWS{Local: true}},
		Registry{Folds: map[string]projection.Projection{"orders": orders, "returns": orders}}
}

func TestBadConfig(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*Config)
		want  []string
	}{
		{"no group", func(c *Config) { c.Group = "" }, []string{"group is required"}},
		{"no event table", func(c *Config) { c.Events = "" }, []string{"events is required"}},
		{"no view", func(c *Config) { c.Sinks[0].ReadModel.Table = "" }, []string{"sink 1: the read model's table is required", "a name is required"}},
		{"no fold", func(c *Config) { c.Sinks[0].ReadModel.Fold = "" }, []string{"fold or projection is required"}},
		{"unknown fold", func(c *Config) { c.Sinks[0].ReadModel.Fold = "ordres" }, []string{`fold "ordres" is not in the registry, which has [orders returns]`}},
		{"view in the event table", func(c *Config) { c.Sinks[0].ReadModel.Table = c.Events }, []string{`sink e: events and the read model are the same table "e"`}},
		{"control in the event table", func(c *Config) { c.Control = c.Events }, []string{`events and control are the same table "e"`}},
		{"control in the view", func(c *Config) { c.Control = "v" }, []string{`sink v: the read model and control are the same table "v"`}},
		{"control's default taken", func(c *Config) { c.Sinks[0].ReadModel.Table = "millrace" }, []string{`sink millrace: the read model and control are the same table "millrace"`}},
		{"version", func(c *Config) { c.Sinks[0].Version = -1 }, []string{"version is negative"}},
		{"lease", func(c *Config) { c.Lease = -1 }, []string{"lease is negative"}},
		{"drain", func(c *Config) { c.Drain = -1 }, []string{"drain is negative"}},
		{"parallel", func(c *Config) { c.Sinks[0].Parallel = -1 }, []string{"parallel is negative"}},
		{"buffer bytes", func(c *Config) { c.BufferBytes = -1 }, []string{"bufferBytes is negative"}},
		{"buffer entries", func(c *Config) { c.BufferEntries = -1 }, []string{"bufferEntries is negative"}},
		{"no sink", func(c *Config) { c.Sinks = nil }, []string{"a sink is required"}},
		{"a sink that is nothing", func(c *Config) { c.Sinks[0] = Sink{Name: "x"} }, []string{"sink x: a read model or a sink of the registry is required"}},
		{"a sink that is both", func(c *Config) { c.Sinks[0].Made = &Made{By: "mail"} }, []string{"only one of the two", "a name is required"}},
		{"a sink that nobody makes", func(c *Config) { c.Sinks[0] = Sink{Name: "x", Made: &Made{By: "mail"}} }, []string{`sink x: "mail" is not in the registry, which has []`}},
		{"two of one name", func(c *Config) { c.Sinks = append(c.Sinks, c.Sinks[0]) }, []string{`two sinks are named "v"`, "keep their positions in the same attribute"}},
		{"the name of all", func(c *Config) { c.Sinks[0].Name = "*" }, []string{`"*" stands for every sink`}},
		{"a fold that begins in the middle", func(c *Config) { c.Sinks[0].FromStart = true }, []string{"it cannot begin in the middle"}},
		{"all at once", func(c *Config) { *c = Config{} }, []string{"group is required", "events is required", "a sink is required"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, r := good(t)
			tc.spoil(&c)
			s, err := New(t.Context(), c, r)
			if err == nil {
				t.Fatalf("accepted: %+v", s.config)
			}
			if got := strings.Split(err.Error(), "\n"); len(got) != len(tc.want) {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("it says %q, want %q", err, want)
				}
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	c, r := good(t)
	s, err := New(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.config; got.Control != "millrace" || got.Sinks[0].Name != "v" || got.Sinks[0].Version != 1 || got.Worker == "" {
		t.Errorf("%+v", got)
	}
	if o := s.config.options(); o.Group != "g" || o.Worker != s.config.Worker {
		t.Errorf("%+v", o)
	}
	c.Lease, c.Drain, c.ReadsPerSecond, c.Latest = time.Minute, time.Second, -1, true
	if o := c.options(); o.Lease != time.Minute || o.Drain != time.Second || o.ReadsPerSecond != -1 || o.Start != c.start() {
		t.Errorf("%+v", o)
	}
}

// TestWorkerIDs: an id is that of one run of one process; an earlier run with
// the same host and process number was another worker.
func TestWorkerIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		seen[workerID()] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d ids of 1000 are distinct", len(seen))
	}
}
