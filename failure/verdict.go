package failure

import "millrace/event"

// Verdict says what a write on a marker came to.
type Verdict uint8

// The verdicts.
const (
	// Applied: the condition held and the update stands.
	Applied Verdict = iota
	// Done: the condition failed because what the write wanted stands already,
	// in most cases by the same write, whose answer was lost. The same as Applied.
	Done
	// FollowInstead: somebody else blocked the aggregate; be a follower.
	FollowInstead
	// Forget: the aggregate is live. Forget what was believed, read the
	// position, process.
	Forget
	// Again: the claim stands, but seenVersion has grown. Take it from the row
	// as the new target and go on.
	Again
	// Leave: somebody else's, or nothing to do any more.
	Leave
)

var verdictNames = [...]string{"applied", "done", "follow-instead", "forget", "again", "leave"}

// String returns the verdict's name for logs.
func (v Verdict) String() string { return verdictNames[v] }

// Succeeded reports whether what the write wanted stands.
func (v Verdict) Succeeded() bool { return v == Applied || v == Done }

// Judge says what it means that a transition's condition failed on a row; nil
// is no row.
func Judge(t Transition, row event.Item) Verdict {
	held := notLive().Holds(row)
	seen, _ := asVersion(row[SeenVersionAttribute])
	generation, _ := row[GenerationAttribute].(event.String)
	if t.generation != "" && string(generation) == t.generation {
		return Done
	}
	claimed := t.held != "" && all(ours(t.held)...).Holds(row)
	switch t.Name {
	case BlockName:
		if held {
			return FollowInstead
		}
		return Forget
	case FollowName:
		if held && seen >= t.version {
			return Done
		}
		return Forget
	case BackToBlockedName, ReleaseName:
		if claimed && seen >= t.version {
			return Again
		}
		return Leave
	case NotifiedName:
		if is(NotifiedAttribute, t.blockID).Holds(row) {
			return Done
		}
		return Leave
	case ClaimName, HealName, SkipIntentName:
		return Leave
	}
	return Leave
}
