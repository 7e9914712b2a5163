//go:build unix

package main

import (
	"syscall"
	"time"
)

// processTime is the CPU time of this process, the kernel's share included.
func processTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
