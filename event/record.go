package event

import "time"

// Change is what happened to an item.
type Change uint8

// The kinds of change a stream reports.
const (
	Insert Change = iota + 1
	Modify
	Remove
)

// String returns the stream's own word: INSERT, MODIFY or REMOVE.
func (c Change) String() string {
	switch c {
	case Insert:
		return "INSERT"
	case Modify:
		return "MODIFY"
	case Remove:
		return "REMOVE"
	}
	return "UNKNOWN"
}

// Record is one change of one item as the stream reports it. Records are
// immutable and share memory with their page: clone what outlives it.
type Record struct {
	ID       string // the stream's event id, unique in the stream
	Change   Change
	Sequence SequenceNumber
	// Created is when the change was made, rounded down to the second
	// (DynamoDB Streams API Reference, ApproximateCreationDateTime): good for
	// showing lag, never for ordering.
	Created time.Time
	Keys    Item
	New     Image // absent for REMOVE and where the stream's view has none
	Old     Image // absent for INSERT and where the stream's view has none
	// Service is true when AWS itself made the change: a removal by TTL.
	Service bool
}

// Image is an item before or after a change. It is read-only and decodes
// lazily: a record that nobody looks at costs nothing. The zero Image is
// absent.
type Image struct {
	item Item
	lazy LazyItem
}

// LazyItem is an item that is not decoded yet; it must be safe for concurrent
// use and must return the same answer each time.
type LazyItem interface {
	// Get decodes one attribute; nil when there is none of that name.
	Get(name string) (Value, error)
	// Item decodes them all.
	Item() (Item, error)
}

// Decoded wraps an item that is decoded already; the item must not change
// afterwards.
func Decoded(item Item) Image { return Image{item: item} }

// Lazy wraps an item that decodes when asked.
func Lazy(l LazyItem) Image { return Image{lazy: l} }

// Absent reports whether there is no image at all.
func (i Image) Absent() bool { return i.item == nil && i.lazy == nil }

// Get decodes one attribute; nil when the image has none of that name.
func (i Image) Get(name string) (Value, error) {
	if i.lazy != nil {
		return i.lazy.Get(name)
	}
	return i.item[name], nil
}

// Item decodes the whole image. The result may be shared: do not change it.
func (i Image) Item() (Item, error) {
	if i.lazy != nil {
		return i.lazy.Item()
	}
	return i.item, nil
}

// Clone returns a decoded image with memory of its own, so that its page can
// be let go.
func (i Image) Clone() (Image, error) {
	item, err := i.Item()
	if err != nil {
		return Image{}, err
	}
	return Decoded(item.Clone()), nil
}
