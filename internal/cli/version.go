package cli

// Version is the verb that prints the build's version.
type Version struct{}

// Run prints it.
func (Version) Run(p Program, c Console) error {
	return PrintText(c.Out, p.Version+"\n")
}
