package failure

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"millrace/event"
)

// mutant is one change to one transition, or to a rule beside them.
type mutant struct {
	name   string
	of     Name
	change func(Transition) Transition // nil: setup is the change
	setup  func(*model)
	update bool // searched with -model.large only: the table notices at once, and most leave large graphs
}

// samples has one transition of each shape.
func samples() []Transition {
	return []Transition{
		Block(2, fresh, Cause{}), Follow(2), Claim(present, fresh, "job"), BackToBlocked(present, 2, 1, fresh, Cause{}),
		Release(present, 2, fresh), Heal(2, fresh), SkipIntent(present, Skip{Version: 2}), Notified(present),
	}
}

// mutants changes each part of each transition in turn: a condition dropped, an
// alternative taken away, a comparison made strict, an action left out.
func mutants() []mutant {
	var all []mutant
	add := func(t Transition, what string, change func(*Transition)) {
		all = append(all, mutant{name: fmt.Sprintf("%s: %s", t.Name, what), of: t.Name, change: func(of Transition) Transition {
			if of.Name != t.Name {
				return of
			}
			of.Condition.Of = slices.Clone(of.Condition.Of)
			change(&of)
			return of
		}})
	}
	for _, t := range samples() {
		add(t, "no condition", func(t *Transition) { t.Condition = Condition{Operator: All} })
		for i, part := range t.Condition.Of {
			on := func(change func(*Condition)) func(*Transition) {
				return func(t *Transition) {
					if i < len(t.Condition.Of) { // the last is not in every shape
						change(&t.Condition.Of[i])
					}
				}
			}
			never, always := Condition{Operator: Any}, Condition{Operator: All}
			if t.Condition.Operator == Any {
				add(t, "without alternative "+describe(part), on(func(c *Condition) { *c = never }))
				continue
			}
			add(t, "without "+describe(part), on(func(c *Condition) { *c = always }))
			if part.Operator == AtMost {
				add(t, describe(part)+" as equality", on(func(c *Condition) { c.Operator = OneOf }))
			}
			for j := range part.Values {
				if len(part.Values) > 1 {
					add(t, fmt.Sprintf("%s without %v", describe(part), part.Values[j]), on(func(c *Condition) { c.Values = slices.Delete(slices.Clone(c.Values), j, j+1) }))
				}
			}
		}
		for _, action := range t.Update {
			if slices.Contains([]string{"schema", CauseAttribute, JobAttribute}, action.Attribute) {
				continue // no condition asks for them
			}
			add(t, "leaves "+action.Attribute+" alone", func(t *Transition) {
				t.Update = slices.DeleteFunc(slices.Clone(t.Update), func(a Action) bool { return a.Attribute == action.Attribute })
			})
			all[len(all)-1].update = true
		}
	}
	add(BackToBlocked(present, 1, 1, fresh, Cause{}), "sets seenVersion to v, be it smaller", func(t *Transition) {
		t.Condition.Of = t.Condition.Of[:2]
		t.Update = append(t.Update, set(SeenVersionAttribute, number(t.version)))
	})
	return append(all,
		mutant{name: "target: no guard", setup: func(m *model) { m.unguarded = true }},
		mutant{name: "letters: any may be deleted", setup: func(m *model) { m.mayDelete = func(row, bool) bool { return true } }},
	)
}

func describe(c Condition) string {
	operator := [...]string{Absent: "absent", OneOf: "in", Below: "< v", AtMost: "<= p", AtLeast: ">= v"}[c.Operator]
	if c.Operator != OneOf {
		return c.Attribute + " " + operator
	}
	var values []string
	for _, v := range c.Values {
		if text, ok := v.(event.String); ok {
			values = append(values, string(text))
		}
	}
	return c.Attribute + " in (" + strings.Join(values, ", ") + ")"
}

// same reports whether every question that the original's search put to the
// transitions has the same answer here: the graph is the same then, and needs
// no search of its own.
func (m *model) same(original *model) bool {
	for _, at := range original.asked {
		if r, s := question(at); m.interpret(r, s) != original.memory[at] {
			return false
		}
	}
	return true
}

// question undoes the address that interpret makes.
func question(at uint64) (row, slot) {
	s := slot{kind: uint8(at>>5&7) + blockWrite, x: uint8(at >> 3 & 3), y: uint8(at >> 1 & 3), held: at&1 == 1}
	p := unpacker{k: key{at >> 8}}
	r := row{state: p.num(2), blocked: p.num(2), seen: p.num(2), notified: p.num(2), skip: p.num(2)}
	p.flags(&r.generation, &r.blockID)
	return r, s
}

// TestMutants breaks the protocol in every single place, and demands that the
// search notices. Where one condition implies another (a live row has no
// seenVersion, a generation is of one state) its loss changes no state that is
// reached, and the protocol's table has to notice.
func TestMutants(t *testing.T) {
	var originals []*model
	for _, c := range mutated {
		m := newModel(c, nil)
		f := m.search(true)
		if f.what != "" {
			t.Fatal(f)
		}
		t.Logf("%s: %v", m.name, f)
		originals = append(originals, m)
	}
	broken := mutants()
	lines := make([]string, len(broken))
	scratch := sync.Pool{New: func() any { return newModel(config{}, nil) }}
	t.Run("each", func(t *testing.T) {
		for i, mutant := range broken {
			t.Run(mutant.name, func(t *testing.T) {
				t.Parallel()
				m := scratch.Get().(*model)
				defer scratch.Put(m)
				by, steps, where := caught(mutant, originals, m)
				if by == "" {
					t.Error("nothing noticed")
				}
				lines[i] = fmt.Sprintf("%s\t%s\t%d\t%s", mutant.name, by, steps, where)
			})
		}
	})
	var table strings.Builder
	out := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(out, strings.Join(lines, "\n"))
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("mutant, what caught it, after how many steps, where\n%s", &table)
}

func caught(mutant mutant, originals []*model, m *model) (by string, steps int, where string) {
	for _, original := range originals {
		if mutant.update && !*large {
			break
		}
		m.reset(original.config, mutant.change)
		if mutant.setup != nil {
			mutant.setup(m)
		} else if m.same(original) {
			continue
		}
		if f := m.search(true); f.what != "" {
			return f.what, f.steps, m.name
		}
	}
	m.reset(config{}, mutant.change)
	if mutant.change != nil && m.strayed(mutant.of) != "" {
		return "the protocol's table", 0, ""
	}
	return "", 0, ""
}
