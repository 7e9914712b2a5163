package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"millrace/event"
	"millrace/failure"
)

// check looks at what no single key can be wrong in.
func (c *Config) check(r *reader) {
	bad := func(path, format string, args ...any) { r.add(r.line(path), path, format, args...) }
	if most := c.Lease.Duration * 3 / 10; c.Lease.Renew > most {
		bad("lease.renew", "%s is more than 0.3 of lease.duration, which is %s: a lease would not outlive a lost renewal", showDuration(c.Lease.Renew), showDuration(most))
	}
	if c.Failure.MaxAge < c.Failure.RetryFor {
		bad("failure.max_age", "%s is below failure.retry_for, which is %s", showDuration(c.Failure.MaxAge), showDuration(c.Failure.RetryFor))
	}
	if c.AWS.Endpoint != "" {
		address, err := url.Parse(c.AWS.Endpoint)
		if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
			bad("aws.endpoint", "%q is no address such as http://127.0.0.1:8008", c.AWS.Endpoint)
		}
	}
	if c.HTTP.Listen != "" {
		if _, _, err := net.SplitHostPort(c.HTTP.Listen); err != nil {
			bad("http.listen", "%q is no address and port such as 127.0.0.1:9464", c.HTTP.Listen)
		}
	}
	if len(c.Pipelines) == 0 {
		bad("pipelines", "at least one is needed")
	}
	if len(c.Pipelines) > 1 {
		bad("pipelines[1]", "a process runs one pipeline today; give this one a file and a process of its own")
	}
	names, tables := map[string]bool{}, map[string]bool{}
	for i := range c.Pipelines {
		p, path := &c.Pipelines[i], fmt.Sprintf("pipelines[%d]", i)
		if names[p.Name] {
			bad(path+".name", "another pipeline is called %q", p.Name)
		}
		if tables[p.Stream.Table] {
			bad(path+".stream.table", "another pipeline of this group reads %q: give it this one's sinks, or this one another group", p.Stream.Table)
		}
		names[p.Name], tables[p.Stream.Table] = true, true
		if p.Stream.Table == c.Control.Table {
			bad(path+".stream.table", "%q is the control table", p.Stream.Table)
		}
		p.check(path, c, bad)
	}
}

func (p *Pipeline) check(path string, c *Config, bad func(path, format string, args ...any)) {
	if p.Layout.Preset == "item" {
		bad(path+".layout.preset", "tables without versions are not supported yet; use orders, bank or maintenance, or an own layout over one of them")
		return
	}
	layout := p.EventLayout()
	if layout.Aggregate == layout.Version {
		bad(path+".layout", "aggregate and version are both attribute %q", layout.Version)
	}
	if layout.Prefix != "" && layout.Digits == 0 {
		bad(path+".layout.version.prefix", "a version that is a number has no prefix")
	}
	if (layout.Only.Attribute == "") != (layout.Only.Equals == "") {
		bad(path+".layout.only", "attribute and equals go together")
	}
	if len(p.Sinks) == 0 {
		bad(path+".sinks", "at least one is needed")
	}
	names := map[string]bool{}
	for i := range p.Sinks {
		s, at := &p.Sinks[i], fmt.Sprintf("%s.sinks[%d]", path, i)
		if names[s.Name] {
			bad(at+".name", "another sink of this pipeline is called %q", s.Name)
		}
		names[s.Name] = true
		if s.Name == failure.EverySink {
			bad(at+".name", "%q stands for every sink; choose another", s.Name)
		}
		s.check(at, p, c, bad)
		for j, other := range p.Sinks[:i] {
			if s.ReadModel.Given && s.ReadModel.Table == other.ReadModel.Table && s.ReadModel.Position == other.ReadModel.Position {
				bad(at+".readmodel.table", "sinks[%d] keeps its positions in the same attribute of %q: give this one another position, or another table", j, s.ReadModel.Table)
			}
		}
	}
}

