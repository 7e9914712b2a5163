package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// layout is what the cases vary in a table. The partition key is always the
// string "pk"; the sort key, if there is one, is "sk".
type layout struct {
	sort types.ScalarAttributeType // "" for a table without a sort key
	view types.StreamViewType      // "" for a table without a stream
}

// tables creates tables and deletes them at the end. Not safe for concurrent
// use.
type tables struct {
	target   Target
	byLayout map[layout]string
	names    []string
}

func newTables(target Target) *tables {
	return &tables{target: target, byLayout: map[layout]string{}}
}

// table returns an active table of this layout that other cases use as well.
// Keep to partition keys of your own, see [probe.key].
func (p *probe) table(l layout) string {
	name, ok := p.shared.byLayout[l]
	if !ok {
		name = uniqueName("shared")
		p.create(p.shared, name, l)
		p.shared.byLayout[l] = name
	}
	return name
}

// ownTable returns a new active table that is deleted with the case.
func (p *probe) ownTable(l layout) string {
	name := uniqueName("own")
	p.create(p.own, name, l)
	return name
}

// key returns a partition key that no other case uses.
func (p *probe) key() types.AttributeValue { return str(rand.Text()) }

func uniqueName(kind string) string {
	return "conformance-" + kind + "-" + rand.Text()
}

func (p *probe) create(owner *tables, name string, l layout) {
	_, err := p.target.DynamoDB.CreateTable(p.ctx, l.input(name))
	p.ok(err, "CreateTable")
	owner.names = append(owner.names, name)
	p.waitActive(name)
}

func (l layout) input(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	}
	if l.sort != "" {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("sk"), AttributeType: l.sort})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange})
	}
	if l.view != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: l.view}
	}
	return in
}

func (p *probe) describeTable(name string) *types.TableDescription {
	out, err := p.target.DynamoDB.DescribeTable(p.ctx, &dynamodb.DescribeTableInput{TableName: &name})
	p.ok(err, "DescribeTable")
	return out.Table
}

func (p *probe) waitActive(name string) {
	p.until("table "+name+" to be ACTIVE", func() bool {
		return p.describeTable(name).TableStatus == types.TableStatusActive
	})
}

// deleteAll must also work after a case has run out of its time, so it takes
// a context of its own.
func (ts *tables) deleteAll(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, name := range ts.names {
		_, err := ts.target.DynamoDB.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		if err != nil && errorCode(err) != notFound {
			t.Log(fmt.Errorf("deleting table %s: %w", name, err))
		}
	}
}
