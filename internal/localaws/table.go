package localaws

import (
	"fmt"
	"strings"
	"time"
)

// table is one table. Its name, identity and schema never change; the rest is
// guarded by Engine.mu.
type table struct {
	name, arn, id string
	schema        schema
	created       time.Time

	rows        keyspace
	billing     billing
	protected   bool
	gone        bool    // deleted: a call that looked it up before must not write to it
	stream      *stream // the newest one, nil when there never was one
	ttl         string  // the attribute, empty while TTL is off
	recoverable bool    // point-in-time recovery is on
	tags        []tag
}

type billing struct {
	mode        string // PROVISIONED or PAY_PER_REQUEST
	read, write int    // provisioned units
}

type tag struct{ Key, Value string }

// streaming is the table's stream while it takes records.
func (t *table) streaming() *stream {
	if t.stream == nil || !t.stream.disabled.IsZero() {
		return nil
	}
	return t.stream
}

const nameSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// checkTableName applies the naming rules (Developer Guide, "Naming rules").
func checkTableName(name string) error {
	if len(name) < 3 || len(name) > 255 {
		return invalid("TableName must be at least 3 characters long and at most 255 characters long")
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune(nameSigns, r)
	}) {
		return invalid("1 validation error detected: Value '%s' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+", name)
	}
	return nil
}

func (e *Engine) tableARN(name string) string {
	return fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", e.options.Region, e.options.AccountID, name)
}

// plainName takes the name out of an ARN; requests may carry either.
func plainName(nameOrARN string) string {
	if _, name, ok := strings.Cut(nameOrARN, ":table/"); ok && strings.HasPrefix(nameOrARN, "arn:") {
		name, _, _ = strings.Cut(name, "/")
		return name
	}
	return nameOrARN
}

// table finds a table by name or ARN.
func (e *Engine) table(nameOrARN string) (*table, error) {
	name := plainName(nameOrARN)
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.tables[name]; t != nil {
		return t, nil
	}
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	return nil, noTable()
}

// lock takes the engine's lock for work on tables and makes sure that they are
// still there.
func (e *Engine) lock(tables ...*table) error {
	e.mu.Lock()
	for _, t := range tables {
		if t.gone {
			e.mu.Unlock()
			return noTable()
		}
	}
	return nil
}

// describe writes a table's description. The caller holds e.mu.
func (t *table) describe(r *reply, name, status string) {
	r.object(name, func() {
		r.text("TableName", t.name)
		r.text("TableArn", t.arn)
		r.text("TableId", t.id)
		r.text("TableStatus", status)
		r.time("CreationDateTime", t.created)
		r.integer("ItemCount", t.rows.rows)
		r.integer("TableSizeBytes", t.rows.bytes)
		r.bool("DeletionProtectionEnabled", t.protected)
		t.schema.describe(r)
		keys := []keyAttribute{t.schema.partition, t.schema.sort}[:len(t.schema.names())]
		r.list("AttributeDefinitions", len(keys), func(i int) {
			r.text("AttributeName", keys[i].Name)
			r.text("AttributeType", keys[i].Kind)
		})
		r.object("ProvisionedThroughput", func() {
			r.integer("NumberOfDecreasesToday", 0)
			r.integer("ReadCapacityUnits", t.billing.read)
			r.integer("WriteCapacityUnits", t.billing.write)
		})
		if t.billing.mode == payPerRequest {
			r.object("BillingModeSummary", func() { r.text("BillingMode", t.billing.mode) })
		}
		if s := t.stream; s != nil {
			r.text("LatestStreamArn", s.arn)
			r.text("LatestStreamLabel", s.label)
		}
		if s := t.streaming(); s != nil {
			r.object("StreamSpecification", func() {
				r.bool("StreamEnabled", true)
				r.text("StreamViewType", s.view)
			})
		}
	})
}

func (s schema) describe(r *reply) {
	names := s.names()
	r.list("KeySchema", len(names), func(i int) {
		r.text("AttributeName", names[i])
		r.text("KeyType", []string{"HASH", "RANGE"}[i])
	})
}
