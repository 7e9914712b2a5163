package failure

import (
	"maps"

	"millrace/event"
)

// Name names a transition in logs, metrics and the audit.
type Name string

// The transitions, one for each conditional write on a marker.
const (
	BlockName         Name = "block"
	FollowName        Name = "follow"
	ClaimName         Name = "claim"
	BackToBlockedName Name = "back-to-blocked"
	ReleaseName       Name = "release"
	HealName          Name = "heal"
	SkipIntentName    Name = "skip-intent"
	NotifiedName      Name = "notified"
)

// Action sets one attribute, or removes it.
type Action struct {
	Attribute string
	Value     event.Value // nil removes
}

// Transition is one conditional write on a marker, as a value. What a failed
// condition means is Judge's to say.
type Transition struct {
	Name      Name
	Condition Condition
	Update    []Action
	// Outbox is written in the same transaction: a block and the promise of its
	// letter stand together or not at all. Nil: the marker alone is written.
	Outbox *Outbox
	// Crash has a block be listed with those at which workers died, in the same
	// transaction: who begins must know them before it tries.
	Crash bool

	facts
}

// facts is what the writer knew and meant, for Judge.
type facts struct {
	version    uint64 // blocked at, followed up to, position read
	held       string // the generation that the writer acts on
	generation string // the generation that the update sets; empty: none
	blockID    string // the block that a letter tells of
}

// Apply interprets the transition on a row, nil for none. The answer is a new
// row; when the condition fails it is the row itself, and false.
func (t Transition) Apply(row event.Item) (event.Item, bool) {
	if !t.Condition.Holds(row) {
		return row, false
	}
	next := make(event.Item, len(row)+len(t.Update))
	maps.Copy(next, row)
	for _, a := range t.Update {
		if a.Value == nil {
			delete(next, a.Attribute)
		} else {
			next[a.Attribute] = a.Value
		}
	}
	return next, true
}

func set(attribute string, value event.Value) Action {
	return Action{Attribute: attribute, Value: value}
}

func setText(attribute, text string) Action { return set(attribute, event.String(text)) }

func remove(attribute string) Action { return Action{Attribute: attribute} }
