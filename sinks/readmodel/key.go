package readmodel

import (
	"errors"
	"fmt"
	"strings"

	"millrace/event"
)

// placeholder stands for the aggregate in a template.
const placeholder = "{aggregate}"

// KeyPart says how one key attribute, a text, is made.
type KeyPart struct {
	Attribute string
	// Template is text with {aggregate} in it at most once, for example
	// "ORDER#{aggregate}".
	Template string
}

// keyRule makes keys of aggregates and back. It is one-to-one: two aggregates
// in one item would take each other's versions for their own, and drop them
// as duplicates.
type keyRule []keyAttribute

type keyAttribute struct {
	name           string
	prefix, suffix string
	varies         bool // the aggregate stands between prefix and suffix
}

func parseKey(parts []KeyPart) (keyRule, error) {
	if len(parts) < 1 || len(parts) > 2 {
		return nil, fmt.Errorf("a key has one or two attributes, not %d", len(parts))
	}
	var rule keyRule
	var varies bool
	for _, part := range parts {
		if part.Attribute == "" {
			return nil, errors.New("a key attribute has no name")
		}
		prefix, suffix, found := strings.Cut(part.Template, placeholder)
		if strings.ContainsAny(prefix+suffix, "{}") {
			return nil, fmt.Errorf("template %q of attribute %q: the only placeholder is %s, once", part.Template, part.Attribute, placeholder)
		}
		if part.Template == "" {
			return nil, fmt.Errorf("attribute %q has no template: a key is never empty", part.Attribute)
		}
		varies = varies || found
		rule = append(rule, keyAttribute{name: part.Attribute, prefix: prefix, suffix: suffix, varies: found})
	}
	if !varies {
		return nil, fmt.Errorf("no template has %s in it: all aggregates would share one item and one position", placeholder)
	}
	return rule, nil
}

func (k keyRule) attributes() []string {
	names := make([]string, len(k))
	for i, a := range k {
		names[i] = a.name
	}
	return names
}

// of makes an aggregate's key.
func (k keyRule) of(aggregate string) event.Item {
	key := make(event.Item, len(k))
	for _, a := range k {
		text := a.prefix
		if a.varies {
			text += aggregate + a.suffix
		}
		key[a.name] = event.String(text)
	}
	return key
}

// aggregateOf reads the aggregate out of an item's key; false for an item
// whose key this rule does not make.
func (k keyRule) aggregateOf(item event.Item) (string, bool) {
	for _, a := range k {
		if !a.varies {
			continue
		}
		text, ok := item[a.name].(event.String)
		if !ok {
			return "", false
		}
		rest, hasPrefix := strings.CutPrefix(string(text), a.prefix)
		aggregate, hasSuffix := strings.CutSuffix(rest, a.suffix)
		if !hasPrefix || !hasSuffix || aggregate == "" {
			return "", false
		}
		for name, v := range k.of(aggregate) {
			if !event.Equal(item[name], v) {
				return "", false
			}
		}
		return aggregate, true
	}
	return "", false
}

// Key is the key of an aggregate's item.
func (s *Sink) Key(aggregate string) event.Item { return s.key.of(aggregate) }

// AggregateOf reads the aggregate out of an item's key; false for an item
// whose key this read model does not make.
func (s *Sink) AggregateOf(item event.Item) (string, bool) { return s.key.aggregateOf(item) }
