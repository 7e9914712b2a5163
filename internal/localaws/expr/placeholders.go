package expr

import (
	"maps"
	"slices"
	"strings"

	"millrace/event"
)

// Placeholders are the ExpressionAttributeNames and ExpressionAttributeValues
// of one request. They remember what the request's expressions used, so one
// value must be given to all of them. Not safe for concurrent use.
type Placeholders struct {
	names  map[string]string
	values event.Item
	used   map[string]bool
	parsed bool
	err    error
}

// NewPlaceholders checks and normalises the placeholders of one request:
// names are keyed with "#x", values with ":x". A fault in them is returned by
// the first Parse function that is given them, and by Unused. A nil map means
// that the request had none.
func NewPlaceholders(names map[string]string, values event.Item) *Placeholders {
	p := &Placeholders{names: names, values: make(event.Item, len(values)), used: make(map[string]bool)}
	p.err = p.check(values)
	return p
}

func (p *Placeholders) check(values event.Item) error {
	if p.names != nil && len(p.names) == 0 {
		return errorf("ExpressionAttributeNames must not be empty")
	}
	if values != nil && len(values) == 0 {
		return errorf("ExpressionAttributeValues must not be empty")
	}
	for _, key := range slices.Sorted(maps.Keys(p.names)) {
		if !wellFormed(key, '#') {
			return errorf("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", key)
		}
		if p.names[key] == "" {
			return errorf("ExpressionAttributeNames contains invalid value: "+
				"Empty attribute name; key: %s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !wellFormed(key, ':') {
			return errorf("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", key)
		}
		v, err := Normalize(values[key])
		if err != nil {
			return errorf("ExpressionAttributeValues contains invalid value: %v for key %s", err, key)
		}
		p.values[key] = v
	}
	return nil
}

func wellFormed(key string, sigil byte) bool {
	return len(key) > 1 && key[0] == sigil && wordLength(key[1:]) == len(key)-1
}

func (p *Placeholders) name(key string) (string, bool) {
	p.used[key] = true
	name, ok := p.names[key]
	return name, ok
}

func (p *Placeholders) value(key string) (event.Value, bool) {
	p.used[key] = true
	v, ok := p.values[key]
	return v, ok
}

// Unused returns an error that names the placeholders no expression used. Call
// it once all expressions of the request are parsed.
func (p *Placeholders) Unused() error {
	if p.err != nil {
		return p.err
	}
	for _, of := range []struct {
		parameter string
		keys      []string
	}{
		{"ExpressionAttributeNames", slices.Sorted(maps.Keys(p.names))},
		{"ExpressionAttributeValues", slices.Sorted(maps.Keys(p.values))},
	} {
		unused := slices.DeleteFunc(of.keys, func(key string) bool { return p.used[key] })
		switch {
		case len(unused) == 0:
		case !p.parsed:
			return errorf("%s can only be specified when using expressions", of.parameter)
		default:
			return errorf("Value provided in %s unused in expressions: keys: {%s}", of.parameter, strings.Join(unused, ", "))
		}
	}
	return nil
}