func (s *Sink) check(path string, p *Pipeline, c *Config, bad func(path, format string, args ...any)) {
	for _, of := range []struct {
		name  string
		given bool
	}{{"readmodel", s.ReadModel.Given}, {"go", s.Go.Given}} {
		if of.name == s.Type && !of.given {
			bad(path, "the block %s is missing: it holds the settings of type %s", of.name, of.name)
		}
		if of.name != s.Type && of.given {
			bad(path+"."+of.name, "the sink is of type %s: leave this block out, or change the type", s.Type)
		}
	}
	fromStart := s.History == "from-start"
	switch {
	case fromStart && s.Type == "readmodel":
		bad(path+".history", "a read model is the fold of all events and cannot begin in the middle: leave the key out")
	case fromStart && p.EventLayout().Time == "":
		bad(path+".history", "from-start goes by the events' time, and the layout has none: give layout.time")
	}
	if s.Type == "go" && s.Filter != "" {
		bad(path+".filter", "a sink of type go chooses among events by itself: leave the key out")
	}
	if s.Type == "readmodel" && s.ReadModel.Given {
		s.ReadModel.check(path+".readmodel", p, c, bad)
	}
}

func (m *ReadModel) check(path string, p *Pipeline, c *Config, bad func(path, format string, args ...any)) {
	switch {
	case (m.Fold.CEL == "") == (m.Fold.Go == ""):
		bad(path+".fold", "give one of cel (a file of rules) and go (a fold in the program)")
	case m.Table == c.Control.Table:
		bad(path+".table", "%q is the control table", m.Table)
	}
	if m.Key == nil {
		m.Key = []Pair{{"pk", "{aggregate}"}}
	}
	mentions := false
	for _, part := range m.Key {
		if part.Key == "" || part.Text == "" {
			bad(path+".key", "an attribute's name and its text must not be empty")
		}
		mentions = mentions || strings.Contains(part.Text, "{aggregate}")
	}
	if !mentions {
		bad(path+".key", "no attribute's text has {aggregate}: all aggregates would share one item")
	}
	if len(m.Key) > 2 {
		bad(path+".key", "a table's key has at most two attributes")
	}
	if m.Table == p.Stream.Table {
		m.checkOwn(path, p, bad)
	}
}

// checkOwn looks at a read model in the event table itself: its items must be
// no events, or each write would feed itself.
func (m *ReadModel) checkOwn(path string, p *Pipeline, bad func(path, format string, args ...any)) {
	layout, item := p.EventLayout(), event.Item{}
	for _, part := range m.Key {
		item[part.Key] = event.String(strings.ReplaceAll(part.Text, "{aggregate}", "x"))
	}
	if _, isEvent, err := layout.FromItem(item); !isEvent && err == nil {
		return
	}
	advice := "give the read model a table of its own"
	if layout.Prefix != "" {
		advice = fmt.Sprintf("give its key an attribute %s whose text does not begin with %s", layout.Version, layout.Prefix)
	}
	bad(path+".table", "the read model is in the event table, and its items would be taken for events; %s", advice)
}

// EventLayout is the preset with what overrides it.
func (p *Pipeline) EventLayout() *event.Layout {
	layout := event.Layout{}
	for _, known := range presets() {
		if known.name == p.Layout.Preset {
			layout = known.layout
		}
	}
	for _, over := range []struct {
		to *string
		by string
	}{
		{&layout.Aggregate, p.Layout.Aggregate},
		{&layout.Version, p.Layout.Version.Attribute},
		{&layout.Prefix, p.Layout.Version.Prefix},
		{&layout.Type, p.Layout.Type},
		{&layout.Time, p.Layout.Time},
		{&layout.Schema, p.Layout.Schema},
		{&layout.Only.Attribute, p.Layout.Only.Attribute},
		{&layout.Only.Equals, p.Layout.Only.Equals},
	} {
		if over.by != "" {
			*over.to = over.by
		}
	}
	if p.Layout.Version.Digits != unsetDigits {
		layout.Digits = p.Layout.Version.Digits
	}
	return &layout
}
