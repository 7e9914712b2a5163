package failure

import (
	"flag"
	"testing"
	"time"
)

var large = flag.Bool("model.large", false, "search the large configurations as well (minutes, gigabytes)")

const (
	second = 1 << 2 // the poison of most configurations
	later  = second | 1<<3
)

// configs are searched by every run of the tests.
var configs = []config{
	{name: "two redrivers of one build", poisons: second, head: 3, alone: true, redrivers: 2, toHead: true},
	{name: "letters", poisons: second, head: 3, alone: true, redrivers: 1, letters: true, heal: true},
	{name: "hand-over to the fix", poisons: second, head: 3, rolling: true, redrivers: 1},
	{name: "hand-over, healed", poisons: second, head: 3, rolling: true, heal: true},
	{name: "skip", poisons: second, head: 3, alone: true, redrivers: 1, skip: true, lost: 1},
	{name: "two poisons, one of them skipped", poisons: later, head: 3, alone: true, redrivers: 1, skip: true, toHead: true, letters: true},
	{name: "two shards, version by version", poisons: second, head: 3, split: 1 << 2, redrivers: 1},
	{name: "two shards, the first apart", poisons: second, head: 3, split: 1 << 1, redrivers: 1},
	{name: "rows that are deleted", poisons: second, head: 1, alone: true, redrivers: 2, toHead: true, forget: true},
	{name: "lost answers", poisons: second, head: 3, alone: true, redrivers: 1, lost: 1, toHead: true, forget: true},
	{name: "lost answers around a hand-over", poisons: second, head: 3, rolling: true, heal: true, lost: 1},
	{name: "an appender", poisons: second, head: 1, rolling: true, redrivers: 1},
	{name: "two shards and a fix", poisons: second, head: 3, fixes: 2, split: 1 << 2, redrivers: 1},
}

// mutated are those that every mutant is searched in: small, and between them
// with every step.
var mutated = []config{
	{name: "one redriver", poisons: second, head: 3, alone: true, redrivers: 1},
	{name: "two redrivers", poisons: second, head: 3, alone: true, redrivers: 2},
	{name: "letters", poisons: second, head: 3, alone: true, redrivers: 1, letters: true},
	{name: "hand-over, healed", poisons: second, head: 3, rolling: true, heal: true},
	{name: "two poisons, one of them skipped", poisons: later, head: 3, alone: true, redrivers: 1, skip: true, toHead: true},
	{name: "two shards", poisons: second, head: 3, split: 1 << 1, redrivers: 1},
}

var largeConfigs = []config{
	{name: "hand-over and healing", poisons: second, head: 3, rolling: true, redrivers: 1, heal: true},
	{name: "two skips", poisons: second, head: 3, alone: true, redrivers: 2, skip: true},
	{name: "lost letters", poisons: second, head: 3, alone: true, redrivers: 1, letters: true, lost: 1, forget: true, toHead: true},
	{name: "lost answers, all of it", poisons: second, head: 3, alone: true, redrivers: 2, lost: 1, toHead: true, forget: true},
	{name: "lost letters, healed", poisons: second, head: 3, alone: true, redrivers: 1, heal: true, letters: true, lost: 1, forget: true, toHead: true},
	{name: "hand-over, two redrivers", poisons: second, head: 3, rolling: true, redrivers: 2},
	{name: "hand-over, fix and lost answers", poisons: second, head: 3, rolling: true, redrivers: 1, lost: 1},
	{name: "two shards, an appender, healing", poisons: second, head: 1, fixes: 3, split: 1 << 2, redrivers: 1, heal: true},
}

func TestModel(t *testing.T) {
	searched := configs
	if *large {
		searched = append(searched, largeConfigs...)
	}
	for _, c := range searched {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			f := newModel(c, nil).search(true)
			if f.what != "" {
				t.Fatal(f)
			}
			t.Logf("%d states in %v", f.states, time.Since(started).Round(time.Millisecond))
		})
	}
}

func TestWorldsComeBackAsTheyWentIn(t *testing.T) {
	m := newModel(configs[1], nil)
	w := m.start()
	for range 200 {
		if back := w.pack().unpack(); back != w {
			t.Fatalf("%+v came back as %+v", w, back)
		}
		steps := m.successors(&w)
		w = steps[len(steps)-1].next
	}
}
