package localaws

import (
	"fmt"
	"strconv"
	"time"

	"millrace/event"
	"millrace/internal/decimal"
)

type updateTimeToLive struct {
	TableName               string
	TimeToLiveSpecification struct {
		AttributeName string
		Enabled       bool
	}
}

func (o *updateTimeToLive) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *updateTimeToLive) run(e *Engine, _ *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, e.named(o.TableName, err)
	}
	want := o.TimeToLiveSpecification
	if want.AttributeName == "" {
		return nil, invalid("TimeToLiveSpecification needs an AttributeName")
	}
	if err := e.lock(t); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	switch {
	case want.Enabled && t.ttl != "":
		return nil, invalid("TimeToLive is already enabled")
	case !want.Enabled && t.ttl == "":
		return nil, invalid("TimeToLive is already disabled")
	case !want.Enabled && t.ttl != want.AttributeName:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
	case want.Enabled:
		t.ttl = want.AttributeName
	default:
		t.ttl = ""
	}
	r := newReply()
	r.object("TimeToLiveSpecification", func() {
		r.text("AttributeName", want.AttributeName)
		r.bool("Enabled", want.Enabled)
	})
	return r, nil
}

type describeTimeToLive struct{ TableName string }

func (o *describeTimeToLive) subject(*Engine) (string, string) { return plainName(o.TableName), "" }

func (o *describeTimeToLive) run(e *Engine, _ *callContext) (*reply, error) {
	t, err := e.table(o.TableName)
	if err != nil {
		return nil, e.named(o.TableName, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r := newReply()
	r.object("TimeToLiveDescription", func() {
		if t.ttl == "" {
			r.text("TimeToLiveStatus", "DISABLED")
			return
		}
		r.text("AttributeName", t.ttl)
		r.text("TimeToLiveStatus", "ENABLED")
	})
	return r, nil
}

// fiveYears is how long past its time an item may be and still expire
// (Developer Guide, "Using time to live (TTL)"): older times are taken for a
// mistake and the item stays.
const fiveYears = 5 * 365 * 24 * time.Hour

// expired reports whether TTL may delete the item now. Only a number of
// seconds since 1970 counts.
func (t *table) expired(item event.Item, now time.Time) bool {
	text, ok := item[t.ttl].(event.Number)
	if !ok {
		return false
	}
	at, err := decimal.Parse(string(text))
	return err == nil && at.Cmp(seconds(now)) <= 0 && at.Cmp(seconds(now.Add(-fiveYears))) >= 0
}

func seconds(at time.Time) decimal.Decimal {
	d, err := decimal.Parse(strconv.FormatInt(at.Unix(), 10))
	if err != nil { // an integer of 20 digits is a number
		panic(err)
	}
	return d
}

// ExpireItems deletes the items whose time to live has passed, with records
// that carry the service's identity, and returns how many there were. The
// service does this within days; the engine only when it is told to.
func (e *Engine) ExpireItems(tableName string) (int, error) {
	t, err := e.table(tableName)
	if err != nil {
		return 0, fmt.Errorf("looking up table %q: %w", tableName, err)
	}
	c := &callContext{now: e.now()}
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.ttl == "" {
		return 0, fmt.Errorf("table %q has no time to live", tableName)
	}
	var due []*row
	t.rows.walk(point{}, ^uint64(0), func(r *row) bool {
		if t.expired(r.item, c.now) {
			due = append(due, r)
		}
		return true
	})
	for _, r := range due {
		key, err := t.schema.ofItem(r.item)
		if err != nil {
			return 0, fmt.Errorf("reading a stored key: %w", err)
		}
		w := &write{table: t, key: key, kind: writeDelete, identity: `{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}`}
		e.commit(c, effect{write: w, old: r})
	}
	return len(due), nil
}
