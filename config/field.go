package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// field is the declaration of one key. It is bound to the variable that the
// key fills, whose value at that moment is the key's default.
type field struct {
	key     string
	doc     string
	kind    kind
	need    bool     // the key must be given
	choices []string // of a choice
	initial string   // the default as it would be written; empty: none
	later   string   // why the key cannot be used yet; empty: it can

	set    func(text string) error   // of a scalar
	fields []field                   // of a block, or of one entry of a list
	entry  func() []field            // a list's next entry
	named  func(name string) []field // the entry of a name
	put    func(key, text string)    // a map's next entry
	given  *bool                     // whether a block was given
}

// kind is what a value looks like. Its text is the one that errors and the
// reference use.
type kind string

const (
	textKind     kind = "text"
	numberKind   kind = "a whole number"
	realKind     kind = "a number"
	flagKind     kind = "true or false"
	durationKind kind = "a duration such as 500ms, 30s or 15m"
	sizeKind     kind = "a size such as 200KB or 64MiB"
	choiceKind   kind = "one of "
	textsKind    kind = "a list of text"
	mapKind      kind = "keys with a text each"
	keyedKind    kind = "a block of keys for each name"
	blockKind    kind = "a block of keys"
	listKind     kind = "a list of blocks"
)

// expected says what a key takes.
func (f field) expected() string {
	if f.kind == choiceKind {
		return string(f.kind) + strings.Join(f.choices, ", ")
	}
	return string(f.kind)
}

func (f field) required() field {
	f.need, f.initial = true, ""
	return f
}

// notYet declares a key that is refused by name until it works. A key that is
// read and ignored would be a promise.
func (f field) notYet(why string) field {
	f.later = why
	return f
}

func text(key string, to *string, doc string) field {
	return field{key: key, doc: doc, kind: textKind, initial: *to, set: func(s string) error {
		*to = s
		return nil
	}}
}

func choice(key string, to *string, doc string, choices ...string) field {
	return field{key: key, doc: doc, kind: choiceKind, choices: choices, initial: *to, set: func(s string) error {
		for _, c := range choices {
			if s == c {
				*to = s
				return nil
			}
		}
		if near := nearest(s, choices); near != "" {
			return fmt.Errorf("did you mean %q?", near)
		}
		return errUnfit
	}}
}

// number declares a whole number between two bounds, both included.
func number[T int | uint64](key string, to *T, least, most T, doc string) field {
	f := field{key: key, doc: doc, kind: numberKind, set: func(s string) error {
		n, err := strconv.ParseInt(s, 10, 63)
		if err != nil {
			return errUnfit
		}
		if n < int64(least) || n > int64(most) {
			return fmt.Errorf("it must be between %d and %d", least, most)
		}
		*to = T(n)
		return nil
	}}
	if *to >= least {
		f.initial = fmt.Sprint(*to)
	}
	return f
}

// real declares a number that is not negative.
func real(key string, to *float64, doc string) field {
	return field{key: key, doc: doc, kind: realKind, initial: strconv.FormatFloat(*to, 'g', -1, 64), set: func(s string) error {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return errUnfit
		}
		if !(n >= 0 && n <= 1e9) {
			return errors.New("it must be between 0 and 1e9")
		}
		*to = n
		return nil
	}}
}

func flag(key string, to *bool, doc string) field {
	return field{key: key, doc: doc, kind: flagKind, initial: strconv.FormatBool(*to), set: func(s string) error {
		switch s {
		case "true":
			*to = true
		case "false":
			*to = false
		default:
			return errUnfit
		}
		return nil
	}}
}

// duration declares a duration of at least some length.
func duration(key string, to *time.Duration, least time.Duration, doc string) field {
	return field{key: key, doc: doc, kind: durationKind, initial: showDuration(*to), set: func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil {
			return errUnfit
		}
		if d < least {
			return fmt.Errorf("it must be at least %s", showDuration(least))
		}
		*to = d
		return nil
	}}
}

// size declares a number of bytes of at least some number.
func size(key string, to *int, least int, doc string) field {
	return field{key: key, doc: doc, kind: sizeKind, initial: showSize(*to), set: func(s string) error {
		n, err := parseSize(s)
		if err != nil {
			return err
		}
		if n < least {
			return fmt.Errorf("it must be at least %s", showSize(least))
		}
		*to = n
		return nil
	}}
}

func texts(key string, to *[]string, doc string) field {
	return field{key: key, doc: doc, kind: textsKind, set: func(s string) error {
		*to = append(*to, s)
		return nil
	}}
}

func mapping(key string, to *map[string]string, doc string) field {
	return field{key: key, doc: doc, kind: mapKind, put: func(key, text string) {
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[key] = text
	}}
}

// Pair is one key of a map and its text, in the order of the file.
type Pair struct{ Key, Text string }

// pairs declares a map whose order means something.
func pairs(key string, to *[]Pair, doc string) field {
	return field{key: key, doc: doc, kind: mapKind, put: func(key, text string) { *to = append(*to, Pair{key, text}) }}
}

func block(key, doc string, fields ...field) field {
	return field{key: key, doc: doc, kind: blockKind, fields: fields}
}

// optional declares a block that has a meaning by being there.
func optional(key string, given *bool, doc string, fields ...field) field {
	f := block(key, doc, fields...)
	f.given = given
	return f
}

// list declares a list of blocks. Each entry begins as a copy of the initial
// one.
func list[T any](key string, to *[]T, initial T, doc string, fields func(*T) []field) field {
	sample := initial
	return field{key: key, doc: doc, kind: listKind, fields: fields(&sample), entry: func() []field {
		*to = append(*to, initial)
		return fields(&(*to)[len(*to)-1])
	}}
}

// keyed declares blocks that stand under names of the user's own, in the order
// of the file.
func keyed[T any](key string, to *[]T, doc string, fields func(*T, string) []field) field {
	var sample T
	return field{key: key, doc: doc, kind: keyedKind, fields: fields(&sample, ""), named: func(name string) []field {
		var initial T
		*to = append(*to, initial)
		return fields(&(*to)[len(*to)-1], name)
	}}
}
