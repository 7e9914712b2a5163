package localaws

import (
	"strings"
	"time"

	"millrace/event"
)

// maxItem is the largest item in bytes (Developer Guide, "Constraints").
const maxItem = 400 << 10

// row is one version of an item. It never changes once it is stored, so an
// answer can be built from it outside the lock.
type row struct {
	sort string
	item event.Item
	json []byte // the item in DynamoDB's JSON form
	size int    // in bytes, as DynamoDB counts

	// For reads that may see the past: the version before, nil where the item
	// is new; the time from which on reads that are not consistent see this
	// one (Options.StaleReads); and the time from which on reads of several
	// items see it (Options.TornTransactions).
	before       *row
	shown, whole time.Time
}

func newRow(sort string, item event.Item) *row {
	return &row{sort: sort, item: item, json: event.AppendItemJSON(nil, item), size: itemSize(item)}
}

// held returns a copy of the row that stands for the version before it until
// its times have come. Only one version back is kept, or every version of an
// item would stay.
func (r *row) held(before *row, shown, whole time.Time) *row {
	out := *r
	out.shown, out.whole = shown, whole
	if before != nil {
		single := *before
		single.before, single.shown, single.whole = nil, time.Time{}, time.Time{}
		out.before = &single
	}
	return &out
}

// read is how an operation looks at rows.
type read struct {
	now        time.Time
	consistent bool
	several    bool // the items together are no snapshot: Query, Scan, BatchGetItem
}

// of is the version of a row that the read gets, nil for none.
func (v read) of(r *row) *row {
	if r != nil && (!v.consistent && v.now.Before(r.shown) || v.several && v.now.Before(r.whole)) {
		return r.before
	}
	return r
}

// itemSize is the size of an item as DynamoDB counts it (Developer Guide,
// "DynamoDB item sizes and formats").
func itemSize(item event.Item) int {
	size := 0
	for name, v := range item {
		size += len(name) + valueSize(v)
	}
	return size
}

func valueSize(v event.Value) int {
	switch v := v.(type) {
	case event.String:
		return len(v)
	case event.Number:
		return numberSize(string(v))
	case event.Binary:
		return len(v)
	case event.StringSet:
		size := 0
		for _, s := range v {
			size += len(s)
		}
		return size
	case event.NumberSet:
		size := 0
		for _, s := range v {
			size += numberSize(s)
		}
		return size
	case event.BinarySet:
		size := 0
		for _, b := range v {
			size += len(b)
		}
		return size
	case event.List:
		size := 3
		for _, element := range v {
			size += 1 + valueSize(element)
		}
		return size
	case event.Map:
		size := 3
		for name, element := range v {
			size += 1 + len(name) + valueSize(element)
		}
		return size
	default:
		return 1
	}
}

// numberSize is about one byte for two significant digits and one more, plus
// one for a sign.
func numberSize(text string) int {
	digits := strings.TrimLeft(text, "-0.")
	size := (len(strings.TrimRight(digits, "0"))+1)/2 + 1
	if strings.HasPrefix(text, "-") {
		size++
	}
	return size
}
