package conformance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	docTransact  = "API Reference, TransactWriteItems"
	docCancelled = "API Reference, TransactionCanceledException"
)

func transactUpdate(table string, key item, update string, values item) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: &table, Key: key, UpdateExpression: &update, ExpressionAttributeValues: values}}
}

func transactDelete(table string, key item) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: key}}
}

// transactCheck requires an item to exist, and wants it back if its version
// is not 1.
func transactCheck(table string, key item) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &table, Key: key, ConditionExpression: aws.String("version = :v"),
		ExpressionAttributeValues:           item{":v": num("1")},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// reasons checks that err cancels a transaction with these codes, and returns
// the reasons.
func (p *probe) reasons(err error, codes ...string) []types.CancellationReason {
	var c *types.TransactionCanceledException
	if !errors.As(err, &c) {
		p.fatalf("want a cancelled transaction, got %s", describe(err))
	}
	got := make([]string, 0, len(c.CancellationReasons))
	for _, reason := range c.CancellationReasons {
		got = append(got, aws.ToString(reason.Code))
	}
	p.same("codes of the cancellation reasons", got, codes)
	if len(got) != len(codes) {
		p.fatalf("got %d reasons, want one for each of the %d items", len(got), len(codes))
	}
	return c.CancellationReasons
}

func transactionCases() []Case {
	return []Case{
		{"transaction/all kinds", docTransact, func(p *probe) {
			table, keys := p.batchKeys(4)
			p.put(table, with(keys[1], item{"n": num("1")}))
			p.put(table, keys[2])
			p.put(table, with(keys[3], item{"version": num("1")}))
			p.ok(p.transact(
				transactPut(table, with(keys[0], item{"a": num("1")})),
				transactUpdate(table, keys[1], "SET n = n + :one", item{":one": num("1")}),
				transactDelete(table, keys[2]),
				transactCheck(table, keys[3]),
			), "TransactWriteItems")
			p.stored(table, keys[0], with(keys[0], item{"a": num("1")}))
			p.stored(table, keys[1], with(keys[1], item{"n": num("2")}))
			p.stored(table, keys[2], nil)
			p.stored(table, keys[3], with(keys[3], item{"version": num("1")}))
		}},
		{"transaction/several tables", docTransact, func(p *probe) {
			table, key := p.simple()
			other := p.table(layout{sort: "N"})
			otherKey := item{"pk": key["pk"], "sk": num("1")}
			p.ok(p.transact(transactPut(table, key), transactPut(other, otherKey)), "TransactWriteItems")
			p.stored(table, key, key)
			p.stored(other, otherKey, otherKey)
		}},
		{"transaction/none if one condition fails", docTransact, func(p *probe) {
			table, keys := p.batchKeys(4)
			p.put(table, keys[2])
			p.put(table, with(keys[3], item{"version": num("2")}))
			err := p.transact(
				transactPut(table, keys[0]),
				transactUpdate(table, keys[1], "SET n = :one", item{":one": num("1")}),
				transactDelete(table, keys[2]),
				transactCheck(table, keys[3]),
			)
			p.reasons(err, "None", "None", "None", "ConditionalCheckFailed")
			p.stored(table, keys[0], nil)
			p.stored(table, keys[1], nil)
			p.stored(table, keys[2], keys[2])
		}},
		{"transaction/reasons", docCancelled, func(p *probe) {
			table, keys := p.batchKeys(3)
			old := with(keys[2], item{"version": num("2"), "m": dict(item{"b": bin(1)})})
			p.put(table, old)
			reasons := p.reasons(
				p.transact(transactCheck(table, keys[0]), transactPut(table, keys[1]), transactCheck(table, keys[2])),
				"ConditionalCheckFailed", "None", "ConditionalCheckFailed")
			p.same("the message of a failed one", aws.ToString(reasons[0].Message), "The conditional request failed")
			p.same("the item of a missing one", text(reasons[0].Item), text(nil))
			if reasons[1].Message != nil {
				p.errorf("the message of one without error: got %q, want none", *reasons[1].Message)
			}
			p.same("the item of one without error", text(reasons[1].Item), text(nil))
			p.same("the item of a failed one", text(reasons[2].Item), text(old))
		}},
		{"transaction/items on request only", docOnFailure, func(p *probe) {
			table, keys := p.batchKeys(3)
			for _, key := range keys {
				p.put(table, key)
			}
			absent := aws.String("attribute_not_exists(pk)")
			reasons := p.reasons(p.transact(
				types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: keys[0], ConditionExpression: absent}},
				types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: with(keys[1], item{"a": num("1")}), ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}},
				types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: keys[2], ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}},
			), "ConditionalCheckFailed", "ConditionalCheckFailed", "ConditionalCheckFailed")
			p.same("an item not asked for", text(reasons[0].Item), text(nil))
			p.same("the item of the put", text(reasons[1].Item), text(keys[1]))
			p.same("the item of the delete", text(reasons[2].Item), text(keys[2]))
		}},
		{"transaction/an update that cannot be applied", docCancelled, func(p *probe) {
			table, keys := p.batchKeys(2)
			p.put(table, with(keys[1], item{"s": str("text")}))
			err := p.transact(transactPut(table, keys[0]), transactUpdate(table, keys[1], "SET s = s + :one", item{":one": num("1")}))
			p.reasons(err, "None", "ValidationError")
			p.stored(table, keys[0], nil)
		}},
		{"transaction/an update that grows too large", docCancelled, func(p *probe) {
			table, keys := p.batchKeys(2)
			p.put(table, with(keys[1], item{"a": str(strings.Repeat("x", 300*1024))}))
			err := p.transact(transactPut(table, keys[0]), transactUpdate(table, keys[1], "SET b = :b", item{":b": str(strings.Repeat("x", 150*1024))}))
			p.reasons(err, "None", "ValidationError")
			p.stored(table, keys[0], nil)
		}},
		{"transaction/one item twice", docTransact, func(p *probe) {
			table, keys := p.batchKeys(1)
			err := p.transact(transactPut(table, keys[0]), transactDelete(table, keys[0]))
			p.refused(err, "two operations on one item", validation)
			p.put(table, with(keys[0], item{"version": num("1")}))
			err = p.transact(transactCheck(table, keys[0]), transactUpdate(table, keys[0], "SET a = :v", item{":v": num("1")}))
			p.refused(err, "a check and an update of one item", validation)
			p.stored(table, keys[0], with(keys[0], item{"version": num("1")}))
		}},
		{"transaction/100", docTransact, func(p *probe) {
			table, keys := p.batchKeys(101)
			var items []types.TransactWriteItem
			for _, key := range keys {
				items = append(items, transactPut(table, key))
			}
			p.refused(p.transact(items...), "TransactWriteItems of 101", validation)
			p.stored(table, keys[0], nil)
			p.ok(p.transact(items[:100]...), "TransactWriteItems of 100")
			p.stored(table, keys[99], keys[99])
		}},
		{"transaction/4 MB", docTransact, func(p *probe) {
			table, keys := p.batchKeys(14)
			var items []types.TransactWriteItem
			for _, key := range keys {
				items = append(items, transactPut(table, with(key, item{"a": str(strings.Repeat("x", 350*1024))})))
			}
			p.refused(p.transact(items...), "TransactWriteItems of 4.8 MB", validation, cancelled)
			p.stored(table, keys[0], nil)
		}},
		{"transaction/malformed", docTransact, func(p *probe) {
			table, keys := p.batchKeys(2)
			p.refused(p.transact(), "TransactWriteItems of nothing", validation)
			p.refused(p.transact(types.TransactWriteItem{}), "an item that is no operation", validation)
			p.refused(p.transact(transactPut(table, item{"a": num("1")})), "a put without a key", validation, cancelled)
			p.refused(p.transact(transactUpdate(table, keys[0], "SET a = :nope", nil)), "an update with an undefined value", validation)
			p.refused(p.transact(transactUpdate(table, keys[0], "SET a = :v", item{":v": num("1"), ":unused": num("1")})), "an update with an unused value", validation)
			p.refused(p.transact(types.TransactWriteItem{
				Put:    &types.Put{TableName: &table, Item: keys[0]},
				Delete: &types.Delete{TableName: &table, Key: keys[1]},
			}), "two operations in one item", validation)
		}},
		{"transaction/a missing table", docTransact, func(p *probe) {
			table, key := p.simple()
			p.refused(p.transact(transactPut(table, key), transactPut(uniqueName("absent"), key)), "TransactWriteItems to a missing table", notFound)
			p.stored(table, key, nil)
		}},
		{"transaction/one winner of a race", docTransact, func(p *probe) {
			table, key := p.simple()
			const racers = 8
			errs := make(chan error, racers)
			for i := range racers {
				go func() {
					errs <- p.transact(types.TransactWriteItem{Put: &types.Put{
						TableName: &table, Item: with(key, item{"racer": num(fmt.Sprint(i))}), ConditionExpression: aws.String("attribute_not_exists(pk)"),
					}})
				}()
			}
			winners := 0
			for range racers {
				if err := <-errs; err == nil {
					winners++
				} else if errorCode(err) != cancelled {
					p.errorf("TransactWriteItems: got %v, want a cancelled transaction", err)
				}
			}
			p.same("winners", winners, 1)
		}},
	}
}
