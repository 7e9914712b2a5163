package conformance

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	docRecord   = "API Reference, Record and StreamRecord"
	docViewType = "API Reference, StreamSpecification: StreamViewType"
	docStreams  = "Developer Guide, Change data capture for DynamoDB Streams"
)

func streamRecordCases() []Case {
	cases := []Case{
		{"stream/record/fields", docRecord, func(p *probe) {
			table, s := p.streamed(layout{sort: "N", view: dbtypes.StreamViewTypeNewAndOldImages})
			before := time.Now()
			key := item{"pk": str("a"), "sk": num("1")}
			p.put(table, with(key, item{"v": num("1")}))
			records := s.all(1)
			r := records[0]
			if aws.ToString(r.EventID) == "" || aws.ToString(r.EventVersion) == "" || aws.ToString(r.AwsRegion) == "" {
				p.errorf("eventID, eventVersion or awsRegion is missing: %+v", r.Record)
			}
			p.same("eventName", r.EventName, types.OperationTypeInsert)
			p.same("eventSource", aws.ToString(r.EventSource), "aws:dynamodb")
			if r.UserIdentity != nil {
				p.errorf("userIdentity of an ordinary write: got %+v, want none", r.UserIdentity)
			}
			p.same("StreamViewType", r.Dynamodb.StreamViewType, types.StreamViewTypeNewAndOldImages)
			p.same("Keys", r.keys(), text(key))
			p.sequenceNumber("SequenceNumber", r.sequence())
			if aws.ToInt64(r.Dynamodb.SizeBytes) <= 0 {
				p.errorf("SizeBytes: got %d, want the record's size", aws.ToInt64(r.Dynamodb.SizeBytes))
			}
			at := aws.ToTime(r.Dynamodb.ApproximateCreationDateTime)
			// A minute for clocks that differ; the value itself is rounded down.
			if at.Before(before.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
				p.errorf("ApproximateCreationDateTime: got %v, want about %v", at, before)
			}
		}},
		{"stream/record/kinds", docRecord, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewAndOldImages})
			key := item{"pk": str("a")}
			p.put(table, with(key, item{"v": num("1")}))
			p.put(table, with(key, item{"v": num("2")}))
			p.update(table, key, "SET v = :v", item{":v": num("3")})
			p.delete(table, key)
			p.same("events", summary(s.all(4)), []string{
				"INSERT " + text(with(key, item{"v": num("1")})),
				"MODIFY " + text(with(key, item{"v": num("2")})),
				"MODIFY " + text(with(key, item{"v": num("3")})),
				"REMOVE {}",
			})
		}},
		{"stream/record/one for an update that creates", docRecord, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewAndOldImages})
			key := item{"pk": str("a")}
			p.update(table, key, "SET v = :v", item{":v": num("1")})
			p.same("events", summary(s.all(1)), []string{"INSERT " + text(with(key, item{"v": num("1")}))})
		}},
		{"stream/record/old images", docRecord, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewAndOldImages})
			key := item{"pk": str("a")}
			p.put(table, with(key, item{"v": num("1"), "w": num("1")}))
			p.put(table, with(key, item{"v": num("2")}))
			p.delete(table, key)
			var got []string
			for _, r := range s.all(3) {
				got = append(got, r.old())
			}
			p.same("old images", got, []string{"{}", text(with(key, item{"v": num("1"), "w": num("1")})), text(with(key, item{"v": num("2")}))})
		}},
		{"stream/record/every type survives", docRecord, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewAndOldImages})
			key := item{"pk": str("a")}
			p.put(table, with(key, everyType()))
			p.delete(table, key)
			records := s.all(2)
			p.same("the new image", records[0].new(), text(with(key, everyType())))
			if len(records) == 2 {
				p.same("the old image", records[1].old(), text(with(key, everyType())))
			}
		}},
		{"stream/record/numbers are normalised", docRecord, func(p *probe) {
			table, s := p.streamed(layout{sort: "N", view: dbtypes.StreamViewTypeNewImage})
			p.put(table, item{"pk": str("a"), "sk": num("1e2"), "v": num("1.50")})
			r := s.all(1)[0]
			p.same("Keys", r.keys(), text(item{"pk": str("a"), "sk": num("100")}))
			p.same("NewImage", r.new(), text(item{"pk": str("a"), "sk": num("100"), "v": num("1.5")}))
		}},
		{"stream/record/binary keys", docRecord, func(p *probe) {
			table, s := p.streamed(layout{sort: "B", view: dbtypes.StreamViewTypeKeysOnly})
			key := item{"pk": str("a"), "sk": bin(0, 0xff)}
			p.put(table, key)
			p.same("Keys", s.all(1)[0].keys(), text(key))
		}},
		{"stream/record/ids are unique", docRecord, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeKeysOnly})
			for i := range 30 {
				p.put(table, item{"pk": str(fmt.Sprint(i))})
			}
			seen := map[string]bool{}
			for _, r := range s.all(30) {
				seen[aws.ToString(r.EventID)] = true
			}
			p.same("different eventIDs", len(seen), 30)
		}},
		{"stream/record/sequence numbers increase in a shard", docStreams, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeKeysOnly})
			for i := range 60 {
				p.put(table, item{"pk": str(fmt.Sprint(i % 10)), "v": num(fmt.Sprint(i))})
			}
			last := map[string]string{}
			for _, r := range s.all(60) {
				p.sequenceNumber("SequenceNumber", r.sequence())
				if before := last[r.shard]; before != "" && !laterThan(r.sequence(), before) {
					p.errorf("in shard %s, %s follows %s", r.shard, r.sequence(), before)
				}
				last[r.shard] = r.sequence()
			}
		}},
		{"stream/record/order of one item under concurrent writers", docStreams, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeNewImage})
			const items, writers, each = 3, 6, 15
			for pk := range items {
				p.put(table, item{"pk": str(fmt.Sprint(pk)), "n": num("0")})
			}
			errs := make(chan error, writers)
			for w := range writers {
				go func() {
					var err error
					for i := 0; i < each && err == nil; i++ {
						err = p.tryUpdate(table, item{"pk": str(fmt.Sprint(w % items))}, expression{text: "ADD n :one", values: item{":one": num("1")}})
					}
					errs <- err
				}()
			}
			for range writers {
				if err := <-errs; err != nil {
					p.errorf("UpdateItem: %v", err)
				}
			}
			records := s.all(items + writers*each)
			for pk := range items {
				var got, want []string
				for i, r := range ofItem(records, item{"pk": str(fmt.Sprint(pk))}) {
					got = append(got, valueText(fromStream(r.Dynamodb.NewImage)["n"]))
					want = append(want, valueText(num(fmt.Sprint(i))))
				}
				p.same("the item's counter, record by record", got, want)
			}
		}},
		{"stream/record/one item stays in one shard's lineage", docStreams, func(p *probe) {
			table, s := p.streamed(layout{view: dbtypes.StreamViewTypeKeysOnly})
			for i := range 40 {
				p.put(table, item{"pk": str(fmt.Sprint(i % 8)), "v": num(fmt.Sprint(i))})
			}
			records := s.all(40)
			parents := map[string]string{}
			for _, shard := range s.shards() {
				parents[*shard.ShardId] = aws.ToString(shard.ParentShardId)
			}
			for pk := range 8 {
				last := ""
				for _, r := range ofItem(records, item{"pk": str(fmt.Sprint(pk))}) {
					if last != "" && r.shard != last && !descends(parents, r.shard, last) {
						p.errorf("item %d moved from shard %s to %s, which is no descendant", pk, last, r.shard)
					}
					last = r.shard
				}
			}
		}},
	}
	return append(cases, viewTypeCases()...)
}

