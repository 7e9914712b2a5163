package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/localaws"
)

func TestFromAppendToEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{})
		w.append("a", 10)
		r := w.start("one")
		w.append("b", 5)
		w.append("a", 5)
		eventually(t, 10*time.Second, "both aggregates are applied", w.caughtUp)
		r.end()
		w.wholly()
		if s := r.Stats(); s.Records != 20 || s.Applied != 20 || s.Duplicates+s.Retries+s.Fenced+s.Violations+s.Trimmed != 0 || s.Pending != 0 {
			t.Errorf("a healthy run counted %+v", s)
		}
	})
}
