package failure

import (
	"slices"
	"strings"

	"millrace/event"
)

// canonical writes a value so that equal values have equal texts: documents and
// sets have no order of their own.
func canonical(v event.Value) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

func writeCanonical(b *strings.Builder, v event.Value) {
	switch v := v.(type) {
	case event.Map:
		parts := make([]string, 0, len(v))
		for name, inner := range v {
			parts = append(parts, digest(name, canonical(inner)))
		}
		b.WriteString("M" + digest(sorted(parts)...))
	case event.List:
		b.WriteByte('L')
		for _, inner := range v {
			b.WriteString(digest(canonical(inner)))
		}
	case event.StringSet:
		b.WriteString("SS" + digest(sorted(slices.Clone(v))...))
	case event.NumberSet:
		b.WriteString("NS" + digest(sorted(slices.Clone(v))...))
	case event.BinarySet:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = string(part)
		}
		b.WriteString("BS" + digest(sorted(parts)...))
	default:
		b.Write(event.AppendJSON(nil, v))
	}
}

func sorted(parts []string) []string {
	slices.Sort(parts)
	return parts
}
