package telemetry

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/pipeline"
)

// New makes the registry. now is called at each scrape, also concurrently.
func New(now func() Snapshot) (*prometheus.Registry, error) {
	c := &collector{now: now}
	for _, m := range metrics() {
		c.declared = append(c.declared, described{m, prometheus.NewDesc(prefix+m.name, m.help, append([]string{"pipeline"}, m.labels...), nil)})
	}
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return r, nil
}

type described struct {
	metric
	desc *prometheus.Desc
}

// collector makes metrics of a snapshot.
type collector struct {
	now      func() Snapshot
	declared []described
}

// Describe tells which metrics there can be.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.declared {
		to <- m.desc
	}
}

// Collect tells those that are known.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := c.now()
	for _, m := range c.declared {
		kind := prometheus.GaugeValue
		if m.kind == counter {
			kind = prometheus.CounterValue
		}
		m.read(s, sample{
			value: func(v float64, labels ...string) {
				to <- prometheus.MustNewConstMetric(m.desc, kind, v, append([]string{s.Pipeline}, labels...)...)
			},
			values: func(h pipeline.Histogram, labels ...string) {
				buckets, n := make(map[float64]uint64, len(h.Bounds)), uint64(0)
				for i, bound := range h.Bounds {
					n += h.Counts[i]
					buckets[bound] = n
				}
				to <- prometheus.MustNewConstHistogram(m.desc, h.Count(), h.Sum, buckets, append([]string{s.Pipeline}, labels...)...)
			},
		})
	}
}

// Reference is the page of all metrics, in Markdown.
func Reference() []byte {
	var b strings.Builder
	b.WriteString("<!-- Written by make generate. Edit the declaration in telemetry/, not this page. -->\n\n# Metrics\n\n" +
		"`shard-reader run` serves them at `/metrics` of the address in `http.listen`. Each has the label `pipeline` besides those\n" +
		"listed. What is not known is absent, and never 0; an alarm should take a missing value for a bad one. Counters start at 0\n" +
		"with each process.\n\n| metric | type | labels | | absent when |\n|---|---|---|---|---|\n")
	for _, m := range metrics() {
		b.WriteString(m.row())
	}
	return []byte(b.String())
}
