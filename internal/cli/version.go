package cli

import "github.com/alecthomas/kong"

// Version is the verb that prints the build's version.
type Version struct{}

// Run prints it.
func (Version) Run(p Program, c Console) error {
	return PrintText(c.Out, p.Version+"\n")
}

// VersionFlag does the same for those who look for a flag.
type VersionFlag struct {
	Version kong.VersionFlag `name:"version" help:"Print the version."`
}
