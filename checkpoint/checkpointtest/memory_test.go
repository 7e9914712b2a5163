package checkpointtest

import (
	"testing"

	"go.uber.org/goleak"

	"millrace/checkpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) Harness {
		m := NewMemory()
		return Harness{
			Open: func(boot string) Worker { return m.Open(boot) },
			Delete: func(_ *testing.T, key checkpoint.LeaseKey) {
				m.locked(func() { delete(m.leases, key) })
			},
		}
	})
}
