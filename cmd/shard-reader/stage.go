package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// stage is where the demo's progress is shown: lines with the time since its
// start, and one line of status, which a terminal overwrites.
type stage struct {
	out      io.Writer
	quiet    bool
	terminal bool
	began    time.Time

	mu    sync.Mutex
	shown bool // a status stands on the terminal's last line
	calls int
}

func newStage(out io.Writer, quiet bool) *stage {
	s := &stage{out: out, quiet: quiet, began: time.Now()}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		s.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}
	return s
}

// say writes a line that stays.
func (s *stage) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return
	}
	s.wipe()
	fmt.Fprintf(s.out, "%6.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// quote shows what a program printed, indented.
func (s *stage) quote(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return
	}
	s.wipe()
	for line := range strings.Lines(text) {
		fmt.Fprintln(s.out, s.unwrapped(strings.TrimRight("         "+line, " \n")))
	}
}

// status shows how things stand: in place on a terminal, and elsewhere as a
// line now and then.
func (s *stage) status(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return
	}
	s.calls++
	text := fmt.Sprintf("%6.1fs  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
	switch {
	case s.terminal:
		s.wipe()
		fmt.Fprint(s.out, s.unwrapped(text)) // a second line would be left standing
		s.shown = true
	case s.calls%3 == 0:
		fmt.Fprintln(s.out, text)
	}
}

// unwrapped has a narrow terminal cut a line where it would wrap it.
func (s *stage) unwrapped(line string) string {
	if !s.terminal {
		return line
	}
	return "\x1b[?7l" + line + "\x1b[?7h"
}

// wipe clears the status line.
func (s *stage) wipe() {
	if s.shown {
		fmt.Fprint(s.out, "\r\x1b[2K")
		s.shown = false
	}
}

// every calls f at an interval until the function it returns is called, which
// may be more than once.
func (s *stage) every(interval time.Duration, f func()) (end func()) {
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-stop:
				s.mu.Lock()
				s.wipe()
				s.mu.Unlock()
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-done
	})
}
