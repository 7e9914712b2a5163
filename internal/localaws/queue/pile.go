package queue

// pile is a heap whose members know their place, so that one in the middle can
// move or leave. A member is in one pile of a kind at most.
type pile[T any] struct {
	items  []T
	before func(a, b T) bool
	place  func(T) *int // holds the member's index plus 1; 0 for none
}

func (p *pile[T]) has(x T) bool { return *p.place(x) > 0 }

// first is the member before all others. The pile must not be empty.
func (p *pile[T]) first() T { return p.items[0] }

// put adds a member, or finds the right place of one whose rank has changed.
func (p *pile[T]) put(x T) {
	if !p.has(x) {
		p.items = append(p.items, x)
		*p.place(x) = len(p.items)
	}
	p.settle(*p.place(x) - 1)
}

// drop takes a member out; others are left alone.
func (p *pile[T]) drop(x T) {
	if !p.has(x) {
		return
	}
	at, last := *p.place(x)-1, len(p.items)-1
	p.swap(at, last)
	var none T
	p.items[last] = none
	p.items = p.items[:last]
	*p.place(x) = 0
	if at < last {
		p.settle(at)
	}
}

func (p *pile[T]) settle(at int) {
	for at > 0 && p.before(p.items[at], p.items[(at-1)/2]) {
		p.swap(at, (at-1)/2)
		at = (at - 1) / 2
	}
	for {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(p.items); child++ {
			if p.before(p.items[child], p.items[least]) {
				least = child
			}
		}
		if least == at {
			return
		}
		p.swap(at, least)
		at = least
	}
}

func (p *pile[T]) swap(i, j int) {
	p.items[i], p.items[j] = p.items[j], p.items[i]
	*p.place(p.items[i]), *p.place(p.items[j]) = i+1, j+1
}
