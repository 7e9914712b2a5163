package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads a configuration file and the files it names. The error tells all
// that is wrong, a line each; nothing else is looked at. Variables are looked
// up with lookup, os.LookupEnv for a program.
func Load(path string, lookup func(string) (string, bool)) (*Config, error) {
	c := defaults()
	r := &reader{problems: problems{file: path}, lookup: lookup}
	data, err := slurp(path)
	if err != nil {
		return nil, err
	}
	r.read(data, declare(c))
	if len(r.found) > 0 {
		return nil, r.err() // what follows would complain of what is missing because of these
	}
	c.check(r)
	err = r.err()
	for i := range c.Pipelines {
		for k := range c.Pipelines[i].Sinks {
			fold := &c.Pipelines[i].Sinks[k].ReadModel.Fold
			if fold.CEL == "" || err != nil {
				continue
			}
			if !filepath.IsAbs(fold.CEL) {
				fold.CEL = filepath.Join(filepath.Dir(path), fold.CEL)
			}
			var broken error
			fold.Rules, broken = LoadFold(fold.CEL, lookup)
			err = errors.Join(err, broken)
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// LoadFold reads a file of CEL rules. Its expressions are not compiled here.
func LoadFold(path string, lookup func(string) (string, bool)) (*Fold, error) {
	data, err := slurp(path)
	if err != nil {
		return nil, err
	}
	f := &Fold{Path: path}
	r := &reader{problems: problems{file: path}, lookup: lookup}
	r.read(data, declareFold(f))
	f.lines = r.lines
	if err := r.err(); err != nil {
		return nil, err
	}
	return f, nil
}

func slurp(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Problem{File: path, Text: "there is no such file"}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, nil
}
