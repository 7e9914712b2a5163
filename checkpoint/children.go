package checkpoint

import (
	"slices"

	"millrace/source"
)

// ChildRows makes the rows of a shard's children. They are written before the
// shard is finished, wait for their parents and start at their horizon. A sink
// that is unverified stays so: otherwise the mark would go with the parent's
// row.
func ChildRows(parent Lease, children []source.Shard) []Lease {
	rows := make([]Lease, 0, len(children))
	for _, child := range children {
		key := parent.Key
		key.Shard = child.ID
		rows = append(rows, Lease{
			Key:        key,
			Parents:    slices.Clone(child.Parents),
			State:      WaitingForParent,
			Checkpoint: source.Start{Kind: source.TrimHorizon},
			Sinks:      slices.Clone(parent.Sinks),
			Unverified: slices.Clone(parent.Unverified),
		})
	}
	return rows
}
