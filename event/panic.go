package event

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// maxFrames is how deep a panic's trace goes: enough to find the place, and
// little enough for a letter.
const maxFrames = 16

// Panic is a panic of a fold or a sink, turned into an error of the event that
// met it. It is permanent whatever was panicked with, so it does not unwrap: a
// class found in the value would be taken for the event's. An exhausted memory
// and concurrent writes to a map cannot be caught.
type Panic struct {
	Value any
	// Frames are the calls that led there, innermost first, each a function
	// with its file and line. The first is the code's own that panicked: it
	// names the panic whatever its text says.
	Frames []string
}

// Error tells the panic's value and place.
func (p *Panic) Error() string {
	return fmt.Sprintf("panic: %v, in %s", p.Value, p.Frames[0])
}

// Places are the frames, for those who tell failures apart by their place.
func (p *Panic) Places() []string { return p.Frames }

// Catch makes a *Panic of a panic and puts it into err. It must be deferred
// itself: only then does recover see the panic.
func Catch(err *error) {
	if value := recover(); value != nil {
		*err = &Panic{Value: value, Frames: frames()}
	}
}

// frames lists the calls below the panic. The runtime's own at the top (a nil
// map's write, an index out of range) would make all panics look alike.
func frames() []string {
	pcs := make([]uintptr, 64)
	walk := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var found []string
	panicked := false
	for len(found) < maxFrames {
		frame, more := walk.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		switch {
		case frame.Function == "runtime.gopanic":
			panicked = true
		case panicked && (!inRuntime || len(found) > 0):
			found = append(found, fmt.Sprintf("%s (%s:%d)", frame.Function, path.Base(frame.File), frame.Line))
		}
		if !more {
			break
		}
	}
	if len(found) == 0 {
		return []string{"an unknown place"}
	}
	return found
}
