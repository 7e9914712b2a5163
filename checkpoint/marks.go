package checkpoint

import (
	"fmt"

	"millrace/event"
)

// Marks draws the tokens and heartbeats that one store writes. Each is a
// function of the row it replaces, so that a write which is tried again after
// a lost answer plans the very same marks, and finding them in the row proves
// that the earlier try took effect. It is safe for concurrent use.
type Marks struct {
	Source event.Jitter
	// Boot tells this store from every other one, earlier runs of the process
	// included: two stores that drew alike would take each other's writes for
	// their own.
	Boot string
}

// First draws the marks of a row that is made; n must be another number at
// each call, so that a row made again cannot repeat a token.
func (m Marks) First(key LeaseKey, n int) (token, heartbeat string) {
	return m.draw(n, "first token", key), m.draw(n, "first heartbeat", key)
}

// Grant plans the row after a grant.
func (m Marks) Grant(seen Lease, owner string) Lease {
	planned := seen
	planned.Owner, planned.State, planned.Asked = owner, Active, ""
	planned.Barren = seen.Barren.granted(seen, owner)
	planned.Token = m.draw(0, "token", seen.Key, seen.Token, seen.Heartbeat, owner)
	planned.Heartbeat = m.next(seen.Key, planned.Token, seen.Heartbeat)
	return planned
}

// Granted reports whether a row shows the very grant that was planned: it had
// taken effect, only its answer was lost.
func Granted(row, planned Lease) bool {
	return row.Key == planned.Key && row.Owner == planned.Owner &&
		row.Token == planned.Token && row.Heartbeat == planned.Heartbeat
}

// Renew plans the row after a write by its holder.
func (m Marks) Renew(held Lease) Lease {
	planned := held
	planned.Heartbeat = m.next(held.Key, held.Token, held.Heartbeat)
	return planned
}

// lostAnswers is how many tries without an answer are recognised. Trust in a
// lease ends after far fewer.
const lostAnswers = 32

// later reports whether a row's heartbeat was written by this store after held
// was returned, by a try that its caller has no answer to.
func (m Marks) later(row, held Lease) bool {
	heartbeat := held.Heartbeat
	for range lostAnswers {
		heartbeat = m.next(held.Key, held.Token, heartbeat)
		if heartbeat == row.Heartbeat {
			return true
		}
	}
	return false
}

// AfterRefusal judges a write of the lease held that was refused, given what
// was tried last and the row as it stands (the zero Lease when there is none).
// done means that the row shows the very write: it had taken effect, only its
// answer was lost. Otherwise the write may be tried again from the returned
// lease, an earlier try of our own having landed with older content, or the
// error is ErrFenced or ErrBackwards.
func (m Marks) AfterRefusal(held, tried, row Lease) (again Lease, done bool, err error) {
	planned := m.Renew(tried)
	switch {
	case row.Same(planned):
		return Lease{}, true, nil
	case row.Token != held.Token, row.Owner == "", held.Owner != "" && row.Owner != held.Owner:
		return Lease{}, false, ErrFenced
	case row.Heartbeat == tried.Heartbeat:
		return Lease{}, false, ErrBackwards
	case m.later(row, tried):
		again = held
		again.Heartbeat = row.Heartbeat
		return again, false, nil
	}
	return Lease{}, false, ErrFenced
}

func (m Marks) next(key LeaseKey, token, heartbeat string) string {
	return m.draw(0, "heartbeat", key, token, heartbeat)
}

func (m Marks) draw(n int, kind string, key LeaseKey, from ...string) string {
	// Quoted, so that no two lists of texts are one name.
	return m.Source.ID(fmt.Sprintf("%q", append([]string{
		kind, m.Boot, key.Group, key.Table, key.Label, string(key.Shard),
	}, from...)), n)
}
