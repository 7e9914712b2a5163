package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// lineage answers for a stream of several shards: it lists one shard a page,
// children before their parents, and gives one record a page, after an empty
// one. The last record of a closed shard comes with the null iterator.
type lineage struct {
	shards  []string            // in the order of the listing
	parent  map[string]string   // by shard
	closed  map[string]bool     // by shard
	records map[string][]string // partition keys, by shard
}

func (l lineage) Do(r *http.Request) (*http.Response, error) {
	var in struct{ ExclusiveStartShardId, ShardId, ShardIterator string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	type object = map[string]any
	var out any
	switch operation := r.Header.Get("X-Amz-Target"); {
	case strings.HasSuffix(operation, ".DescribeStream"):
		place := 0
		for i, shard := range l.shards {
			if shard == in.ExclusiveStartShardId {
				place = i + 1
			}
		}
		shard := object{"ShardId": l.shards[place]}
		if parent := l.parent[l.shards[place]]; parent != "" {
			shard["ParentShardId"] = parent
		}
		description := object{"Shards": []any{shard}}
		if place+1 < len(l.shards) {
			description["LastEvaluatedShardId"] = l.shards[place]
		}
		out = object{"StreamDescription": description}
	case strings.HasSuffix(operation, ".GetShardIterator"):
		out = object{"ShardIterator": in.ShardId + " 0 empty"}
	case strings.HasSuffix(operation, ".GetRecords"):
		part := strings.Fields(in.ShardIterator)
		shard, records := part[0], l.records[part[0]]
		place, err := strconv.Atoi(part[1])
		if err != nil {
			return nil, fmt.Errorf("reading the iterator: %w", err)
		}
		answer := object{"Records": []any{}}
		if len(part) == 2 && place < len(records) {
			answer["Records"] = []any{object{"dynamodb": object{
				"Keys": object{"pk": object{"S": records[place]}}, "SequenceNumber": strconv.Itoa(place),
			}}}
			place++
		}
		if place < len(records) || !l.closed[shard] {
			answer["NextShardIterator"] = fmt.Sprintf("%s %d", shard, place)
		}
		out = answer
	default:
		return nil, fmt.Errorf("unexpected operation %q", operation)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("writing the answer: %w", err)
	}
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(bytes.NewReader(body)),
		Request:    r,
	}, nil
}

func TestReaderFollowsTheLineage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lineage{
			shards: []string{"grandchild", "child1", "child2", "parent", "orphan", "alone"},
			parent: map[string]string{"grandchild": "child1", "child1": "parent", "child2": "parent", "orphan": "trimmed"},
			closed: map[string]bool{"parent": true, "child1": true},
			records: map[string][]string{
				"parent": {"p1", "p2", "p3"}, "child1": {"c1"}, "child2": {"d1", "d2"}, "grandchild": {"g1"}, "orphan": {"o1"}, "alone": nil,
			},
		}
		p := &probe{ctx: context.Background(), target: Target{Streams: dynamodbstreams.New(dynamodbstreams.Options{
			Region: "us-east-1", HTTPClient: l, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			BaseEndpoint: aws.String("http://localhost"),
		})}.withDefaults()}

		var records []placed
		p.run(func(p *probe) { records = stream{p, "arn"}.all(8) })
		if len(p.failures) > 0 {
			t.Fatal(strings.Join(p.failures, "\n"))
		}
		place := map[string]int{}
		for i, r := range records {
			place[r.shard+" "+r.keys()] = i
		}
		for _, pair := range [][2]string{
			{"parent p1", "parent p2"},
			{"parent p2", "parent p3"},
			{"parent p3", "child1 c1"},
			{"parent p3", "child2 d1"},
			{"child2 d1", "child2 d2"},
			{"child1 c1", "grandchild g1"},
		} {
			first, second := recordName(pair[0]), recordName(pair[1])
			i, okFirst := place[first]
			j, okSecond := place[second]
			if !okFirst || !okSecond || i >= j {
				t.Errorf("want %s before %s, got places %d and %d of %v", first, second, i, j, place)
			}
		}
		if _, ok := place[recordName("orphan o1")]; !ok {
			t.Errorf("a shard whose parent is trimmed was not read")
		}
	})
}

func recordName(shardAndKey string) string {
	shard, key, _ := strings.Cut(shardAndKey, " ")
	return shard + " " + text(item{"pk": str(key)})
}
