package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/failure/redrive"
	"millrace/internal/localaws"
)

// TestC8_LongNamesAreBlockedToo: more poisoned aggregates than there are
// appliers, with ids that a sort key of the control table has no room for. They
// leave the way, and one redrive each brings them back.
func TestC8_LongNamesAreBlockedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 1})
		long := strings.Repeat("x", 1200) + strings.Repeat("%|", 200)
		for i := range 70 {
			a := fmt.Sprintf("%s-%02d", long, i)
			w.faults.refuse(a, 2)
			w.append(a, 3)
		}
		r := w.start("one", w.onTable)
		eventually(t, 20*time.Second, "all are blocked, and settled", func() bool { s := r.Stats(); return s.Blocked == 70 && s.Pending == 0 })
		w.append("good", 3)
		eventually(t, 10*time.Second, "the others go on", func() bool { return w.has("view", "good", 3) })
		w.faults.heal()
		standing, unread, err := w.markers("job").Standing(t.Context(), storyScope)
		if err != nil || len(unread) != 0 || len(standing) != 70 {
			t.Fatalf("%d markers stand, %v, %v", len(standing), unread, err)
		}
		for _, m := range standing {
			if got, err := w.redriver(w.markers("job"), "job").Redrive(t.Context(), m); err != nil || got.Outcome != redrive.Released || got.To != 3 {
				t.Fatalf("a redrive ended %+v, %v", got, err)
			}
		}
		r.end()
		w.wholly()
	})
}
