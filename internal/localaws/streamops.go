package localaws

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// streamOperation is an empty request of an operation on streams, nil where
// there is no such operation.
func streamOperation(name string) operation {
	switch name {
	case "ListStreams":
		return &listStreams{}
	case "DescribeStream":
		return &describeStream{}
	case "GetShardIterator":
		return &getShardIterator{}
	case "GetRecords":
		return &getRecords{}
	}
	return nil
}

// stream finds a stream by its ARN and brings it up to date. A disabled stream
// goes away with its last record. The caller holds e.mu.
func (e *Engine) stream(arn string, now time.Time) (*stream, error) {
	s := e.streams[arn]
	if s != nil {
		s.advance(now)
		if !s.disabled.IsZero() && len(s.shards) == 0 {
			delete(e.streams, arn)
			if s.table.stream == s {
				s.table.stream = nil
			}
			s = nil
		}
	}
	if s == nil {
		return nil, refuse("ResourceNotFoundException", "Requested resource not found: Stream: %s not found", arn)
	}
	return s, nil
}

// maxListed is how many streams or shards one answer lists.
const maxListed = 100

func listLimit(limit *int) (int, error) {
	if limit == nil {
		return maxListed, nil
	}
	if *limit < 1 || *limit > maxListed {
		return 0, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value between 1 and %d", *limit, maxListed)
	}
	return *limit, nil
}

type listStreams struct {
	TableName               string
	ExclusiveStartStreamArn string
	Limit                   *int
}

func (o *listStreams) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *listStreams) run(e *Engine, c *callContext) (*reply, error) {
	limit, err := listLimit(o.Limit)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []*stream
	for _, arn := range slices.Sorted(maps.Keys(e.streams)) {
		s, err := e.stream(arn, c.now)
		if err != nil || arn <= o.ExclusiveStartStreamArn || o.TableName != "" && s.table.name != plainName(o.TableName) {
			continue
		}
		found = append(found, s)
	}
	r := newReply()
	if len(found) > limit {
		found = found[:limit]
		r.text("LastEvaluatedStreamArn", found[limit-1].arn)
	}
	r.list("Streams", len(found), func(i int) {
		r.text("StreamArn", found[i].arn)
		r.text("TableName", found[i].table.name)
		r.text("StreamLabel", found[i].label)
	})
	return r, nil
}

type describeStream struct {
	StreamArn             string
	ExclusiveStartShardId string
	Limit                 *int
	ShardFilter           *struct{ Type, ShardId string }
}

// subject's key is the shard behind which the page begins.
func (o *describeStream) subject(*Engine) (string, string) {
	if o.ShardFilter != nil {
		return plainName(o.StreamArn), o.ShardFilter.ShardId
	}
	return plainName(o.StreamArn), o.ExclusiveStartShardId
}

func (o *describeStream) run(e *Engine, c *callContext) (*reply, error) {
	limit, err := listLimit(o.Limit)
	if err != nil {
		return nil, err
	}
	if f := o.ShardFilter; f != nil && (f.Type != "CHILD_SHARDS" || f.ShardId == "") {
		return nil, invalid("ShardFilter needs the Type CHILD_SHARDS and a ShardId")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s, err := e.stream(o.StreamArn, c.now)
	if err != nil {
		return nil, err
	}
	listed := o.listed(s, c.now)
	last := ""
	if len(listed) > limit {
		listed = listed[:limit]
		last = listed[limit-1].id
	}
	r := newReply()
	r.object("StreamDescription", func() {
		r.text("StreamArn", s.arn)
		r.text("StreamLabel", s.label)
		r.text("StreamViewType", s.view)
		r.text("TableName", s.table.name)
		r.time("CreationRequestDateTime", s.created)
		r.text("StreamStatus", s.status())
		s.table.schema.describe(r)
		if last != "" {
			r.text("LastEvaluatedShardId", last)
		}
		r.list("Shards", len(listed), func(i int) { s.describe(r, listed[i], c.now) })
	})
	return r, nil
}

func (s *stream) status() string {
	if s.disabled.IsZero() {
		return "ENABLED"
	}
	return "DISABLED"
}

// listed are the shards that a listing shows, in the order of their ids, so
// that a listing goes on where it stopped even if that shard is trimmed by
// then.
func (o *describeStream) listed(s *stream, now time.Time) []*shard {
	parents := map[string]bool{}
	for _, h := range s.shards {
		parents[h.parent] = true
	}
	var out []*shard
	for _, h := range s.shards {
		if h.hidden || s.orphans && parents[h.id] || h.id <= o.ExclusiveStartShardId {
			continue
		}
		if o.ShardFilter != nil && (h.parent != o.ShardFilter.ShardId || now.Before(h.opened.Add(s.engine.options.ChildFilterLag))) {
			continue
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b *shard) int { return strings.Compare(a.id, b.id) })
	return out
}

func (s *stream) describe(r *reply, h *shard, now time.Time) {
	r.text("ShardId", h.id)
	if h.parent != "" {
		r.text("ParentShardId", h.parent)
	}
	r.object("SequenceNumberRange", func() {
		r.text("StartingSequenceNumber", h.first.String())
		if !h.open() && !now.Before(h.closed.Add(s.engine.options.ListingLag)) {
			r.text("EndingSequenceNumber", h.last.String())
		}
	})
}
