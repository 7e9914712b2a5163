package conformance

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	docCreateTable   = "API Reference, CreateTable"
	docDescribeTable = "API Reference, DescribeTable and TableDescription"
	docUpdateTable   = "API Reference, UpdateTable: StreamSpecification"
	docDeleteTable   = "API Reference, DeleteTable"
	docListTables    = "API Reference, ListTables"
	docNames         = "Developer Guide, Supported data types and naming rules"
)

func tableCases() []Case {
	return []Case{
		{"table/create/describe", docDescribeTable, func(p *probe) {
			name := uniqueName("own")
			in := layout{sort: types.ScalarAttributeTypeN}.input(name)
			out, err := p.target.DynamoDB.CreateTable(p.ctx, in)
			p.ok(err, "CreateTable")
			p.own.names = append(p.own.names, name)
			if s := out.TableDescription.TableStatus; s != types.TableStatusCreating && s != types.TableStatusActive {
				p.errorf("TableStatus of CreateTable: got %s, want CREATING (or ACTIVE already)", s)
			}
			p.waitActive(name)

			d := p.describeTable(name)
			p.same("TableName", aws.ToString(d.TableName), name)
			p.same("KeySchema", schemaText(d.KeySchema), "pk:HASH sk:RANGE")
			p.same("AttributeDefinitions", definitionsText(d.AttributeDefinitions), "pk:S sk:N")
			if arn := aws.ToString(d.TableArn); !strings.HasPrefix(arn, "arn:") || !strings.HasSuffix(arn, ":table/"+name) {
				p.errorf("TableArn: got %q, want arn:...:table/%s", arn, name)
			}
			if d.CreationDateTime == nil {
				p.errorf("CreationDateTime is missing")
			}
			if d.BillingModeSummary == nil || d.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
				p.errorf("BillingModeSummary: got %v, want PAY_PER_REQUEST", d.BillingModeSummary)
			}
			p.same("ItemCount of a new table", aws.ToInt64(d.ItemCount), 0)
			if d.LatestStreamArn != nil || d.StreamSpecification != nil {
				p.errorf("a table without a stream names one: %q, %v", aws.ToString(d.LatestStreamArn), d.StreamSpecification)
			}
		}},
		{"table/create/stream", docDescribeTable, func(p *probe) {
			name := p.ownTable(layout{view: types.StreamViewTypeNewImage})
			d := p.describeTable(name)
			if d.StreamSpecification == nil || !aws.ToBool(d.StreamSpecification.StreamEnabled) {
				p.fatalf("StreamSpecification: got %v, want enabled", d.StreamSpecification)
			}
			p.same("StreamViewType", d.StreamSpecification.StreamViewType, types.StreamViewTypeNewImage)
			label := aws.ToString(d.LatestStreamLabel)
			if arn := aws.ToString(d.LatestStreamArn); label == "" || arn != aws.ToString(d.TableArn)+"/stream/"+label {
				p.errorf("LatestStreamArn: got %q, want the table's ARN, /stream/ and the label %q", arn, label)
			}
		}},
		{"table/create/existing", docCreateTable, func(p *probe) {
			name := p.ownTable(layout{})
			_, err := p.target.DynamoDB.CreateTable(p.ctx, layout{}.input(name))
			p.refused(err, "CreateTable of an existing table", inUse)
		}},
		{"table/create/bad name", docNames, func(p *probe) {
			for _, name := range []string{"ab", strings.Repeat("a", 256), "with space", "slash/name"} {
				p.refusedTable(layout{}.input(name), "CreateTable named "+name)
			}
		}},
		{"table/create/bad schema", docCreateTable, func(p *probe) {
			for what, spoil := range map[string]func(*dynamodb.CreateTableInput){
				"an undefined key attribute": func(in *dynamodb.CreateTableInput) { in.KeySchema[1].AttributeName = aws.String("other") },
				"an unused definition":       func(in *dynamodb.CreateTableInput) { in.KeySchema = in.KeySchema[:1] },
				"the sort key first":         func(in *dynamodb.CreateTableInput) { slices.Reverse(in.KeySchema) },
				"two partition keys":         func(in *dynamodb.CreateTableInput) { in.KeySchema[1].KeyType = types.KeyTypeHash },
				"a key of type BOOL":         func(in *dynamodb.CreateTableInput) { in.AttributeDefinitions[1].AttributeType = "BOOL" },
			} {
				in := layout{sort: types.ScalarAttributeTypeN}.input(uniqueName("refused"))
				spoil(in)
				p.refusedTable(in, "CreateTable with "+what)
			}
		}},
		{"table/create/stream without view type", "API Reference, StreamSpecification", func(p *probe) {
			in := layout{}.input(uniqueName("refused"))
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true)}
			p.refusedTable(in, "CreateTable with a stream of no view type")
		}},
		{"table/describe/missing", docDescribeTable, func(p *probe) {
			_, err := p.target.DynamoDB.DescribeTable(p.ctx, &dynamodb.DescribeTableInput{TableName: aws.String(uniqueName("absent"))})
			p.refused(err, "DescribeTable of a missing table", notFound)
		}},
		{"table/delete", docDeleteTable, func(p *probe) {
			name := p.ownTable(layout{})
			p.put(name, item{"pk": str("a")})
			out, err := p.target.DynamoDB.DeleteTable(p.ctx, &dynamodb.DeleteTableInput{TableName: &name})
			p.ok(err, "DeleteTable")
			p.same("TableName of DeleteTable", aws.ToString(out.TableDescription.TableName), name)
			p.until("the table to be gone", func() bool {
				_, err := p.target.DynamoDB.DescribeTable(p.ctx, &dynamodb.DescribeTableInput{TableName: &name})
				return errorCode(err) == notFound
			})
			_, err = p.target.DynamoDB.DeleteTable(p.ctx, &dynamodb.DeleteTableInput{TableName: &name})
			p.refused(err, "DeleteTable of a missing table", notFound)
			p.create(p.own, name, layout{})
			p.stored(name, item{"pk": str("a")}, nil)
		}},
		{"table/list/paging", docListTables, func(p *probe) {
			want := []string{p.ownTable(layout{}), p.ownTable(layout{}), p.ownTable(layout{})}
			var got []string
			var start *string
			for {
				out, err := p.target.DynamoDB.ListTables(p.ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(2), ExclusiveStartTableName: start})
				p.ok(err, "ListTables")
				if len(out.TableNames) > 2 {
					p.fatalf("ListTables with Limit 2 returned %d names", len(out.TableNames))
				}
				got = append(got, out.TableNames...)
				if start = out.LastEvaluatedTableName; start == nil {
					break
				}
			}
			for _, name := range want {
				if n := count(got, func(s string) bool { return s == name }); n != 1 {
					p.errorf("%s is listed %d times in the pages, want once", name, n)
				}
			}
		}},
		{"table/list/bad limit", docListTables, func(p *probe) {
			_, err := p.target.DynamoDB.ListTables(p.ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(101)})
			p.refused(err, "ListTables with Limit 101", validation)
		}},
		{"table/update/stream on", docUpdateTable, func(p *probe) {
			name := p.ownTable(layout{})
			p.setStream(name, types.StreamViewTypeKeysOnly)
			d := p.describeTable(name)
			if d.StreamSpecification == nil || d.StreamSpecification.StreamViewType != types.StreamViewTypeKeysOnly || d.LatestStreamArn == nil {
				p.errorf("after enabling the stream: got %v and ARN %q", d.StreamSpecification, aws.ToString(d.LatestStreamArn))
			}
		}},
		{"table/update/stream off", docUpdateTable, func(p *probe) {
			name := p.ownTable(layout{view: types.StreamViewTypeKeysOnly})
			p.setStream(name, "")
			if d := p.describeTable(name); d.StreamSpecification != nil && aws.ToBool(d.StreamSpecification.StreamEnabled) {
				p.errorf("after disabling the stream it is enabled still")
			}
		}},
		{"table/update/stream on again", docUpdateTable, func(p *probe) {
			name := p.ownTable(layout{view: types.StreamViewTypeKeysOnly})
			_, err := p.target.DynamoDB.UpdateTable(p.ctx, streamChange(name, types.StreamViewTypeNewImage))
			p.refused(err, "enabling the stream of a table that has one", validation)
		}},
		{"table/update/stream off again", docUpdateTable, func(p *probe) {
			name := p.ownTable(layout{})
			_, err := p.target.DynamoDB.UpdateTable(p.ctx, streamChange(name, ""))
			p.refused(err, "disabling the stream of a table that has none", validation)
		}},
		{"table/update/missing", docUpdateTable, func(p *probe) {
			_, err := p.target.DynamoDB.UpdateTable(p.ctx, streamChange(uniqueName("absent"), types.StreamViewTypeKeysOnly))
			p.refused(err, "UpdateTable of a missing table", notFound)
		}},
	}
}

