package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"millrace/failure"
	"millrace/failure/redrive"
)

// addUnroutable adds the unroutable records that a selection selects, within
// what the markers have left of its limit, and the names of all to those that
// stand. They concern every sink.
func (s *Service) addUnroutable(ctx context.Context, selection Selection, l *Listing, standing map[string]bool) error {
	if s.selected {
		return nil
	}
	all, foreign, err := s.patient().Unroutables(ctx, s.config.Group, s.config.Events)
	if err != nil {
		return s.absent(err, "control table", s.config.Control)
	}
	for _, u := range all {
		standing[failure.LetterPrefix+u.ID] = true
	}
	all = slices.DeleteFunc(all, func(u failure.Unroutable) bool {
		return !selection.picks(failure.LetterPrefix+u.ID, u.Cause)
	})
	slices.SortFunc(all, func(a, b failure.Unroutable) int {
		return cmp.Or(a.Cause.First.Compare(b.Cause.First), cmp.Compare(a.ID, b.ID))
	})
	l.Foreign = append(l.Foreign, foreign...)
	l.Unroutable, l.UnroutableSelected = all, len(all)
	if room := selection.Limit - len(l.Markers); selection.Limit > 0 && len(all) > room {
		l.Unroutable = all[:room]
	}
	return nil
}

// Groups gathers what is listed by fingerprint, the largest group at the front.
func (l Listing) Groups() []Group {
	groups := Groups(l.Markers)
	at := map[string]int{}
	for _, u := range l.Unroutable { // the one seen first comes first
		i, found := at[u.Cause.Fingerprint]
		if !found {
			i = len(groups)
			at[u.Cause.Fingerprint] = i
			groups = append(groups, Group{
				Fingerprint: u.Cause.Fingerprint, Sink: failure.EverySink, Class: u.Cause.Class, Type: u.Cause.Type, First: u.Cause.First,
				Example: failure.LetterPrefix + u.ID, Text: u.Cause.Text,
			})
		}
		groups[i].Records++
		groups[i].Last = u.Cause.Last
	}
	sortGroups(groups)
	return groups
}

// ShowUnroutable looks at an unroutable record by its name, letter: and the id,
// and at what its item is today. Nil: there is none of that name.
func (s *Service) ShowUnroutable(ctx context.Context, name string) (*redrive.Rerouted, error) {
	id, found := strings.CutPrefix(name, failure.LetterPrefix)
	if !found {
		return nil, nil //nolint:nilnil // none is an answer
	}
	u, err := s.Markers().Unroutable(ctx, s.config.Group, s.config.Events, id)
	if err != nil || u == nil {
		return nil, s.absent(err, "control table", s.config.Control)
	}
	shown, err := s.LookUnroutable(ctx, *u)
	return &shown, err
}

// LookUnroutable says what would become of a record, and changes nothing.
func (s *Service) LookUnroutable(ctx context.Context, u failure.Unroutable) (redrive.Rerouted, error) {
	r, err := s.rerouter(RedriveOptions{}, false)
	if err != nil {
		return redrive.Rerouted{}, err
	}
	return r.Look(ctx, u)
}

// Reroute brings unroutable records in, one after the other, beside whatever
// workers are doing: those that are events now are applied in order, and the
// rows of all that are accounted for end. forgetGone ends the rows of items that
// the table does not have any more, too. The end of ctx lets the one under way
// finish, the end of abort cuts it short; the error is theirs. Each is told every
// result.
func (s *Service) Reroute(ctx, abort context.Context, list []failure.Unroutable, forgetGone bool, o RedriveOptions, each func(redrive.Rerouted)) error {
	if len(list) == 0 {
		return nil
	}
	r, err := s.rerouter(o, forgetGone)
	if err != nil {
		return err
	}
	for _, u := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		result, err := r.Reroute(abort, u)
		if err != nil {
			return err
		}
		each(result)
	}
	return nil
}

func (s *Service) rerouter(o RedriveOptions, forgetGone bool) (*redrive.Rerouter, error) {
	o = o.withDefaults()
	r := &redrive.Rerouter{Items: s.events, Layout: s.events.Layout(), End: s.patient().EndUnroutable, ForgetGone: forgetGone}
	for _, t := range s.targets {
		redriver, err := s.redriver(t, o)
		if err != nil {
			return nil, err
		}
		r.Targets = append(r.Targets, redrive.Target{Key: t.scope.Key(""), Redriver: redriver})
	}
	return r, nil
}
