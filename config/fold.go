package config

// Fold is a file of CEL rules: what each event type does to the item of a
// read model.
type Fold struct {
	Path   string
	Ignore []string // event types that have no effect
	On     []Rule   // in the order of the file
	lines  map[string]int
}

// Rule is what one event type does. Expressions see event, the event's
// attributes, and state, the item before it.
type Rule struct {
	Type    string
	Require string            // an expression; where it is false the event cannot be applied
	Set     map[string]string // by attribute: an expression
	Remove  []string
	Delete  bool
}

// Line is where a key stands, such as on.OrderPlaced.set.total.
func (f *Fold) Line(path string) int {
	r := reader{lines: f.lines}
	return r.line(path)
}

func declareFold(f *Fold) []field {
	return []field{
		texts("ignore", &f.Ignore, "Event types that move the position and change nothing. A type that stands neither here nor under on blocks its aggregate."),
		keyed("on", &f.On, "What each event type does.", func(r *Rule, eventType string) []field {
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
