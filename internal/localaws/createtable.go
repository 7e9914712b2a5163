package localaws

import (
	"fmt"
	"maps"
	"slices"
)

type createTable struct {
	TableName                 string
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keySchemaElement
	BillingMode               string
	ProvisionedThroughput     *throughput
	StreamSpecification       *streamSpecification
	DeletionProtectionEnabled bool
	TableClass                string
	Tags                      []tag
}

func (o *createTable) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *createTable) run(e *Engine, c *callContext) (*reply, error) {
	name := plainName(o.TableName)
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	if o.TableClass != "" && o.TableClass != "STANDARD" {
		return nil, invalid("The local engine has no table class %s", o.TableClass)
	}
	keys, err := o.schema()
	if err != nil {
		return nil, err
	}
	bill, err := billingOf(o.BillingMode, o.ProvisionedThroughput)
	if err != nil {
		return nil, err
	}
	if err := o.StreamSpecification.check(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tables[name] != nil {
		return nil, refuse("ResourceInUseException", "Table already exists: %s", name)
	}
	id := e.identity()
	t := &table{
		name: name, arn: e.tableARN(name), schema: keys, created: c.now, billing: bill,
		id:        fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", id>>32, id>>16&0xffff, id>>4&0xfff, id&0xfff, mix(id)>>16),
		protected: o.DeletionProtectionEnabled, tags: o.Tags,
	}
	e.tables[name] = t
	if o.StreamSpecification != nil && o.StreamSpecification.StreamEnabled {
		e.enableStream(t, o.StreamSpecification.StreamViewType, c.now)
	}
	r := newReply()
	t.describe(r, "TableDescription", "CREATING")
	return r, nil
}

// schema checks the key schema against the attribute definitions.
func (o *createTable) schema() (schema, error) {
	kinds := map[string]string{}
	for _, d := range o.AttributeDefinitions {
		if d.AttributeType != "S" && d.AttributeType != "N" && d.AttributeType != "B" {
			return schema{}, invalid("Member must satisfy enum value set: [B, N, S]; AttributeType: %s", d.AttributeType)
		}
		kinds[d.AttributeName] = d.AttributeType
	}
	roles := []string{"HASH", "RANGE"}
	if len(o.KeySchema) < 1 || len(o.KeySchema) > 2 {
		return schema{}, invalid("1 validation error detected: Value at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2 and greater than or equal to 1")
	}
	var keys [2]keyAttribute
	for i, k := range o.KeySchema {
		if k.KeyType != roles[i] {
			return schema{}, invalid("Invalid KeySchema: The %s KeySchemaElement is not a %s key type", []string{"first", "second"}[i], roles[i])
		}
		kind, ok := kinds[k.AttributeName]
		if !ok {
			return schema{}, invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: %v", k.AttributeName, slices.Sorted(maps.Keys(kinds)))
		}
		keys[i] = keyAttribute{Name: k.AttributeName, Kind: kind}
	}
	if keys[0].Name == keys[1].Name {
		return schema{}, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	if len(kinds) != len(o.KeySchema) {
		return schema{}, invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	return schema{partition: keys[0], sort: keys[1]}, nil
}
