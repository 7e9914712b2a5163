package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// errUnfit says that a value is not what its key takes; the reader adds what
// that is.
var errUnfit = errors.New("unfit")

// units are those of sizes: powers of 1024 with an i, of 1000 without.
var units = []struct {
	name  string
	bytes int
}{
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

func parseSize(s string) (int, error) {
	for _, u := range units {
		digits, found := strings.CutSuffix(s, u.name)
		if !found {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(digits))
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			return 0, errUnfit
		}
		return n * u.bytes, nil
	}
	if _, err := strconv.Atoi(s); err == nil && s != "0" {
		return 0, fmt.Errorf("the unit is missing: %sB, %sKB or %sMiB, for example", s, s, s)
	}
	if s == "0" {
		return 0, nil
	}
	return 0, errUnfit
}

func showSize(n int) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.Itoa(n/u.bytes) + u.name
		}
	}
	return "0"
}

// showDuration leaves out what Duration.String appends: 15m, not 15m0s.
func showDuration(d time.Duration) string {
	s := d.String()
	for _, nothing := range []struct{ behind, tail string }{{"m", "0s"}, {"h", "0m"}} {
		if strings.HasSuffix(s, nothing.behind+nothing.tail) {
			s = strings.TrimSuffix(s, nothing.tail)
		}
	}
	return s
}

// expand replaces ${NAME} and ${NAME:-text} by the environment's values. A
// variable that is not set and has no other text is an error.
func expand(s string, lookup func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("%q has no closing brace", "${"+rest)
		}
		name, instead, hasInstead := strings.Cut(inner, ":-")
		if !isVariable(name) {
			return "", fmt.Errorf("%q is no variable: write ${NAME} or ${NAME:-text}", "${"+inner+"}")
		}
		value, set := lookup(name)
		switch {
		case hasInstead && (!set || value == ""):
			value = instead
		case !set:
			return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-text} with a text to take instead", name, name)
		}
		b.WriteString(value)
		s = after
	}
}

func isVariable(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
