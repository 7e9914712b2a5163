package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// moment is an instant and what had been used of the machine until then.
type moment struct {
	at      time.Time
	process time.Duration // CPU time of this process
	engine  time.Duration // CPU time of the engine's
	machine time.Duration // CPU time of everything on the machine
	timed   bool          // process is known
	loaded  bool          // engine and machine are known
}

// tick is the unit of CPU times under /proc, which has been the same on every
// Linux architecture Go runs on (proc(5), USER_HZ).
const tick = 10 * time.Millisecond

func now(engine int) moment {
	m := moment{at: time.Now()}
	m.process, m.timed = processTime()
	if engine == 0 {
		return m
	}
	machine, machineKnown := machineTime()
	of, engineKnown := timeOf(engine)
	m.machine, m.engine, m.loaded = machine, of, machineKnown && engineKnown
	return m
}

// machineTime reads the CPU time spent on anything; only Linux tells.
func machineTime() (time.Duration, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, false
	}
	// user, nice, system, [idle, iowait,] irq, softirq, steal
	return ticks(fields[1], fields[2], fields[3], fields[6], fields[7], fields[8])
}

// timeOf reads the CPU time of a process; only Linux tells.
func timeOf(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The program's name comes second, in brackets, and may hold anything.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, false
	}
	return ticks(fields[11], fields[12])
}

func ticks(fields ...string) (time.Duration, bool) {
	var sum time.Duration
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(n) * tick
	}
	return sum, true
}
