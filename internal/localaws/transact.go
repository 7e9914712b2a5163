package localaws

import (
	"strings"
	"time"

	"millrace/event"
)

// Limits of transactions (API Reference, "TransactWriteItems").
const (
	maxTransaction      = 100
	maxTransactionBytes = 4 << 20
	tokenLife           = 10 * time.Minute
)

type transactWrite struct {
	TransactItems               []transactChange
	ClientRequestToken          string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

type transactChange struct {
	ConditionCheck *transactKeyed
	Put            *transactPut
	Update         *transactKeyed
	Delete         *transactKeyed
}

type transactPut struct {
	TableName string
	Item      event.Item
	conditional
}

type transactKeyed struct {
	TableName string
	Key       event.Item
	conditional
}

func (o *transactWrite) size() int { return len(o.TransactItems) }

func (o *transactWrite) subject(e *Engine) (string, string) {
	var tables, keys []string
	for _, change := range o.TransactItems {
		name, item := change.target()
		table, key := e.subjectOf(name, item)
		if len(tables) == 0 || tables[len(tables)-1] != table {
			tables = append(tables, table)
		}
		keys = append(keys, key)
	}
	return strings.Join(tables, ","), strings.Join(keys, ",")
}

func (x transactChange) target() (table string, item event.Item) {
	switch {
	case x.Put != nil:
		return x.Put.TableName, x.Put.Item
	case x.Update != nil:
		return x.Update.TableName, x.Update.Key
	case x.Delete != nil:
		return x.Delete.TableName, x.Delete.Key
	case x.ConditionCheck != nil:
		return x.ConditionCheck.TableName, x.ConditionCheck.Key
	}
	return "", nil
}

func (x transactChange) prepare(e *Engine) (*write, error) {
	given := 0
	for _, is := range []bool{x.Put != nil, x.Update != nil, x.Delete != nil, x.ConditionCheck != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	name, _ := x.target()
	t, err := e.table(name)
	if err != nil {
		return nil, err
	}
	switch {
	case x.Put != nil:
		return newPut(t, x.Put.Item, x.Put.conditional)
	case x.Update != nil:
		return newKeyed(writeUpdate, t, x.Update.Key, x.Update.conditional)
	case x.Delete != nil:
		return newKeyed(writeDelete, t, x.Delete.Key, x.Delete.conditional)
	default:
		if x.ConditionCheck.ConditionExpression == nil {
			return nil, invalid("1 validation error detected: Value null at 'transactItems.1.member.conditionCheck.conditionExpression' failed to satisfy constraint: Member must not be null")
		}
		return newKeyed(writeCheck, t, x.ConditionCheck.Key, x.ConditionCheck.conditional)
	}
}

func (o *transactWrite) run(e *Engine, c *callContext) (*reply, error) {
	if err := checkCapacityParameter(o.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if n := len(o.TransactItems); n < 1 || n > maxTransaction {
		return nil, invalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to %d and greater than or equal to 1", maxTransaction)
	}
	if len(o.ClientRequestToken) > 36 {
		return nil, invalid("1 validation error detected: Value '%s' at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36", o.ClientRequestToken)
	}
	writes, err := o.prepare(e)
	if err != nil {
		return nil, err
	}
	digest, err := o.digest()
	if err != nil {
		return nil, err
	}
	tables := make([]*table, 0, len(writes))
	for _, w := range writes {
		tables = append(tables, w.table)
	}
	if err := e.lock(tables...); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	repeated, err := e.tokens.check(o.ClientRequestToken, digest, c.now)
	if err != nil {
		return nil, err
	}
	if !repeated {
		if err := e.transact(c, writes); err != nil {
			return nil, err
		}
		e.tokens.remember(o.ClientRequestToken, digest, c.now)
	} else {
		for _, w := range writes {
			c.usage.add(w.table.name, 2*readUnits(w.table.rows.get(w.key.point).bytes(), true), 0)
		}
	}
	r := newReply()
	r.capacities(o.ReturnConsumedCapacity, c, func(u Capacity) float64 { return u.Read + u.Write })
	return r, nil
}

// prepare reads all operations and refuses two on one item.
func (o *transactWrite) prepare(e *Engine) ([]*write, error) {
	type target struct {
		table *table
		point point
	}
	seen := map[target]bool{}
	writes := make([]*write, 0, len(o.TransactItems))
	bytes := 0
	for _, change := range o.TransactItems {
		w, err := change.prepare(e)
		if err != nil {
			return nil, err
		}
		on := target{w.table, w.key.point}
		if seen[on] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[on] = true
		bytes += w.put.bytes()
		writes = append(writes, w)
	}
	if bytes > maxTransactionBytes {
		return nil, invalid("Member must have a total size less than or equal to %d: TransactItems", maxTransactionBytes)
	}
	return writes, nil
}

// transact decides all writes and commits them, or none. The caller holds
// e.mu.
func (e *Engine) transact(c *callContext, writes []*write) error {
	effects := make([]effect, len(writes))
	reasons := make([]cancellation, len(writes))
	failed := false
	for i, w := range writes {
		f, err := w.decide()
		effects[i] = f
		reasons[i] = reasonFor(err)
		failed = failed || err != nil
		// Two units for one: preparing and committing both cost.
		c.usage.add(w.table.name, 0, 2*writeUnits(f.size()))
	}
	if failed {
		return cancelled(reasons)
	}
	for i, f := range effects {
		if torn := e.options.TornTransactions; torn > 0 && f.new != nil {
			f.whole = c.now.Add(torn * time.Duration(len(effects)-1-i))
		}
		e.commit(c, f)
	}
	return nil
}

// reasonFor is the cancellation reason for what an operation's decision said.
func reasonFor(err error) cancellation {
	if err == nil {
		return cancellation{code: "None"}
	}
	a := asAPIError(err)
	code := "ValidationError"
	if a.code == "ConditionalCheckFailedException" {
		code = "ConditionalCheckFailed"
	}
	return cancellation{code: code, message: a.message, item: a.item}
}
