package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoFixedSleeps refuses time.Sleep in test files that do not use fake time:
// a wait of fixed length is too short on a busy machine and too long on any other.
// In a synctest bubble a sleep is a step of the clock and takes no time.
func TestNoFixedSleeps(t *testing.T) {
	const root = "../.."
	walk := func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != root && isForeign(file, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		found, err := fixedSleeps(file, nil)
		for _, at := range found {
			t.Errorf("%s: time.Sleep outside of a bubble: wait for a signal, or use testing/synctest", at)
		}
		return err
	}
	if err := filepath.WalkDir(root, walk); err != nil {
		t.Fatal(err)
	}
}

func TestFixedSleeps(t *testing.T) {
	const call = "\nfunc f() { time.Sleep(time.Second) }\n"
	for _, test := range []struct {
		source string
		want   int
	}{
		{"package p\n\nimport \"time\"\n" + call, 1},
		{"package p\n\nimport (\n\"testing/synctest\"\n\"time\"\n)\n" + call, 0},
		{"package p\n\nimport \"time\"\n\nvar f = time.Now\n", 0},
	} {
		got, err := fixedSleeps("source_test.go", test.source)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != test.want {
			t.Errorf("%q: got %v, want %d sleeps", test.source, got, test.want)
		}
	}
}

// fixedSleeps answers where a test file uses time.Sleep, nothing if the file works
// in fake time. source is the file's text; nil reads the file.
func fixedSleeps(file string, source any) ([]token.Position, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing a test file: %w", err)
	}
	for _, spec := range parsed.Imports {
		if spec.Path.Value == `"testing/synctest"` {
			return nil, nil
		}
	}
	var found []token.Position
	ast.Inspect(parsed, func(node ast.Node) bool {
		if use, ok := node.(*ast.SelectorExpr); ok && use.Sel.Name == "Sleep" {
			if pkg, ok := use.X.(*ast.Ident); ok && pkg.Name == "time" {
				found = append(found, files.Position(use.Pos()))
			}
		}
		return true
	})
	return found, nil
}
