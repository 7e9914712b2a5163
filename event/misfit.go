package event

import (
	"fmt"
	"strings"
)

// Misfit is why a layout cannot place an item.
type Misfit struct {
	Rule string // that the item breaks; it quotes nothing of the item
	Text string
}

// Error tells what is wrong with the item.
func (m *Misfit) Error() string { return m.Text }

// Places names the rule as the place of the failure, so that a thousand items
// which break one rule count as one kind.
func (m *Misfit) Places() []string { return []string{"layout." + m.Rule} }

func misfit(rule, format string, args ...any) *Misfit {
	return &Misfit{Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// String says which items the layout takes for events, for those who have to
// compare it with a table.
func (l *Layout) String() string {
	version := "a number"
	if l.Digits > 0 {
		version = fmt.Sprintf("text of %d digits", l.Digits)
		if l.Prefix != "" {
			version = fmt.Sprintf("text of %q and %d digits", l.Prefix, l.Digits)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "aggregate in %s, version in %s: %s", l.Aggregate, l.Version, version)
	if l.Only.Attribute != "" {
		fmt.Fprintf(&b, "; only where %s is %q", l.Only.Attribute, l.Only.Equals)
	}
	return b.String()
}
