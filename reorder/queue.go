package reorder

// list is an intrusive doubly linked list of entries; an entry is in one.
type list struct {
	first, last *entry
	len         int
}

func (l *list) push(e *entry) {
	e.list, e.prev, e.next = l, l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
	l.len++
}

func (l *list) remove(e *entry) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.list, e.prev, e.next = nil, nil, nil
	l.len--
}

// queue hands entries out in the order in which they were put in.
type queue struct {
	items []*entry
	head  int
}

func (q *queue) push(e *entry) { q.items = append(q.items, e) }

func (q *queue) len() int { return len(q.items) - q.head }

func (q *queue) pop() *entry {
	if q.head == len(q.items) {
		return nil
	}
	e := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	switch {
	case q.head == len(q.items):
		q.items, q.head = q.items[:0], 0
	case q.head >= 1024 && q.head*2 >= len(q.items):
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return e
}

// timers is a heap of entries by their due time, for container/heap.
type timers []*entry

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timer, t[j].timer = i, j
}

func (t *timers) Push(x any) {
	e := x.(*entry)
	e.timer = len(*t)
	*t = append(*t, e)
}

func (t *timers) Pop() any {
	old := *t
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	e.timer = -1
	return e
}
