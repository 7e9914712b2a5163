package dynamodb

import (
	"context"
	"fmt"

	"millrace/checkpoint"
	"millrace/internal/controlkey"
)

// Pin writes the pin if there is none and returns the one that stands. The row
// is the stream label's, which other parts of the product write other
// attributes of.
func (s *Store) Pin(ctx context.Context, p checkpoint.Pin) (checkpoint.Pin, error) {
	if err := p.Check(); err != nil {
		return checkpoint.Pin{}, err
	}
	c := change{
		op:     fmt.Sprintf("pinning the start of %s on %s/%s", p.Group, p.Table, p.Label),
		key:    controlkey.Stream(p.Group, p.Table, p.Label),
		update: "SET #schema = :schema, #start = :start, #pinned = :pinned",
		only:   []string{"attribute_not_exists(#start)", "(attribute_not_exists(#pk) OR #schema = :schema)"},
		values: item{":schema": schema(), ":start": encodeStart(p.Start), ":pinned": number(p.At.UnixMilli())},
	}
	// Refused or not, the answer holds the row: then the one that stood before.
	row, _, err := s.apply(ctx, c)
	if err != nil {
		return checkpoint.Pin{}, err
	}
	d := decoder{row: row}
	d.schema()
	standing := checkpoint.Pin{Group: p.Group, Table: p.Table, Label: p.Label, Start: d.start("start"), At: d.millis("pinned")}
	if d.err != nil {
		// Starting anywhere else could skip records, so this is no row to ignore.
		return checkpoint.Pin{}, fmt.Errorf("%s: the row that stands cannot be read: %w", c.op, d.err)
	}
	return standing, nil
}
