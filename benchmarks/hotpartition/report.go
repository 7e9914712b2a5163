package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report is the outcome as it is printed and kept.
type report struct {
	Schema      string             `json:"schema"`
	Environment environment        `json:"environment"`
	Runs        []result           `json:"runs"`
	Ratios      map[string]float64 `json:"ratios"` // only what was measured
}

func newReport(ctx context.Context, began time.Time, results []result) report {
	return report{
		Schema: "millrace.hotpartition/v1", Environment: newEnvironment(ctx, began), Runs: results, Ratios: ratios(results),
	}
}

func (r report) json(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// table writes the results for people.
func (r report) table(out io.Writer) error {
	first := r.Runs[0]
	lines := [][]string{{"workload", "reader", "events", "events/s", "lowest", "highest", "x projector", "of drain", "CPU s/M events", "writes/event", "foreign cores"}}
	for _, group := range r.groups() {
		lines = append(lines, r.row(group))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Items of %d bytes, one shard, %s a call to a table, none to read the stream. Medians of %d rounds.\n\n",
		first.Size, first.Latency, r.Runs[len(r.Runs)-1].Round)
	align(&b, lines)
	b.WriteString("\n")
	for _, ratio := range allRatios() {
		if v, ok := r.Ratios[ratio.name]; ok {
			fmt.Fprintf(&b, "%-24s %s\n", ratio.name, plain(v))
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// groups are the runs of each contest, in the order of the first round.
func (r report) groups() [][]result {
	var groups [][]result
	for _, x := range r.Runs {
		i := slices.IndexFunc(groups, func(g []result) bool { return g[0].Workload == x.Workload && g[0].Baseline == x.Baseline })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

func (r report) row(group []result) []string {
	x := group[0]
	speeds := known(group, func(x result) *float64 { return &x.EventsPerSecond })
	against := func(below contender) string {
		for _, ratio := range allRatios() {
			if v, ok := r.Ratios[ratio.name]; ok && ratio.workload == x.Workload && ratio.above == x.Baseline && ratio.below == below && ratio.name != "cpuVsDrain" {
				return plain(v)
			}
		}
		return "-"
	}
	return []string{
		x.Workload, string(x.Baseline), strconv.Itoa(x.Events), plain(median(speeds)), plain(slices.Min(speeds)), plain(slices.Max(speeds)),
		against(projector), against(drain),
		shown(known(group, func(x result) *float64 { return x.CPUSecondsPerMillion })),
		shown(known(group, func(x result) *float64 { return x.WritesPerEvent })),
		shown(known(group, func(x result) *float64 { return x.ForeignCores })),
	}
}

// known are the known values of a group.
func known(group []result, of func(result) *float64) []float64 {
	var values []float64
	for _, x := range group {
		if v := of(x); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// shown is the median, and a dash where nothing is known.
func shown(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	return plain(median(values))
}

// plain writes a number without an exponent, in three digits at least.
func plain(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(rounded(v), 'f', -1, 64)
}

// align writes columns, names to the left and numbers to the right.
func align(b *strings.Builder, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, line := range lines {
		for i, cell := range line {
			switch {
			case i < 2:
				fmt.Fprintf(b, "%-*s", widths[i], cell)
			default:
				fmt.Fprintf(b, "%*s", widths[i], cell)
			}
			if i < len(line)-1 {
				b.WriteString("  ")
			}
		}
		b.WriteString("\n")
	}
}

// save keeps the results under a name that says when and of what.
func (r report) save(folder string) error {
	e := r.Environment
	name := filepath.Join(folder, e.Time.Format("2006-01-02")+"-hotpartition-"+strings.ReplaceAll(e.Commit, "/", "-"))
	var data, text bytes.Buffer
	if err := r.json(&data); err != nil {
		return err
	}
	fmt.Fprintf(&text, "# hotpartition, %s\n\nCommit %s, %s, %s/%s, %s, %d cores, GOMAXPROCS %d.\n\n```text\n",
		e.Time.Format("2006-01-02"), e.Commit, e.Go, e.OS, e.Arch, e.CPU, e.Cores, e.GOMAXPROCS)
	if err := r.table(&text); err != nil {
		return err
	}
	text.WriteString("```\n")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder of results: %w", err)
	}
	for suffix, content := range map[string][]byte{".json": data.Bytes(), ".md": text.Bytes()} {
		if err := os.WriteFile(name+suffix, content, 0o644); err != nil { //nolint:gosec // results are for everybody
			return fmt.Errorf("keeping the results: %w", err)
		}
	}
	return nil
}
