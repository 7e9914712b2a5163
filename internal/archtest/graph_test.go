package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// readGraph reads the imports of every package of the module at root, test
// files left out and build constraints ignored, so that no tag hides an import.
//
// It parses in this process and does not ask "go list": the cache of "go test"
// watches the files a test opens, not those its children open, and would answer
// an import that has just been added with yesterday's result.
func readGraph(root string) (map[string][]string, error) {
	graph := map[string][]string{}
	files := token.NewFileSet()
	walk := func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && isForeign(file, name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(files, file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := path.Join(module, filepath.ToSlash(folder))
		imports := graph[pkg]
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, imported)
		}
		graph[pkg] = imports // also when it imports nothing
		return nil
	}
	if err := filepath.WalkDir(root, walk); err != nil {
		return nil, fmt.Errorf("reading the import graph: %w", err)
	}
	return graph, nil
}

// isForeign tells whether a folder is outside the module, as the go command sees it.
func isForeign(folder, name string) bool {
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}
