package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// environment is what a figure depends on beside the code. What the machine
// does not tell is absent.
type environment struct {
	Time       time.Time `json:"time"` // of the start, UTC
	Commit     string    `json:"commit"`
	Go         string    `json:"go"`
	OS         string    `json:"os"`
	Arch       string    `json:"arch"`
	CPU        string    `json:"cpu,omitempty"`
	Cores      int       `json:"cores"`
	GOMAXPROCS int       `json:"gomaxprocs"`
}

func newEnvironment(ctx context.Context, began time.Time) environment {
	return environment{
		Time: began.UTC().Truncate(time.Second), Commit: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPU: processor(ctx), Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
}

// processor names the CPU, empty where nobody says.
func processor(ctx context.Context) string {
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	if runtime.GOOS != "darwin" {
		return ""
	}
	name, err := exec.CommandContext(ctx, "sysctl", "-n", "machdep.cpu.brand_string").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}
