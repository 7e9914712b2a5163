package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"millrace/projection/cel"
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
	var broken []error
	for i := range c.Pipelines {
		for k := range c.Pipelines[i].Sinks {
			at := fmt.Sprintf("pipelines[%d].sinks[%d]", i, k)
			broken = append(broken, c.Pipelines[i].Sinks[k].compile(r, at, filepath.Dir(path)))
		}
	}
	if err := errors.Join(append(broken, r.err())...); err != nil {
		return nil, err
	}
	return c, nil
}

// compile makes what the sink's expressions say. What is wrong in this file
// stands in the reader; the error is of the fold's.
func (s *Sink) compile(r *reader, at, folder string) error {
	if s.Filter != "" {
		var err error
		if s.Passes, err = cel.NewFilter(at+".filter", s.Filter); err != nil {
			r.expression(err)
		}
	}
	fold := &s.ReadModel.Fold
	if fold.CEL == "" {
		return nil
	}
	if !filepath.IsAbs(fold.CEL) {
		fold.CEL = filepath.Join(folder, fold.CEL)
	}
	rules, err := LoadFold(fold.CEL, r.lookup)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		path := at + ".readmodel.fold.cel"
		r.add(r.line(path), path, "there is no file %s", fold.CEL)
		return nil
	case err != nil:
		return err
	}
	fold.Projection, err = rules.Projection()
	return err
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
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, nil
}
