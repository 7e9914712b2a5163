package main

import (
	"time"

	"millrace/internal/cli"
	"millrace/service"
)

type groupsCommand struct{ look }

// Help goes on where the verb's one line ends.
func (groupsCommand) Help() string {
	return `It changes nothing. Aggregates with one fingerprint failed in the same place, on the same type of event, with the same type of error: in all likelihood for one cause. WAITING counts the versions on record, from the one that failed on. Records of class decode name no aggregate: the layout, or whoever wrote the item, is the cause.

Exit code 1 where nothing is listed and the control table has nothing of the group on that event table.`
}

// groupLine is a group's JSON form.
type groupLine struct {
	Schema      string    `json:"schema"`
	Fingerprint string    `json:"fingerprint"`
	Sink        string    `json:"sink"` // *: every sink
	Class       string    `json:"class"`
	Type        string    `json:"type"` // of the error, as Go names it
	Aggregates  int       `json:"aggregates"`
	Records     int       `json:"records"` // that name no aggregate; a group has these or aggregates
	Waiting     uint64    `json:"waiting,string"`
	First       time.Time `json:"firstFailedAt"`
	Last        time.Time `json:"lastFailedAt"`
	Example     string    `json:"example"` // the aggregate, or the record, that failed first
	Text        string    `json:"text"`    // its error
}

// Run prints a line for each group.
func (g groupsCommand) Run(c cli.Console, s cli.Stop) error {
	ctx, cancel := g.Within(s.Drain)
	defer cancel()
	pipeline, err := g.Service(ctx)
	if err != nil {
		return err
	}
	listing, err := g.blocked(ctx, pipeline, c, service.Selection{})
	if err != nil {
		return err
	}
	groups := listing.Groups()
	if g.Output == "table" {
		return printGroups(c, groups)
	}
	for _, group := range groups {
		err := cli.PrintJSON(c.Out, groupLine{
			Schema: "millrace.groups/v1", Fingerprint: group.Fingerprint, Sink: group.Sink, Class: group.Class, Type: group.Type,
			Aggregates: group.Aggregates, Records: group.Records, Waiting: group.Waiting, First: group.First, Last: group.Last, Example: group.Example, Text: group.Text,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func printGroups(c cli.Console, groups []service.Group) error {
	if len(groups) == 0 {
		return cli.PrintText(c.Out, "Nothing is blocked.\n")
	}
	return table(c.Out, "AGGREGATES WAITING CLASS FINGERPRINT SINK FIRST LAST EXAMPLE ERROR", func(row func(...any)) {
		for _, g := range groups {
			row(members(g), cli.Grouped(g.Waiting), g.Class, g.Fingerprint, g.Sink, moment(g.First), moment(g.Last), g.Example, g.Text)
		}
	})
}

// members is how many failed: aggregates, or records that name none.
func members(g service.Group) string {
	if g.Records > 0 {
		return cli.Grouped(g.Records) + " records"
	}
	return cli.Grouped(g.Aggregates)
}
