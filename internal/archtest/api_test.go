package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPublicAPI refuses types of internal packages in what a public package
// exports: a program outside the module cannot name them.
func TestPublicAPI(t *testing.T) {
	const root = "../.."
	walk := func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != root && (isForeign(file, entry.Name()) || entry.Name() == "internal" || entry.Name() == "cmd" || entry.Name() == "benchmarks") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		found, err := unnameable(file, nil)
		for _, at := range found {
			t.Errorf("%s: give it a public name", at)
		}
		return err
	}
	if err := filepath.WalkDir(root, walk); err != nil {
		t.Fatal(err)
	}
}

func TestUnnameable(t *testing.T) {
	const head = "package p\n\nimport \"millrace/internal/jitter\"\n\n"
	for source, want := range map[string]int{
		"type Options struct{ Jitter jitter.Source }":        1,
		"type Options struct{ Jitter []*jitter.Source }":     1,
		"type Options struct{ jitter jitter.Source }":        0,
		"type options struct{ Jitter jitter.Source }":        0,
		"type Jitter = jitter.Source":                        0,
		"func New(s jitter.Source) int { return 0 }":         1,
		"func New() (s jitter.Source) { return s }":          1,
		"func draw(s jitter.Source) {}":                      0,
		"func New() { var _ jitter.Source }":                 0,
		"type Waits interface{ Next(s jitter.Source) }":      1,
		"type T int\n\nfunc (T) Draw(s jitter.Source) {}":    1,
		"type T int\n\nfunc (T) draw(s jitter.Source) {}":    0,
		"type t int\n\nfunc (t) Draw(s jitter.Source) {}":    0,
		"type T struct{ Do func(jitter.Source) }":            1,
		"type T[S any] int\n\nfunc (T[S]) Do(jitter.Source)": 1,
	} {
		got, err := unnameable("source.go", head+source+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != want {
			t.Errorf("%q: got %v, want %d", source, got, want)
		}
	}
}

// unnameable answers where a file exports something with a type of an internal
// package in it. source is the file's text; nil reads the file. An alias is a
// public name.
func unnameable(file string, source any) ([]string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing a file: %w", err)
	}
	internal := map[string]bool{} // by the name that the file knows them by
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.HasPrefix(imported, module+"/internal/") {
			continue
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		internal[name] = true
	}
	var found []string
	look := func(what string, in ast.Node) {
		ast.Inspect(in, func(node ast.Node) bool {
			if field, ok := node.(*ast.Field); ok && len(field.Names) > 0 && !anyExported(field.Names) && isStruct(in) {
				return false
			}
			if use, ok := node.(*ast.SelectorExpr); ok {
				if pkg, ok := use.X.(*ast.Ident); ok && internal[pkg.Name] {
					found = append(found, fmt.Sprintf("%s: %s has a %s.%s", files.Position(use.Pos()), what, pkg.Name, use.Sel.Name))
				}
			}
			return true
		})
	}
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
				look(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok && named.Name.IsExported() && !named.Assign.IsValid() {
					look(named.Name.Name, named.Type)
				}
			}
		}
	}
	return found, nil
}

func isStruct(node ast.Node) bool {
	_, ok := node.(*ast.StructType)
	return ok
}

func anyExported(names []*ast.Ident) bool {
	for _, name := range names {
		if name.IsExported() {
			return true
		}
	}
	return false
}

// receiver is the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
