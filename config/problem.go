package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a file.
type Problem struct {
	File string
	Line int // 1 and up; 0 where the file as a whole is meant
	Key  string
	Text string // what is wrong, what was expected and what to do
}

// Error shows the place, the key and the text on one line.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// mostProblems is how many are shown: a file with more has one cause.
const mostProblems = 20

// problems gathers what is wrong with one file.
type problems struct {
	file  string
	found []*Problem
}

func (p *problems) add(line int, key, format string, args ...any) {
	p.found = append(p.found, &Problem{File: p.file, Line: line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// err joins what was found in the order of the lines; nil when nothing was.
func (p *problems) err() error {
	slices.SortStableFunc(p.found, func(a, b *Problem) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, 0, len(p.found))
	for i, problem := range p.found {
		if i == mostProblems {
			errs = append(errs, fmt.Errorf("%s: and %d more", p.file, len(p.found)-i))
			break
		}
		errs = append(errs, problem)
	}
	return errors.Join(errs...)
}

// nearest is the known word that a person may have meant, "" when none is
// near: one begins as the other, or at most a third of the letters are others.
func nearest(word string, known []string) string {
	best, distance := "", len(word)
	for _, k := range known {
		if short := min(len(word), len(k)); short >= 3 && word[:short] == k[:short] {
			return k
		}
		if d := edits(word, k); d < distance && 3*d <= max(len(word), len(k)) {
			best, distance = k, d
		}
	}
	return best
}

// edits is the number of letters to insert, delete, replace or swap with their
// neighbour.
func edits(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
