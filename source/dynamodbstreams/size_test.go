package dynamodbstreams

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"millrace/source"
)

// TestPageBytesAgainstTheHeap: the budget for pages is only as good as their
// sizes, whatever the shape of the items.
func TestPageBytesAgainstTheHeap(t *testing.T) {
	attributes := func(n, size int) string {
		out := []string{`"pk":{"S":"a"}`}
		for i := range n {
			out = append(out, fmt.Sprintf(`"attribute%d":{"S":%q}`, i, strings.Repeat("x", size)))
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	for _, tc := range []struct {
		name, image string
	}{
		{"only keys", `{"pk":{"S":"a"}}`},
		{"a small event", attributes(6, 8)},
		{"an event of 1 KB", attributes(9, 100)},
		{"forty attributes", attributes(40, 12)},
		{"one large text", attributes(1, 20_000)},
		{"a list of numbers", `{"pk":{"S":"a"},"l":{"L":[` + strings.Repeat(`{"N":"1"},`, 199) + `{"N":"1"}]}}`},
		{"nested maps", `{"pk":{"S":"a"},"l":{"L":[` + strings.Repeat(`{"M":{"a":{"S":"b"},"c":{"BOOL":true}}},`, 49) + `{"M":{}}]}}`},
		{"a set", `{"pk":{"S":"a"},"s":{"SS":[` + strings.Repeat(`"abcdefgh",`, 99) + `"z"]}}`},
		{"bytes", `{"pk":{"S":"a"},"b":{"B":"` + strings.Repeat("AAAA", 500) + `"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const pages, perPage = 4, 250
			page := make([]string, perPage)
			for i := range page {
				page[i] = inserted(1000+i, tc.image)
			}
			s, script := open(t, map[string][]answer{"GetRecords": ok(records("next", page...))})
			kept := make([]source.Page, pages)
			before := heap()
			said := 0
			for i := range kept {
				var err error
				if kept[i], err = s.Read(t.Context(), "it", 1000); err != nil {
					t.Fatal(err)
				}
				script.calls = nil
				said += kept[i].Bytes
			}
			took := heap() - before
			runtime.KeepAlive(kept)
			runtime.KeepAlive(script) // or its memory would be counted as given back
			ratio := float64(said) / float64(took)
			if ratio < 0.8 || ratio > 1.2 {
				t.Errorf("said %d bytes, the heap says %d: ratio %.2f", said, took, ratio)
			}
		})
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
