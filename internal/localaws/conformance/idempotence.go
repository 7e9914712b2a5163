package conformance

import (
	"crypto/rand"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docToken = "API Reference, TransactWriteItems: ClientRequestToken"

func idempotenceCases() []Case {
	add := func(p *probe, table string, key item, token, amount string) error {
		_, err := p.target.DynamoDB.TransactWriteItems(p.ctx, &dynamodb.TransactWriteItemsInput{
			ClientRequestToken: &token,
			TransactItems:      []types.TransactWriteItem{transactUpdate(table, key, "ADD n :v", item{":v": num(amount)})},
		})
		return err
	}
	return []Case{
		{"transaction/token/repeated", docToken, func(p *probe) {
			table, key := p.simple()
			token := rand.Text()
			for range 3 {
				p.ok(add(p, table, key, token, "1"), "TransactWriteItems with a token")
			}
			p.stored(table, key, with(key, item{"n": num("1")}))
		}},
		{"transaction/token/another one", docToken, func(p *probe) {
			table, key := p.simple()
			p.ok(add(p, table, key, rand.Text(), "1"), "TransactWriteItems with a token")
			p.ok(add(p, table, key, rand.Text(), "1"), "TransactWriteItems with another token")
			p.stored(table, key, with(key, item{"n": num("2")}))
		}},
		{"transaction/token/other parameters", docToken, func(p *probe) {
			table, key := p.simple()
			token := rand.Text()
			p.ok(add(p, table, key, token, "1"), "TransactWriteItems with a token")
			p.refused(add(p, table, key, token, "2"), "TransactWriteItems with the token of another request", "IdempotentParameterMismatchException")
			p.stored(table, key, with(key, item{"n": num("1")}))
		}},
		{"transaction/token/after its effect was undone", docToken, func(p *probe) {
			table, key := p.simple()
			token := rand.Text()
			p.ok(add(p, table, key, token, "1"), "TransactWriteItems with a token")
			p.delete(table, key)
			p.ok(add(p, table, key, token, "1"), "TransactWriteItems with the same token")
			p.stored(table, key, nil)
		}},
		{"transaction/token/too long", docToken, func(p *probe) {
			table, key := p.simple()
			p.refused(add(p, table, key, rand.Text()+rand.Text(), "1"), "TransactWriteItems with a token of 52 characters", validation)
			p.stored(table, key, nil)
		}},
	}
}
