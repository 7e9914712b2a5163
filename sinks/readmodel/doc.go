// Package readmodel is the sink that keeps a projection in a DynamoDB table:
// one item an aggregate, and one UpdateItem a run whatever its length.
//
// An item holds its key, the fold's attributes, the position, and whose
// position it is. All of it changes in one conditional write:
//
//	position is absent                      for the first version
//	position = before and owner = mine      for every other
//
// So a run takes effect once, in order, however many workers try. A failed
// condition brings the stored item with it, and that item decides what comes
// next:
//
//	position >= the run's last   it was applied already: a duplicate
//	position inside the run      the rest is folded on the stored item, once more
//	position below the run       the target forgot: the outcome tells where it stands
//	owner another                refused, permanently: a position is one sink's
//	owner a newer version        refused, superseded: this sink must stop
//
// Attributes that are not the fold's stay as they are. Items are never
// deleted, since the position would go with them.
//
// The package never retries a failed call in Apply or Positions and never
// sleeps there.
package readmodel
