package localaws

import (
	"maps"
	"slices"
)

const (
	provisioned   = "PROVISIONED"
	payPerRequest = "PAY_PER_REQUEST"
)

// tableOperation is an empty request of an operation on tables or their items,
// nil where there is no such operation.
func tableOperation(name string) operation {
	switch name {
	case "CreateTable":
		return &createTable{}
	case "DescribeTable":
		return &describeTable{}
	case "UpdateTable":
		return &updateTable{}
	case "DeleteTable":
		return &deleteTable{}
	case "ListTables":
		return &listTables{}
	case "UpdateTimeToLive":
		return &updateTimeToLive{}
	case "DescribeTimeToLive":
		return &describeTimeToLive{}
	case "DescribeContinuousBackups":
		return &describeBackups{}
	case "UpdateContinuousBackups":
		return &updateBackups{}
	case "PutItem":
		return &putItem{}
	case "GetItem":
		return &getItem{}
	case "UpdateItem":
		return &updateItem{}
	case "DeleteItem":
		return &deleteItem{}
	case "Query":
		return &query{}
	case "Scan":
		return &scan{}
	case "BatchGetItem":
		return &batchGet{}
	case "BatchWriteItem":
		return &batchWrite{}
	case "TransactWriteItems":
		return &transactWrite{}
	case "TransactGetItems":
		return &transactGet{}
	case "ListTagsOfResource":
		return &listTags{}
	}
	return nil
}

type attributeDefinition struct{ AttributeName, AttributeType string }

type keySchemaElement struct{ AttributeName, KeyType string }

type throughput struct{ ReadCapacityUnits, WriteCapacityUnits int }

type streamSpecification struct {
	StreamEnabled  bool
	StreamViewType string
}

func billingOf(mode string, p *throughput) (billing, error) {
	switch mode {
	case payPerRequest:
		if p != nil {
			return billing{}, invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		}
		return billing{mode: payPerRequest}, nil
	case "", provisioned:
		if p == nil {
			return billing{}, invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
		}
		if p.ReadCapacityUnits < 1 || p.WriteCapacityUnits < 1 {
			return billing{}, invalid("1 validation error detected: Value at 'provisionedThroughput' failed to satisfy constraint: Member must have value greater than or equal to 1")
		}
		return billing{mode: provisioned, read: p.ReadCapacityUnits, write: p.WriteCapacityUnits}, nil
	default:
		return billing{}, invalid("Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]; BillingMode: %s", mode)
	}
}

func (s *streamSpecification) check() error {
	switch {
	case s == nil:
		return nil
	case !s.StreamEnabled && s.StreamViewType != "":
		return invalid("One or more parameter values were invalid: StreamViewType cannot be specified when StreamEnabled is false")
	case s.StreamEnabled && !slices.Contains([]string{viewKeys, viewNew, viewOld, viewBoth}, s.StreamViewType):
		return invalid("One or more parameter values were invalid: StreamViewType must be one of KEYS_ONLY, NEW_IMAGE, OLD_IMAGE and NEW_AND_OLD_IMAGES when StreamEnabled is true")
	}
	return nil
}

type describeTable struct{ TableName string }

func (o *describeTable) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *describeTable) run(e *Engine, _ *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, e.named(o.TableName, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r := newReply()
	t.describe(r, "Table", "ACTIVE")
	return r, nil
}

// named adds the table's name to a ResourceNotFoundException, as the service
// does in operations on tables and not in operations on items.
func (e *Engine) named(name string, err error) error {
	if a := asAPIError(err); a.code == "ResourceNotFoundException" {
		return refuse(a.code, "Requested resource not found: Table: %s not found", plainName(name))
	}
	return err
}

type updateTable struct {
	TableName                 string
	AttributeDefinitions      []attributeDefinition
	BillingMode               string
	ProvisionedThroughput     *throughput
	StreamSpecification       *streamSpecification
	DeletionProtectionEnabled *bool
}

func (o *updateTable) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *updateTable) run(e *Engine, c *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, e.named(o.TableName, err)
	}
	if err := o.StreamSpecification.check(); err != nil {
		return nil, err
	}
	bill, err := o.billing(t)
	if err != nil {
		return nil, err
	}
	if err := e.lock(t); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	if s := o.StreamSpecification; s != nil {
		running := t.streaming()
		switch {
		case s.StreamEnabled && running != nil:
			return nil, invalid("Table already has an enabled stream: %s", t.name)
		case s.StreamEnabled:
			e.enableStream(t, s.StreamViewType, c.now)
		case running == nil:
			return nil, invalid("Table is already in desired state. The table's stream is disabled: %s", t.name)
		default:
			running.disable(c.now)
		}
	}
	t.billing = bill
	if o.DeletionProtectionEnabled != nil {
		t.protected = *o.DeletionProtectionEnabled
	}
	r := newReply()
	t.describe(r, "TableDescription", "UPDATING")
	return r, nil
}

// billing is the table's billing after the update.
func (o *updateTable) billing(t *table) (billing, error) {
	if o.BillingMode == "" && o.ProvisionedThroughput == nil {
		if o.StreamSpecification == nil && o.DeletionProtectionEnabled == nil {
			return billing{}, invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")
		}
		return t.billing, nil
	}
	return billingOf(o.BillingMode, o.ProvisionedThroughput)
}

type deleteTable struct{ TableName string }

func (o *deleteTable) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

// run deletes the table. Its stream stays readable until it is trimmed.
func (o *deleteTable) run(e *Engine, c *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, e.named(o.TableName, err)
	}
	if err := e.lock(t); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	if t.protected {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	if s := t.streaming(); s != nil {
		s.disable(c.now)
	}
	t.gone = true
	delete(e.tables, t.name)
	r := newReply()
	t.describe(r, "TableDescription", "DELETING")
	return r, nil
}

type listTables struct {
	ExclusiveStartTableName string
	Limit                   *int
}

func (o *listTables) subject(*Engine) (string, string) { return "", "" }

func (o *listTables) run(e *Engine, _ *callContext) (*reply, error) {
	limit := 100
	if o.Limit != nil {
		if limit = *o.Limit; limit < 1 || limit > 100 {
			return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value between 1 and 100", limit)
		}
	}
	e.mu.Lock()
	names := slices.Sorted(maps.Keys(e.tables))
	e.mu.Unlock()
	at, found := slices.BinarySearch(names, o.ExclusiveStartTableName)
	if found {
		at++
	}
	names = names[at:]
	r := newReply()
	if len(names) > limit {
		names = names[:limit]
		r.text("LastEvaluatedTableName", names[limit-1])
	}
	r.texts("TableNames", names)
	return r, nil
}

type listTags struct{ ResourceArn string }

func (o *listTags) subject(*Engine) (string, string) { return plainName(o.ResourceArn), "" }

func (o *listTags) run(e *Engine, _ *callContext) (*reply, error) {
	t, err := e.table(o.ResourceArn)
	if err != nil {
		return nil, err
	}
	r := newReply()
	r.list("Tags", len(t.tags), func(i int) {
		r.text("Key", t.tags[i].Key)
		r.text("Value", t.tags[i].Value)
	})
	return r, nil
}
