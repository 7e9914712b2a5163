// Package checkpoint owns what a consumer group remembers of a stream: leases
// with fencing tokens, checkpoints, pinned starts, and the pure rules by which
// a worker trusts, takes and judges leases. Stores stand in folders below it.
//
// It must never start a goroutine, read a clock or import an AWS package.
package checkpoint
