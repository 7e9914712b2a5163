package pipeline

import (
	"millrace/event"
	"millrace/failure"
)

// awaitHole has the lane look out for the version that a block is due to.
func (l *lane) awaitHole(aggregate string, version uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holes[aggregate] = version
}

// knowHoles has the lane know which versions blocks wait for.
func (s *sweeper) knowHoles(markers []failure.Marker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range markers {
		if m.Cause.Class == event.Gap.String() {
			s.holes[m.Key.Aggregate] = m.BlockedVersion
		}
	}
}

// tellArrivals wakes the sweeper.
func (l *lane) tellArrivals() {
	select {
	case l.arrivals <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *sweeper) takeArrived() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	arrived := s.arrived
	s.arrived = map[string]bool{}
	return arrived
}

// arrive gives arrivals back that could not be looked into.
func (s *sweeper) arrive(arrived map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for aggregate := range arrived {
		s.arrived[aggregate] = true
	}
}
