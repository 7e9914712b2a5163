package cel

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/cel"

	"millrace/event"
	"millrace/projection"
)

// Rules is a fold as expressions.
type Rules struct {
	// Initial is the item before version 1: for each attribute an expression
	// over aggregate alone.
	Initial map[string]string
	// Schema is the newest version of an event's shape that the rules know; 0
	// means 1.
	Schema uint64
	// Ignore lists event types that move the position and change nothing.
	Ignore []string
	// On says what each other event type does. A type that is in neither is
	// refused: its aggregate is blocked.
	On []Rule
}

// Rule is what one event type does.
type Rule struct {
	Type    string
	Require string            // where it is false the event cannot be applied; empty: nothing is asked
	Set     map[string]string // by attribute; all see the item before the event
	Remove  []string          // attributes
	Delete  bool              // the event ends the aggregate
}

// rule is one that is compiled.
type rule struct {
	require *expression
	set     map[string]*expression
	remove  []string
	delete  bool
}

// errRefused is a rule's require that is false.
var errRefused = errors.New("what it requires does not hold")

// New compiles a fold. The error joins a Problem for each expression that
// cannot be used.
func New(r Rules) (projection.Projection, error) {
	env, err := environment(true)
	if err != nil {
		return nil, err
	}
	c := compiler{env: env}
	f := fold{rules: map[string]rule{}, owned: map[string]bool{}}
	initial := c.all("initial", r.Initial)
	for _, one := range r.On {
		f.rules[one.Type] = c.rule(one)
		for attribute := range one.Set {
			f.owned[attribute] = true
		}
		for _, attribute := range one.Remove {
			f.owned[attribute] = true
		}
	}
	for attribute := range initial {
		f.owned[attribute] = true
	}
	for attribute := range f.owned {
		if attribute == projection.DeletedAt {
			c.fail("on", "attribute %s is not a fold's to write; use delete", attribute)
		}
	}
	for _, ignored := range r.Ignore {
		if _, both := f.rules[ignored]; both {
			c.fail("ignore", "%s has a rule under on as well", ignored)
		}
	}
	if err := errors.Join(c.problems...); err != nil {
		return nil, err
	}
	f.initial = initial
	return projection.New(projection.Fold[event.Item]{Apply: f.apply, Encode: encode, Decode: f.decode, Ignore: r.Ignore, Schema: r.Schema})
}

type compiler struct {
	env      *cel.Env
	problems []error
}

func (c *compiler) fail(place, format string, args ...any) {
	c.problems = append(c.problems, &Problem{place, fmt.Sprintf(format, args...)})
}

func (c *compiler) one(place, source string, want *cel.Type) *expression {
	e, err := compile(c.env, place, source, want)
	if err != nil {
		c.problems = append(c.problems, err)
	}
	return e
}

func (c *compiler) all(place string, sources map[string]string) map[string]*expression {
	out := make(map[string]*expression, len(sources))
	for _, attribute := range slices.Sorted(maps.Keys(sources)) {
		out[attribute] = c.one(place+"."+attribute, sources[attribute], nil)
	}
	return out
}

func (c *compiler) rule(r Rule) rule {
	place := "on." + r.Type
	compiled := rule{set: c.all(place+".set", r.Set), remove: r.Remove, delete: r.Delete}
	if r.Require != "" {
		compiled.require = c.one(place+".require", r.Require, cel.BoolType)
	}
	if r.Delete && len(r.Set)+len(r.Remove) > 0 {
		c.fail(place+".delete", "a rule that deletes sets and removes nothing")
	}
	for _, attribute := range r.Remove {
		if _, set := r.Set[attribute]; set {
			c.fail(place+".remove", "%s is set by the same rule", attribute)
		}
	}
	return compiled
}

// fold is the rules of one read model. Its state is the attributes that it
// owns. One without any is the same as that before version 1, since a stored
// item cannot tell the two apart.
type fold struct {
	rules   map[string]rule
	initial map[string]*expression
	owned   map[string]bool
}

func (f fold) apply(state event.Item, e event.Event) (event.Item, error) {
	kind, err := e.Type()
	if err != nil {
		return state, err
	}
	r, known := f.rules[kind]
	if !known {
		return state, projection.UnknownType(e)
	}
	s := scope{event: e, state: state}
	if len(state) == 0 {
		if s.state, err = evaluate(f.initial, scope{event: e}, event.Item{}); err != nil {
			return state, err
		}
	}
	if r.require != nil {
		ok, err := r.require.holds(s)
		if err != nil {
			return state, err
		}
		if !ok {
			return state, &Failure{r.require.place, errRefused}
		}
	}
	if r.delete {
		return state, projection.ErrDeleted
	}
	next := make(event.Item, len(s.state)+len(r.set))
	maps.Copy(next, s.state)
	if _, err := evaluate(r.set, s, next); err != nil {
		return state, err
	}
	for _, attribute := range r.remove {
		delete(next, attribute)
	}
	return next, nil
}

// evaluate sets attributes of an item, each from what the scope shows.
func evaluate(set map[string]*expression, s scope, into event.Item) (event.Item, error) {
	for attribute, e := range set {
		v, err := e.eval(s)
		if err != nil {
			return nil, err
		}
		if into[attribute], err = fromCEL(v); err != nil {
			return nil, &Failure{e.place, err}
		}
	}
	return into, nil
}

func encode(state event.Item) (event.Item, error) { return state, nil }

func (f fold) decode(item event.Item) (event.Item, error) {
	var state event.Item
	for name, v := range item {
		if f.owned[name] {
			if state == nil {
				state = event.Item{}
			}
			state[name] = v
		}
	}
	return state, nil
}

// Filter is a compiled expression that chooses among events.
type Filter struct{ e *expression }

// NewFilter compiles a filter. Its place is the one that errors name.
func NewFilter(place, source string) (*Filter, error) {
	env, err := environment(false)
	if err != nil {
		return nil, err
	}
	e, err := compile(env, place, source, cel.BoolType)
	if err != nil {
		return nil, err
	}
	return &Filter{e}, nil
}

// Passes reports whether an event passes. Its errors are permanent. It is safe
// for concurrent use.
func (f *Filter) Passes(e event.Event) (bool, error) {
	ok, err := f.e.holds(scope{event: e})
	if err != nil {
		return false, &event.Error{Class: event.Permanent, Op: "filtering", Err: err}
	}
	return ok, nil
}
