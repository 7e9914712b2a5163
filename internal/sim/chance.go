package sim

import (
	"fmt"
	"hash/fnv"
	"time"
)

// chance draws from a seed and a name, never from a stream of numbers that
// goroutines share: so one call's draw does not depend on which came first.
type chance uint64

// number draws 64 bits. The parts are quoted, so that no two lists are one name.
func (c chance) number(name ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d", uint64(c))
	for _, part := range name {
		fmt.Fprintf(h, " %#v", part)
	}
	// FNV's high bits hardly depend on its last bytes: splitmix64's finalizer.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit draws from [0, 1).
func (c chance) unit(name ...any) float64 { return float64(c.number(name...)>>11) / (1 << 53) }

// between draws a time to the nanosecond, so that no two waits end at once.
func (c chance) between(least, most time.Duration, name ...any) time.Duration {
	return least + time.Duration(c.unit(name...)*float64(most-least))
}
