package conformance

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	docTransactStreams = "Developer Guide, Managing complex workflows with DynamoDB transactions: changes are propagated to streams"
	docUnchanged       = "Developer Guide, Change data capture for DynamoDB Streams: a write that does not change any data writes no stream record"
)

// streamSourceCases say which writes make records and which do not. For the
// latter, a write to the same item follows whose record must come next.
func streamSourceCases() []Case {
	streamedItem := func(p *probe) (table string, s stream, key item) {
		table, s = p.streamed(layout{view: types.StreamViewTypeNewAndOldImages})
		return table, s, item{"pk": str("a")}
	}
	finish := func(p *probe, table string, key item) {
		p.put(table, with(key, item{"end": boolean(true)}))
	}
	last := func(key item) string { return "MODIFY " + text(with(key, item{"end": boolean(true)})) }
	eventsUntilEnd := func(s stream, key item) []string {
		return summary(s.untilNewImage(key, "end", valueText(boolean(true))))
	}

	return []Case{
		{"stream/source/transaction", docTransactStreams, func(p *probe) {
			table, s, _ := streamedItem(p)
			keys := []item{{"pk": str("put")}, {"pk": str("update")}, {"pk": str("delete")}, {"pk": str("check")}}
			p.put(table, with(keys[1], item{"v": num("0")}))
			p.put(table, with(keys[2], item{"v": num("0")}))
			p.put(table, with(keys[3], item{"version": num("1")}))
			p.ok(p.transact(
				transactPut(table, with(keys[0], item{"v": num("1")})),
				transactUpdate(table, keys[1], "SET v = :v", item{":v": num("2")}),
				transactDelete(table, keys[2]),
				transactCheck(table, keys[3]),
			), "TransactWriteItems")
			records := s.all(6)
			p.same("events of the put", summary(ofItem(records, keys[0])), []string{"INSERT " + text(with(keys[0], item{"v": num("1")}))})
			p.same("events of the update", summary(ofItem(records, keys[1])), []string{"INSERT " + text(with(keys[1], item{"v": num("0")})), "MODIFY " + text(with(keys[1], item{"v": num("2")}))})
			p.same("events of the delete", summary(ofItem(records, keys[2])), []string{"INSERT " + text(with(keys[2], item{"v": num("0")})), "REMOVE {}"})
			p.same("number of events of the check", len(ofItem(records, keys[3])), 1)
		}},
		{"stream/source/repeated transaction", docToken, func(p *probe) {
			table, s, key := streamedItem(p)
			for range 2 {
				_, err := p.target.DynamoDB.TransactWriteItems(p.ctx, &dynamodb.TransactWriteItemsInput{
					ClientRequestToken: aws.String(table[len(table)-26:]),
					TransactItems:      []types.TransactWriteItem{transactUpdate(table, key, "ADD n :one", item{":one": num("1")})},
				})
				p.ok(err, "TransactWriteItems")
			}
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(with(key, item{"n": num("1")})), last(key)})
		}},
		{"stream/source/cancelled transaction", docTransactStreams, func(p *probe) {
			table, s, key := streamedItem(p)
			p.put(table, with(key, item{"v": num("1")}))
			p.refused(p.transact(
				transactUpdate(table, key, "SET v = :v", item{":v": num("2")}),
				transactCheck(table, item{"pk": str("missing")}),
			), "TransactWriteItems", cancelled)
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(with(key, item{"v": num("1")})), last(key)})
		}},
		{"stream/source/batch write", docBatchWrite, func(p *probe) {
			table, s, _ := streamedItem(p)
			var puts, deletes []types.WriteRequest
			for i := range 10 {
				key := item{"pk": str(fmt.Sprint(i))}
				puts, deletes = append(puts, batchPut(with(key, item{"v": num("1")}))), append(deletes, batchDelete(key))
			}
			p.ok(p.tryBatchWrite(table, puts...), "BatchWriteItem")
			p.ok(p.tryBatchWrite(table, deletes...), "BatchWriteItem")
			records := s.all(20)
			for i := range 10 {
				key := item{"pk": str(fmt.Sprint(i))}
				p.same("events of one item", summary(ofItem(records, key)), []string{"INSERT " + text(with(key, item{"v": num("1")})), "REMOVE {}"})
			}
		}},
		{"stream/source/none for a put that changes nothing", docUnchanged, func(p *probe) {
			table, s, key := streamedItem(p)
			it := with(key, everyType())
			p.put(table, it)
			p.put(table, it)
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(it), last(key)})
		}},
		{"stream/source/none for an update that changes nothing", docUnchanged, func(p *probe) {
			table, s, key := streamedItem(p)
			p.put(table, with(key, item{"v": num("1"), "tags": strs("a")}))
			p.update(table, key, "SET v = :v", item{":v": num("1.0")})
			p.update(table, key, "REMOVE nope ADD tags :a", item{":a": strs("a")})
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(with(key, item{"v": num("1"), "tags": strs("a")})), last(key)})
		}},
		{"stream/source/none for a delete of nothing", docUnchanged, func(p *probe) {
			table, s, key := streamedItem(p)
			p.delete(table, key)
			p.put(table, with(key, item{"v": num("1")}))
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(with(key, item{"v": num("1")})), last(key)})
		}},
		{"stream/source/none for a failed condition", docStreams, func(p *probe) {
			table, s, key := streamedItem(p)
			p.put(table, with(key, item{"v": num("1")}))
			_, err := p.target.DynamoDB.PutItem(p.ctx, &dynamodb.PutItemInput{TableName: &table, Item: key, ConditionExpression: aws.String("attribute_not_exists(pk)")})
			p.refused(err, "PutItem", conditionFailed)
			_, err = p.target.DynamoDB.DeleteItem(p.ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key, ConditionExpression: aws.String("attribute_not_exists(pk)")})
			p.refused(err, "DeleteItem", conditionFailed)
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(with(key, item{"v": num("1")})), last(key)})
		}},
		{"stream/source/none for a refused request", docStreams, func(p *probe) {
			table, s, key := streamedItem(p)
			p.put(table, with(key, item{"v": num("1")}))
			p.refused(p.tryUpdate(table, key, expression{text: "SET v = nope + :v", values: item{":v": num("1")}}), "UpdateItem", validation)
			p.refused(p.tryPut(table, with(key, item{"v": num("x")})), "PutItem", validation)
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(with(key, item{"v": num("1")})), last(key)})
		}},
		{"stream/source/none for a refused batch", docBatchWrite, func(p *probe) {
			table, s, key := streamedItem(p)
			p.put(table, with(key, item{"v": num("1")}))
			p.refused(p.tryBatchWrite(table, batchPut(key), batchDelete(key)), "BatchWriteItem", validation)
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(with(key, item{"v": num("1")})), last(key)})
		}},
		{"stream/source/update without an expression", docStreams, func(p *probe) {
			table, s, key := streamedItem(p)
			p.ok(p.tryUpdate(table, key, expression{}), "UpdateItem without an expression")
			p.ok(p.tryUpdate(table, key, expression{}), "UpdateItem without an expression")
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{"INSERT " + text(key), last(key)})
		}},
		{"stream/source/nothing from before it was enabled", docStreams, func(p *probe) {
			table := p.ownTable(layout{})
			key := item{"pk": str("a")}
			p.put(table, with(key, item{"v": num("1")}))
			p.setStream(table, types.StreamViewTypeNewAndOldImages)
			s := p.latestStream(table)
			finish(p, table, key)
			p.same("events", eventsUntilEnd(s, key), []string{last(key)})
		}},
	}
}
