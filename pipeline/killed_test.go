package pipeline_test

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// TestKilledWorker: the worker's process is killed at each of its writes, the
// write lost or landed. Its successor finishes the incident.
func TestKilledWorker(t *testing.T) { killed(t, "worker", 1) }

// TestKilledRedriver: the same with the redriver's process.
func TestKilledRedriver(t *testing.T) { killed(t, "redriver", 1) }

// TestKilledRedriverOfTwo: the same while another redriver works on the same
// markers.
func TestKilledRedriverOfTwo(t *testing.T) { killed(t, "redriver", 2) }

func killed(t *testing.T, dies string, redrivers int) {
	t.Helper()
	t.Parallel()
	var writes []string
	play := func(name string, cut moment) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStory(t, dies, cut)
				s.play(redrivers)
				s.check()
				if cut.write == "" {
					writes = s.first.writes
				}
			})
		})
	}
	play("undisturbed", moment{})
	for k, write := range writes {
		play(fmt.Sprintf("%02d %s; lost", k+1, write), moment{write: write})
		play(fmt.Sprintf("%02d %s; landed", k+1, write), moment{write: write, lands: true})
	}
}