func descends(parents map[string]string, shard, ancestor string) bool {
	for range len(parents) {
		if shard = parents[shard]; shard == ancestor {
			return true
		}
	}
	return false
}

func viewTypeCases() []Case {
	key := item{"pk": str("a")}
	first, second := with(key, item{"v": num("1")}), with(key, item{"v": num("2")})
	var cases []Case
	for _, tc := range []struct {
		view     dbtypes.StreamViewType
		old, new bool
	}{
		{dbtypes.StreamViewTypeKeysOnly, false, false},
		{dbtypes.StreamViewTypeNewImage, false, true},
		{dbtypes.StreamViewTypeOldImage, true, false},
		{dbtypes.StreamViewTypeNewAndOldImages, true, true},
	} {
		cases = append(cases, Case{"stream/view/" + string(tc.view), docViewType, func(p *probe) {
			table, s := p.streamed(layout{view: tc.view})
			p.put(table, first)
			p.put(table, second)
			p.delete(table, key)
			olds, news := []item{nil, first, second}, []item{first, second, nil}
			for i, r := range s.all(3) {
				if i >= len(olds) {
					break
				}
				p.same("Keys", r.keys(), text(key))
				p.same("StreamViewType", r.Dynamodb.StreamViewType, tc.view)
				p.image("OldImage", fromStream(r.Dynamodb.OldImage), olds[i], tc.old)
				p.image("NewImage", fromStream(r.Dynamodb.NewImage), news[i], tc.new)
			}
		}})
	}
	return cases
}

// image compares an image, which must be absent if the view does not have it
// or if there was no item.
func (p *probe) image(what string, got, want item, inView bool) {
	if !inView {
		want = nil
	}
	if want == nil && got != nil {
		p.errorf("%s: got %s, want none", what, text(got))
		return
	}
	p.same(what, text(got), text(want))
}
