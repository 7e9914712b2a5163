// Package checkpoint owns what a consumer group remembers of a stream: leases
// with fencing tokens, checkpoints, pinned starts, and the pure rules by which
// a worker trusts, takes and judges leases. Stores stand in folders below it.
//
// It must never start a goroutine, read a clock or import an AWS package.
//
// A lease row's states, and who writes them:
//
//	Create ──> waiting-for-parent ──Grant──> active ──Write──> draining
//	Create ─────────────────────────────────> │ ^               │  │
//	                                    Write │ └─────Grant─────┘  │ Write
//	                                          v                    v
//	                                       finished <──────────────┘
//
// Beside its state a row has an owner or none. Grant sets the owner, under a
// new token, whatever the state but finished; the owner's last Write clears it.
// Grant may take the row of an owner whose heartbeat stood still (Watch), and
// an owner stops acting before that can happen (Trust). Nothing leaves finished.
// A row remembers owners that vanished without progress (Barren).
package checkpoint
