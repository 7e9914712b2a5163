package conformance

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// stream is a stream under test.
type stream struct {
	*probe
	arn string
}

// streamed returns a new table with a stream of this view.
func (p *probe) streamed(l layout) (table string, s stream) {
	table = p.ownTable(l)
	return table, p.latestStream(table)
}

// latestStream returns a table's stream when it has come up.
func (p *probe) latestStream(table string) stream {
	arn := p.describeTable(table).LatestStreamArn
	if arn == nil {
		p.fatalf("table %s has no LatestStreamArn", table)
	}
	s := stream{p, *arn}
	p.until("the stream to be ENABLED and have a shard", func() bool {
		d := s.describe()
		return d.StreamStatus == types.StreamStatusEnabled && len(d.Shards) > 0
	})
	return s
}

func (s stream) describe() *types.StreamDescription {
	out, err := s.target.Streams.DescribeStream(s.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn})
	s.ok(err, "DescribeStream")
	if out.StreamDescription == nil {
		s.fatalf("DescribeStream answered no description")
	}
	return out.StreamDescription
}

// shards lists all shards, page by page.
func (s stream) shards() []types.Shard {
	var all []types.Shard
	var start *string
	for {
		out, err := s.target.Streams.DescribeStream(s.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn, ExclusiveStartShardId: start})
		s.ok(err, "DescribeStream")
		all = append(all, out.StreamDescription.Shards...)
		if start = out.StreamDescription.LastEvaluatedShardId; start == nil {
			return all
		}
	}
}

func (s stream) tryIterator(in dynamodbstreams.GetShardIteratorInput) (*string, error) {
	if in.StreamArn == nil {
		in.StreamArn = &s.arn
	}
	out, err := s.target.Streams.GetShardIterator(s.ctx, &in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

func (s stream) iterator(shard string, kind types.ShardIteratorType, sequence string) *string {
	it, err := s.tryIterator(dynamodbstreams.GetShardIteratorInput{ShardId: &shard, ShardIteratorType: kind, SequenceNumber: optional(sequence)})
	s.ok(err, "GetShardIterator "+string(kind))
	if it == nil {
		s.fatalf("GetShardIterator %s answered no iterator", kind)
	}
	return it
}

func (s stream) page(iterator *string, limit int32) *dynamodbstreams.GetRecordsOutput {
	in := &dynamodbstreams.GetRecordsInput{ShardIterator: iterator}
	if limit > 0 {
		in.Limit = &limit
	}
	out, err := s.target.Streams.GetRecords(s.ctx, in)
	s.ok(err, "GetRecords")
	return out
}

// placed is a record with the shard that it was read from.
type placed struct {
	types.Record
	shard string
}

func (r placed) sequence() string { return aws.ToString(r.Dynamodb.SequenceNumber) }
func (r placed) keys() string     { return text(fromStream(r.Dynamodb.Keys)) }
func (r placed) old() string      { return text(fromStream(r.Dynamodb.OldImage)) }
func (r placed) new() string      { return text(fromStream(r.Dynamodb.NewImage)) }

// reader reads a whole stream from its oldest record on. A shard is begun
// when its parent has been read to the end, or is not listed: only so are the
// records of one item in the order of its changes.
type reader struct {
	stream
	next    map[string]*string // iterators of the shards being read; nil at the end of one
	records []placed
}

func (s stream) reader() *reader { return &reader{stream: s, next: map[string]*string{}} }

// round begins the shards that may be begun, and takes a page of each.
func (r *reader) round() {
	shards := r.shards()
	listed := make(map[string]bool, len(shards))
	for _, shard := range shards {
		listed[*shard.ShardId] = true
	}
	for _, shard := range shards {
		parent := aws.ToString(shard.ParentShardId)
		if _, begun := r.next[*shard.ShardId]; !begun && (!listed[parent] || r.finished(parent)) {
			r.next[*shard.ShardId] = r.iterator(*shard.ShardId, types.ShardIteratorTypeTrimHorizon, "")
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(r.next)) {
		if r.next[shard] == nil {
			continue
		}
		out := r.page(r.next[shard], 0)
		r.next[shard] = out.NextShardIterator
		for _, record := range out.Records {
			if record.Dynamodb == nil {
				r.fatalf("a record has no body: %+v", record)
			}
			r.records = append(r.records, placed{record, shard})
		}
	}
}

func (r *reader) finished(shard string) bool {
	next, begun := r.next[shard]
	return begun && next == nil
}

// all reads until the stream has shown this many records, and then once more,
// to see one that should not be there. A case that counts on the absence of a
// record must not rest on that last look, but write something later to the
// same item and wait for its record: the order of one item is promised.
func (s stream) all(want int) []placed {
	r := s.reader()
	s.until("the records of the stream", func() bool {
		r.round()
		return len(r.records) >= want
	})
	r.round()
	if len(r.records) != want {
		s.errorf("the stream has %d records, want %d", len(r.records), want)
	}
	return r.records
}

// ofItem returns the records of one item, in the order of the stream.
func ofItem(records []placed, key item) []placed {
	var mine []placed
	for _, record := range records {
		if record.keys() == text(key) {
			mine = append(mine, record)
		}
	}
	return mine
}

// untilNewImage reads until an item's record shows this attribute value, and
// returns all the records of that item so far.
func (s stream) untilNewImage(key item, attribute, value string) []placed {
	r := s.reader()
	s.until("the record with "+attribute+"="+value, func() bool {
		r.round()
		return slices.ContainsFunc(ofItem(r.records, key), func(one placed) bool {
			got, ok := fromStream(one.Dynamodb.NewImage)[attribute]
			return ok && valueText(got) == value
		})
	})
	return ofItem(r.records, key)
}

// summary writes records as event names with their new images, for comparison.
func summary(records []placed) []string {
	lines := make([]string, 0, len(records))
	for _, record := range records {
		lines = append(lines, string(record.EventName)+" "+record.new())
	}
	return lines
}

// laterThan compares two sequence numbers: numerically, for their texts can
// have different lengths.
func laterThan(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}
