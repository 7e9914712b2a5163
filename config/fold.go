package config

import (
	"errors"

	"millrace/projection"
	"millrace/projection/cel"
)

// Fold is a file of CEL rules, not compiled yet.
type Fold struct {
	Path  string
	Rules cel.Rules
	lines map[string]int
}

// Projection compiles the rules. The error names file and line of each
// expression that cannot be used.
func (f *Fold) Projection() (projection.Projection, error) {
	p, err := cel.New(f.Rules)
	if err == nil {
		return p, nil
	}
	r := reader{problems: problems{file: f.Path}, lines: f.lines}
	for _, one := range flatten(err) {
		r.expression(one)
	}
	return nil, r.err()
}

// expression notes an expression that does not compile.
func (r *reader) expression(err error) {
	var problem *cel.Problem
	if !errors.As(err, &problem) {
		r.add(0, "", "%v", err)
		return
	}
	r.add(r.line(problem.Place), problem.Place, "%s", problem.Text)
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func declareFold(f *Fold) []field {
	rules := &f.Rules
	return []field{
		mapping("initial", &rules.Initial, "For each attribute of the item an expression of its value before version 1."),
		number("schema", &rules.Schema, 1, 1_000_000, "The newest schema version that the rules know; 1 without the key. An event of a newer one blocks its aggregate, with class schema."),
		texts("ignore", &rules.Ignore, "Event types that move the position and change nothing. A type that stands neither here nor under on blocks its aggregate."),
		keyed("on", &rules.On, "What each event type does. Expressions see event and state (the attributes of the event and of the item), type, version and aggregate.", func(r *cel.Rule, eventType string) []field {
			r.Type = eventType
			return []field{
				text("require", &r.Require, "An expression that must be true, else the event cannot be applied and blocks its aggregate."),
				mapping("set", &r.Set, "For each attribute of the item the expression of its new value, all computed from the item before the event."),
				texts("remove", &r.Remove, "Attributes to take out of the item."),
				flag("delete", &r.Delete, "The event ends the aggregate: the item keeps its key, the position and the time."),
			}
		}).required(),
	}
}
