package main

import (
	"millrace/config"
	"millrace/internal/cli"
)

type configCommand struct {
	Schema schemaCommand `cmd:"" help:"Print the JSON Schema of the configuration file, for editors."`
}

type schemaCommand struct {
	Fold bool `help:"That of a file of fold rules instead."`
}

// Run prints the schema.
func (s schemaCommand) Run(c cli.Console) error {
	of := config.Schema
	if s.Fold {
		of = config.FoldSchema
	}
	schema, err := of()
	if err != nil {
		return err
	}
	return cli.PrintText(c.Out, string(schema))
}
