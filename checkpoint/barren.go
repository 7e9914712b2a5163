package checkpoint

// Attempt is one event that a sink is given: what the holder of a careful
// lease writes to the row before it tries. The zero value is none.
type Attempt struct {
	Sink      string // name@version
	Aggregate string
	Version   uint64
}

// Barren is what a lease row tells of holders that vanished: how a record that
// kills whoever applies it is told from workers that die of something else.
// The zero value is what every clean end and every progress leaves behind.
type Barren struct {
	// Grants is how many holders in a row vanished without progress: grants by
	// expiry. A pause that outlived the lease counts as well, since nobody can
	// tell it from a death; it costs its successor some care and nothing else.
	Grants int
	// Attempt is what the holder is trying now, if it is careful.
	Attempt Attempt
	// Suspect is the attempt that was found when a holder had vanished last, and
	// Deaths how many vanished at it since there was progress.
	Suspect Attempt
	Deaths  int
}

// CarefulFrom is the number of barren grants from which on a shard is read
// carefully.
const CarefulFrom = 3

// Careful reports whether the holder is to write down each attempt.
func (b Barren) Careful() bool { return b.Grants >= CarefulFrom }

// Blamed is the attempt at which two holders vanished, none if there is none.
// One is not enough: a worker that dies of something else dies in the middle
// of some attempt too, and would have an innocent aggregate blocked. Two at the
// same one can still be chance, if workers die faster than they apply an event;
// then an operator's redrive releases it.
func (b Barren) Blamed() Attempt {
	if b.Deaths < 2 {
		return Attempt{}
	}
	return b.Suspect
}

// granted is what becomes of it by a grant of the lease as seen to an owner.
func (b Barren) granted(seen Lease, owner string) Barren {
	found := b.Attempt
	b.Attempt = Attempt{}
	switch seen.Owner {
	case "":
		return Barren{} // released: nobody vanished, whatever build wrote the row
	case owner:
		// It took the lease without knowing, or gave up its reading, and lives:
		// ids are not used twice.
		return b
	}
	b.Grants++
	if found != (Attempt{}) {
		if found != b.Suspect {
			b.Suspect, b.Deaths = found, 0
		}
		b.Deaths++
	}
	return b
}
