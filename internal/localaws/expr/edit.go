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
	// It is nil where there was no item and the update set nothing, as REMOVE
	// alone creates none.
	Item event.Item
	// UpdatedOld and UpdatedNew are what the touched paths lead to before and
	// after, nested as in the item, for ReturnValues UPDATED_OLD and
	// UPDATED_NEW. As in DynamoDB the paths are taken literally both times: an
	// element appended by an index beyond the end is not in UpdatedNew, and
	// the element that moved to a removed one's index is.
	UpdatedOld, UpdatedNew event.Item
}

// Apply returns the item after the update and leaves the given one alone; nil
// stands for an item that does not exist, and then the result lacks its key.
// Every value is computed from the item as it was before, and every list index
// means the list as it was before. The errors, all *Error, are those that
// depend on the item: types that do not fit, attributes and paths that are
// missing, numbers out of range, documents too deep. The result's size is not
// checked.
func (u *Update) Apply(item event.Item) (Result, error) {
	edits := u.edits
	if item == nil {
		edits = u.writes // REMOVE of any path is no error here
	}
	v, err := edits.applyToMap(event.Map(item), item)
	if err != nil {
		return Result{}, err
	}
	if item == nil && len(v) == 0 {
		return Result{}, nil
	}
	after := event.Item(v)
	for s := range edits.children {
		if !shallow(after[s.name], 0) {
			return Result{}, errorf(tooDeep)
		}
	}
	return Result{Item: after, UpdatedOld: u.touched.Apply(item), UpdatedNew: u.touched.Apply(after)}, nil
}

// edit is all of an update's actions with the common beginnings of their paths
// joined. A node has an action or children, never both, because paths that
// overlap are refused.
type edit struct {
	children map[step]*edit
	action   action
}

func (n *edit) place(a placedAction) {
	for _, s := range a.at {
		if n.children == nil {
			n.children = make(map[step]*edit)
		}
		if n.children[s] == nil {
			n.children[s] = &edit{}
		}
		n = n.children[s]
	}
	n.action = a.action
}

// apply edits one place of a document and returns what stands there after, nil
// for nothing. The whole item as it was serves the actions that read other
// places.
func (n *edit) apply(before event.Value, item event.Item) (event.Value, error) {
	if n.action != nil {
		return n.action.apply(before, item)
	}
	switch before := before.(type) {
	case event.Map:
		return n.applyToMap(before, item)
	case event.List:
		return n.applyToList(before, item)
	}
	return nil, errorf(wrongPath)
}

func (n *edit) applyToMap(before event.Map, item event.Item) (event.Map, error) {
	after := make(event.Map, len(before)+len(n.children))
	maps.Copy(after, before)
	for _, s := range sortedSteps(n.children) {
		if s.list {
			return nil, errorf(wrongPath)
		}
		v, err := n.children[s].apply(before[s.name], item)
		if err != nil {
			return nil, err
		}
		if v == nil {
			delete(after, s.name)
		} else {
			after[s.name] = v
		}
	}
	return after, nil
}

// applyToList edits by the indexes of the old list: elements set beyond its
// end are appended in the order of their indexes, and removed ones close up
// only when all is done.
func (n *edit) applyToList(before event.List, item event.Item) (event.List, error) {
	after := slices.Clone(before)
	for _, s := range sortedSteps(n.children) {
		if !s.list {
			return nil, errorf(wrongPath)
		}
		v, err := n.children[s].apply(s.of(before), item)
		if err != nil {
			return nil, err
		}
		if s.index < len(before) {
			after[s.index] = v
		} else if v != nil {
			after = append(after, v)
		}
	}
	return slices.DeleteFunc(after, func(v event.Value) bool { return v == nil }), nil
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
