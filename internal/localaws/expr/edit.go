package expr

import (
	"cmp"
	"maps"
	"slices"

	"millrace/event"
)

// Result is what an update made of an item.
type Result struct {
	// Item is the item after the update; it shares values with the old one.
	Item event.Item
	// UpdatedOld and UpdatedNew are the touched paths as they were and as
	// they are, nested as in the item, for ReturnValues UPDATED_OLD and
	// UPDATED_NEW. What was absent, or is now, is left out.
	UpdatedOld, UpdatedNew event.Item
}

// Apply returns the item after the update and leaves the given one alone; nil
// stands for an item that does not exist. Every value is computed from the
// item as it was before, and every list index means the list as it was before.
// The errors, all *Error, are those that depend on the item: types that do not
// fit, attributes and paths that are missing, numbers out of range, documents
// too deep. The result's size is not checked.
func (u *Update) Apply(item event.Item) (Result, error) {
	if item == nil {
		item = event.Item{}
	}
	c, err := u.root.apply(event.Map(item), item)
	if err != nil {
		return Result{}, err
	}
	made := Result{Item: asItem(c.after), UpdatedOld: asItem(c.oldPart), UpdatedNew: asItem(c.newPart)}
	for name := range made.UpdatedNew {
		if !shallow(made.Item[name], 0) {
			return Result{}, errorf(tooDeep)
		}
	}
	return made, nil
}

func asItem(v event.Value) event.Item {
	if m, ok := v.(event.Map); ok {
		return event.Item(m)
	}
	return event.Item{}
}

// edit is all of an update's actions with the common beginnings of their paths
// joined. A node has an action or children, never both, because paths that
// overlap are refused.
type edit struct {
	children map[step]*edit
	action   action
}

func (n *edit) child(s step) *edit {
	if n.children == nil {
		n.children = make(map[step]*edit)
	}
	c, ok := n.children[s]
	if !ok {
		c = &edit{}
		n.children[s] = c
	}
	return c
}

// change is one place of a document after an edit, and the touched parts of it
// before and after; nil stands for nothing.
type change struct{ after, oldPart, newPart event.Value }

// apply edits one place of a document. The whole item as it was serves the
// actions that read other places.
func (n *edit) apply(before event.Value, item event.Item) (change, error) {
	if n.action != nil {
		after, err := n.action.apply(before, item)
		return change{after: after, oldPart: before, newPart: after}, err
	}
	switch before := before.(type) {
	case event.Map:
		return n.applyToMap(before, item)
	case event.List:
		return n.applyToList(before, item)
	}
	return change{}, errorf(wrongPath)
}

func (n *edit) applyToMap(before event.Map, item event.Item) (change, error) {
	after, oldPart, newPart := maps.Clone(before), event.Map{}, event.Map{}
	if after == nil {
		after = event.Map{}
	}
	for _, s := range sortedSteps(n.children) {
		if s.list {
			return change{}, errorf(wrongPath)
		}
		c, err := n.children[s].apply(before[s.name], item)
		if err != nil {
			return change{}, err
		}
		put(after, s.name, c.after)
		put(oldPart, s.name, c.oldPart)
		put(newPart, s.name, c.newPart)
	}
	made := change{after: after}
	if len(oldPart) > 0 {
		made.oldPart = oldPart
	}
	if len(newPart) > 0 {
		made.newPart = newPart
	}
	return made, nil
}

func put(m event.Map, name string, v event.Value) {
	if v == nil {
		delete(m, name)
		return
	}
	m[name] = v
}

// applyToList edits by the indexes of the old list: elements set beyond its
// end are appended in the order of their indexes, and removed ones close up
// only when all is done.
func (n *edit) applyToList(before event.List, item event.Item) (change, error) {
	after := slices.Clone(before)
	var oldPart, newPart event.List
	for _, s := range sortedSteps(n.children) {
		if !s.list {
			return change{}, errorf(wrongPath)
		}
		c, err := n.children[s].apply(s.of(before), item)
		if err != nil {
			return change{}, err
		}
		switch {
		case s.index < len(before):
			after[s.index] = c.after
		case c.after != nil:
			after = append(after, c.after)
		}
		if c.oldPart != nil {
			oldPart = append(oldPart, c.oldPart)
		}
		if c.newPart != nil {
			newPart = append(newPart, c.newPart)
		}
	}
	after = slices.DeleteFunc(after, func(v event.Value) bool { return v == nil })
	if after == nil {
		after = event.List{}
	}
	made := change{after: after}
	if oldPart != nil {
		made.oldPart = oldPart
	}
	if newPart != nil {
		made.newPart = newPart
	}
	return made, nil
}

// sortedSteps returns the steps by index and name, so that results and the
// choice among several errors do not depend on map order.
func sortedSteps[T any](children map[step]T) []step {
	return slices.SortedFunc(maps.Keys(children), func(a, b step) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.name, b.name))
	})
}

// shallow reports whether a value nests no deeper than DynamoDB allows.
func shallow(v event.Value, level int) bool {
	if level > maxLevels {
		return false
	}
	switch v := v.(type) {
	case event.List:
		return !slices.ContainsFunc(v, func(e event.Value) bool { return !shallow(e, level+1) })
	case event.Map:
		for _, e := range v {
			if !shallow(e, level+1) {
				return false
			}
		}
	}
	return true
}
