package readmodel

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"millrace/event"
	"millrace/sinks"
)

// ownerSuffix makes the owner's attribute of the position's: who has the one
// has the other.
const ownerSuffix = "By"

// owner is an identity as it stands in an item.
type owner struct {
	name    string // group|source|sink
	version int
}

// ownerOf writes an identity down, each part escaped, so that two identities
// never give the same text.
func ownerOf(id sinks.Identity) owner {
	parts := []string{url.QueryEscape(id.Group), url.QueryEscape(id.Source), url.QueryEscape(id.Sink)}
	return owner{name: strings.Join(parts, "|"), version: id.Version}
}

// text is what an item carries: group|source|sink@version.
func (o owner) text() string { return o.name + "@" + strconv.Itoa(o.version) }

// rivals reports whether an item's owner is this sink of this event table in
// another group. Two such owners meet at every aggregate.
func (o owner) rivals(by string) bool {
	name, _, _ := strings.Cut(by, "@")
	_, theirs, _ := strings.Cut(name, "|")
	_, ours, _ := strings.Cut(o.name, "|")
	return name != o.name && theirs == ours
}

// position reads the position that an item holds for this sink; 0 for no item
// and for one without a position. A position of somebody else is an error, as
// it must never be taken for one's own: what the other applied would count as
// applied here.
func (s *Sink) position(item event.Item) (uint64, error) {
	const op = "reading the position in a read model"
	stored := item[s.options.Position]
	if stored == nil {
		return 0, nil
	}
	by, _ := item[s.options.Position+ownerSuffix].(event.String)
	name, versionText, _ := strings.Cut(string(by), "@")
	version, err := strconv.Atoi(versionText)
	if err != nil || name != s.owner.name {
		return 0, &event.Error{
			Class: event.Foreign, Op: op,
			Err:  fmt.Errorf("attribute %s of %s belongs to %q, not to %q", s.options.Position, s.options.Table, string(by), s.owner.text()),
			Hint: "the two are group|event table|sink@version: correct what the configuration says of them, or give each sink a position attribute or a table of its own; an item left over from a mistake can be deleted, and is made again from its events",
		}
	}
	switch {
	case version > s.owner.version:
		return 0, &event.Error{
			Class: event.Superseded, Op: op,
			Err: fmt.Errorf("version %d of the sink has taken over, this is version %d", version, s.owner.version),
		}
	case version < s.owner.version:
		return 0, &event.Error{
			Class: event.Foreign, Op: op,
			Err:  fmt.Errorf("the item was written by version %d of the sink, this is version %d", version, s.owner.version),
			Hint: "rebuild the read model for the new version",
		}
	}
	number, _ := stored.(event.Number)
	position, err := strconv.ParseUint(string(number), 10, 63)
	if err != nil || position == 0 {
		return 0, &event.Error{Class: event.Permanent, Op: op, Err: errNoVersion}
	}
	return position, nil
}

var errNoVersion = errors.New("the position is not a whole number from 1 on")
