package failure

import (
	"millrace/event"
	"millrace/internal/controlkey"
)

// notLive is the condition that somebody holds the aggregate back. A job that
// died leaves redriving, which must hold back no less than blocked does, and
// must be claimable: else nobody could take the row again.
func notLive() Condition { return is(StateAttribute, string(Blocked), string(Redriving)) }

// ours is the condition that a claim still stands: every change of state draws
// a new generation.
func ours(generation string) []Condition {
	return []Condition{is(StateAttribute, string(Redriving)), is(GenerationAttribute, generation)}
}

// Block marks an aggregate whose version v failed for good. It may be written
// only after the versions below v were answered as applied. Generation is new,
// and unlike any the row ever had; it is the block's id as well.
//
// A row that is not live is left alone: it may have been raised to versions
// that are settled already, and replacing it would take them off the record.
func Block(v uint64, generation string, cause Cause) Transition {
	return Transition{
		Name:      BlockName,
		Condition: either(absent(StateAttribute), is(StateAttribute, string(Live))),
		Update:    append(blockedAt(v, generation, cause), set(SeenVersionAttribute, number(v)), remove(JobAttribute)),
		Outbox:    &Outbox{BlockID: generation, Version: v},
		Crash:     cause.Class == event.Crash.String(),
		facts:     facts{version: v, generation: generation, blockID: generation},
	}
}

// blockedAt is what every block sets, whoever writes it. seenVersion is not
// part of it: a job that gives up must not lower it.
func blockedAt(v uint64, generation string, cause Cause) []Action {
	return []Action{
		set(controlkey.Schema, number(controlkey.Version)),
		setText(StateAttribute, string(Blocked)),
		set(BlockedVersionAttribute, number(v)),
		setText(GenerationAttribute, generation),
		setText(BlockIDAttribute, generation),
		remove(NotifiedAttribute), // the new block has no letter yet
		set(CauseAttribute, cause.value()),
	}
}

// Follow puts versions up to v on the record of a marker, so that they count
// as settled. seenVersion only grows: a page that was slower, or a write that
// lost its answer and lands late, must not take back what another page settled.
func Follow(v uint64) Transition {
	return Transition{
		Name:      FollowName,
		Condition: all(notLive(), compare(SeenVersionAttribute, Below, v)),
		Update:    []Action{set(SeenVersionAttribute, number(v))},
		facts:     facts{version: v},
	}
}

// Claim takes a marker for a job. Held is the generation that was read with
// the row; generation is new.
func Claim(held, generation, job string) Transition {
	return Transition{
		Name:      ClaimName,
		Condition: all(notLive(), is(GenerationAttribute, held)),
		Update: []Action{
			setText(StateAttribute, string(Redriving)),
			setText(GenerationAttribute, generation),
			setText(JobAttribute, job),
		},
		facts: facts{held: held, generation: generation},
	}
}

// BackToBlocked gives up a claim at version v, which failed for good. Seen is
// the seenVersion that the claim's last answer showed. It does not fall while
// the claim stands, so the maximum of it and v is v only where v is greater;
// that it is still, is then part of the condition.
func BackToBlocked(held string, v, seen uint64, generation string, cause Cause) Transition {
	condition, update := ours(held), blockedAt(v, generation, cause)
	if seen < v {
		condition = append(condition, compare(SeenVersionAttribute, Below, v))
		update = append(update, set(SeenVersionAttribute, number(v)))
	}
	return Transition{
		Name:      BackToBlockedName,
		Condition: all(condition...),
		Update:    update,
		Outbox:    &Outbox{BlockID: generation, Version: v},
		Crash:     cause.Class == event.Crash.String(),
		facts:     facts{version: v, held: held, generation: generation, blockID: generation},
	}
}

// Release ends a claim whose job reached position p, read from the target or
// returned by it. Versions above seenVersion have no settled record: the stream
// still brings them, so the head of the event store is not asked.
func Release(held string, p uint64, generation string) Transition {
	return Transition{
		Name:      ReleaseName,
		Condition: all(append(ours(held), compare(SeenVersionAttribute, AtMost, p))...),
		Update:    live(generation),
		facts:     facts{version: p, held: held, generation: generation},
	}
}

// Heal ends a marker that the position p, read before, has passed: a worker
// without a fix can write one after a worker with it has gone by.
func Heal(p uint64, generation string) Transition {
	return Transition{
		Name:      HealName,
		Condition: all(notLive(), compare(SeenVersionAttribute, AtMost, p)),
		Update:    live(generation),
		facts:     facts{version: p, generation: generation},
	}
}

func live(generation string) []Action {
	return []Action{
		setText(StateAttribute, string(Live)),
		setText(GenerationAttribute, generation),
		remove(BlockedVersionAttribute),
		remove(SeenVersionAttribute),
	}
}

// SkipIntent puts on record that a version is about to be skipped, before the
// target skips it: a position that moved without a reason is a version lost
// without a word.
func SkipIntent(held string, skip Skip) Transition {
	return Transition{
		Name:      SkipIntentName,
		Condition: all(ours(held)...),
		Update:    []Action{set(SkipAttribute, skip.value())},
		facts:     facts{version: skip.Version, held: held},
	}
}

// Notified records that the queue accepted the letter of a block. A letter of
// an earlier block must not pass for the present one's.
func Notified(blockID string) Transition {
	return Transition{
		Name:      NotifiedName,
		Condition: all(is(StateAttribute, string(Blocked)), is(BlockIDAttribute, blockID)),
		Update:    []Action{set(NotifiedAttribute, event.String(blockID))},
		facts:     facts{blockID: blockID},
	}
}
