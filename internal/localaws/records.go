package localaws

import "time"

// Limits of a page (API Reference, "GetRecords").
const (
	maxRecords   = 1000
	maxPageBytes = 1 << 20
)

type getRecords struct {
	ShardIterator string
	Limit         *int
}

func (o *getRecords) subject(*Engine) (string, string) {
	i, err := parseIterator(o.ShardIterator)
	if err != nil {
		return "", ""
	}
	return plainName(i.Stream), i.Shard
}

func (o *getRecords) run(e *Engine, c *callContext) (*reply, error) {
	limit := maxRecords
	if o.Limit != nil {
		limit = *o.Limit
	}
	if limit < 1 {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", limit)
	}
	if limit > maxRecords {
		return nil, refuse("LimitExceededException", "GetRecords was called with a value of more than %d for the limit request parameter", maxRecords)
	}
	it, err := parseIterator(o.ShardIterator)
	if err != nil {
		return nil, err
	}
	if !e.tally.read(it.Shard, c.app, c.now, e.options.Readers) {
		return nil, refuse("LimitExceededException", "More than %d processes are reading from the same streams shard at the same time", e.options.Readers)
	}
	p, err := e.page(c, it, limit)
	if err != nil {
		return nil, err
	}
	e.tally.page(it.Shard, len(p.records))
	return p.reply(), nil
}

// recordsPage is one answer of GetRecords.
type recordsPage struct {
	records [][]byte
	bytes   int
	next    string // empty at the end of a closed shard
}

func (e *Engine) page(c *callContext, it iterator, limit int) (recordsPage, error) {
	now := c.now
	e.mu.Lock()
	defer e.mu.Unlock()
	var p recordsPage
	s, err := e.stream(it.Stream, now)
	if err != nil {
		return p, err
	}
	h := s.shard(it.Shard)
	if h == nil {
		return p, noShard(it.Shard, s)
	}
	if it.Generation != s.iterates || now.Sub(time.UnixMilli(it.Issued)) > iteratorLife {
		return p, refuse("ExpiredIteratorException", "The shard iterator has expired. Shard iterators are valid for 15 minutes")
	}
	after, err := parseSequence(it.After)
	if err != nil {
		return p, invalid("Invalid ShardIterator: %v", err)
	}
	at := position{after: after}
	h.settle(e.options.Permute)
	if h.trimmed != (sequence{}) && after.compare(h.trimmed) < 0 {
		return p, refuse("TrimmedDataAccessException", "The operation attempted to read past the oldest stream record in a shard")
	}
	from, to := h.firstAt(at), h.readable(now)
	if from < to && it.Empty > 0 {
		it.Empty--
		it.Issued, it.Nonce = now.UnixMilli(), it.Nonce+1
		p.next = it.String()
		return p, nil
	}
	to = min(to, from+limit)
	for _, r := range h.records[from:max(from, to)] {
		if len(p.records) > 0 && p.bytes+len(r.json) > maxPageBytes {
			break
		}
		p.records = append(p.records, r.json)
		p.bytes += len(r.json)
		at.after = r.sequence
	}
	switch {
	case !h.open() && from+len(p.records) == len(h.records):
		// The end of a closed shard: its last records and no iterator together.
	case len(p.records) == 0:
		it.Issued, it.Nonce = now.UnixMilli(), it.Nonce+1
		p.next = it.String()
	default:
		p.next = s.iterator(h, at, now, it.Nonce+1).String()
	}
	if e.options.KeepHistory && (len(p.records) > 0 || p.next == "") {
		e.rememberRead(c, s, h, h.records[from:from+len(p.records)], p.next == "")
	}
	return p, nil
}

// reply joins the encoded records outside the lock.
func (p recordsPage) reply() *reply {
	r := &reply{b: make([]byte, 1, p.bytes+len(p.records)+len(p.next)+64)}
	r.b[0] = '{'
	if p.next != "" {
		r.text("NextShardIterator", p.next)
	}
	r.values("Records", len(p.records), func(i int) []byte { return p.records[i] })
	return r
}