// refusedTable checks that a table is not created, and deletes it if it is.
func (p *probe) refusedTable(in *dynamodb.CreateTableInput, call string) {
	_, err := p.target.DynamoDB.CreateTable(p.ctx, in)
	if err == nil {
		p.own.names = append(p.own.names, *in.TableName)
	}
	p.refused(err, call, validation)
}

// streamChange enables the stream with this view, or disables it for "".
func streamChange(table string, view types.StreamViewType) *dynamodb.UpdateTableInput {
	return &dynamodb.UpdateTableInput{
		TableName:           &table,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(view != ""), StreamViewType: view},
	}
}

func (p *probe) setStream(table string, view types.StreamViewType) {
	_, err := p.target.DynamoDB.UpdateTable(p.ctx, streamChange(table, view))
	p.ok(err, "UpdateTable")
	p.waitActive(table)
}

func schemaText(schema []types.KeySchemaElement) string {
	parts := make([]string, 0, len(schema))
	for _, element := range schema {
		parts = append(parts, aws.ToString(element.AttributeName)+":"+string(element.KeyType))
	}
	return strings.Join(parts, " ")
}

func definitionsText(definitions []types.AttributeDefinition) string {
	parts := make([]string, 0, len(definitions))
	for _, d := range definitions {
		parts = append(parts, aws.ToString(d.AttributeName)+":"+string(d.AttributeType))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func count[T any](all []T, match func(T) bool) int {
	n := 0
	for _, one := range all {
		if match(one) {
			n++
		}
	}
	return n
}
