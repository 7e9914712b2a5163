package config

import (
	"fmt"
	"strings"
)

// Reference is the reference page of the configuration file and of the file of
// CEL rules, in Markdown.
func Reference() []byte {
	var b strings.Builder
	b.WriteString("<!-- Written by make generate. Edit the declaration in config/, not this page. -->\n\n# Configuration reference\n\n")
	b.WriteString("A key that is not listed is an error, and so is one that is given twice. Durations and sizes have a unit. `${NAME}` and\n" +
		"`${NAME:-text}` in a value stand for an environment variable. Paths are relative to the file that names them.\n")
	section(&b, "millrace.yaml", "", declare(defaults()))
	section(&b, "A fold's file", "", declareFold(&Fold{}))
	return []byte(b.String())
}

func section(b *strings.Builder, title, path string, fields []field) {
	fmt.Fprintf(b, "\n## %s\n\n| key | takes | default | |\n|---|---|---|---|\n", title)
	rows(b, path, fields)
}

func rows(b *strings.Builder, path string, fields []field) {
	for _, f := range fields {
		initial := ""
		switch {
		case f.need:
			initial = "required"
		case f.initial != "":
			initial = "`" + f.initial + "`"
		}
		takes, doc := f.expected(), f.doc
		if f.later != "" {
			doc = "Not yet: " + f.later + "."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path+f.key, takes, initial, doc)
		switch f.kind {
		case listKind:
			rows(b, path+f.key+"[].", f.fields)
		case keyedKind:
			rows(b, path+f.key+".<name>.", f.fields)
		case blockKind:
			rows(b, path+f.key+".", f.fields)
		case textKind, numberKind, realKind, flagKind, durationKind, sizeKind, choiceKind, textsKind, mapKind:
		}
	}
}

// Generated are the files made of the declaration, by their path from the
// project's root.
func Generated() map[string]func() ([]byte, error) {
	return map[string]func() ([]byte, error){
		"docs/configuration.md":     func() ([]byte, error) { return Reference(), nil },
		"docs/millrace.schema.json": Schema,
		"docs/fold.schema.json":     FoldSchema,
	}
}
