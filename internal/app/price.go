package app

import (
	"context"
	"math"
	"slices"
	"time"

	"dyno/internal/clock"
	"dyno/internal/known"
	"dyno/internal/metric"
	"dyno/internal/stat"
)

// Price is what watching a target costs, as means over a span. What was not measured is unknown.
type Price struct {
	Target     string               `json:"target"`
	From       time.Time            `json:"from"`
	To         time.Time            `json:"to"`
	Server     known.Value[float64] `json:"server_seconds_per_second,omitzero"` // wall-clock time of Dyno's statements
	Client     known.Value[float64] `json:"client_cpu_cores,omitzero"`          // CPU seconds a second of Dyno
	Statements known.Value[float64] `json:"statements_per_second,omitzero"`
	Bytes      known.Value[float64] `json:"bytes_per_second,omitzero"` // received from the server
	Rows       known.Value[float64] `json:"rows_per_second,omitzero"`
	Series     known.Value[int]     `json:"series,omitzero"`
	Sources    []SourcePrice        `json:"sources,omitempty"` // dearest first
}

// SourcePrice is what one source costs. The mean of its readings has a 95 % interval.
type SourcePrice struct {
	Name     string               `json:"name"`
	Readings int                  `json:"readings"`
	Every    float64              `json:"every_seconds"` // mean time between readings
	Server   known.Value[float64] `json:"server_seconds_per_second,omitzero"`
	MeanMS   known.Value[float64] `json:"mean_ms,omitzero"`
	LowMS    known.Value[float64] `json:"low_ms,omitzero"`
	HighMS   known.Value[float64] `json:"high_ms,omitzero"`
	Bytes    known.Value[float64] `json:"bytes_per_second,omitzero"`
	Rows     known.Value[float64] `json:"rows_per_second,omitzero"`
}

// priceOf makes a price of the series that a scraper writes about itself.
func priceOf(name string, from, to time.Time, all []metric.Series) Price {
	p := Price{Target: name, From: from, To: to}
	by := map[string]*SourcePrice{}
	of := func(s metric.Series) *SourcePrice {
		n := s.Labels.Get("source")
		if by[n] == nil {
			by[n] = &SourcePrice{Name: n}
		}
		return by[n]
	}
	add := func(sum *known.Value[float64], v float64) { *sum = known.Of(sum.Or(0) + v) }
	for _, s := range all {
		if s.Name == "dyno_scrape_duration_seconds" {
			x := of(s)
			x.Readings = len(s.Points)
			if n := len(s.Points); n > 1 {
				x.Every = float64(s.Points[n-1].At-s.Points[0].At) / 1000 / float64(n-1)
			}
			x.MeanMS, x.LowMS, x.HighMS = mean(s.Points)
			continue
		}
		r, ok := s.Rate()
		if !ok {
			continue
		}
		switch s.Name {
		case "dyno_source_seconds_total":
			of(s).Server = known.Of(r)
			add(&p.Server, r)
		case "dyno_source_bytes_total":
			of(s).Bytes = known.Of(r)
			add(&p.Bytes, r)
		case "dyno_source_rows_total":
			of(s).Rows = known.Of(r)
			add(&p.Rows, r)
		case "dyno_classes_server_seconds_total":
			by["query_classes"] = &SourcePrice{Name: "query_classes", Server: known.Of(r)}
			add(&p.Server, r)
		case "dyno_source_statements_total":
			add(&p.Statements, r)
		case "dyno_scrape_client_cpu_seconds_total":
			p.Client = known.Of(r)
		}
	}
	for _, x := range by {
		p.Sources = append(p.Sources, *x)
	}
	slices.SortFunc(p.Sources, func(a, b SourcePrice) int {
		switch x, y := a.Server.Or(0), b.Server.Or(0); {
		case x > y:
			return -1
		case x < y:
			return 1
		case a.Name < b.Name:
			return -1
		}
		return 1
	})
	return p
}

// mean returns the mean of values in milliseconds with its 95 % interval by Student's t, which takes readings for independent.
func mean(points []metric.Point) (centre, low, high known.Value[float64]) {
	n := float64(len(points))
	if n == 0 {
		return centre, low, high
	}
	sum := 0.0
	for _, p := range points {
		sum += p.Value * 1000
	}
	m := sum / n
	centre = known.Of(m)
	if n < 2 {
		return centre, low, high
	}
	squares := 0.0
	for _, p := range points {
		squares += (p.Value*1000 - m) * (p.Value*1000 - m)
	}
	half := stat.StudentInterval(math.Sqrt(squares/(n-1)), len(points), 0.95)
	return centre, known.Of(max(0, m-half)), known.Of(m + half)
}

// priceNames are the series that a price is made of.
var priceNames = []string{
	"dyno_scrape_duration_seconds", "dyno_source_seconds_total", "dyno_source_bytes_total", "dyno_source_rows_total", "dyno_source_statements_total",
	"dyno_scrape_client_cpu_seconds_total", "dyno_classes_server_seconds_total",
}

// Price returns what watching a target cost in the last span, from what is stored.
func (s *Service) Price(ctx context.Context, name string, span time.Duration) (Price, error) {
	to := clock.Now()
	from := to.Add(-span)
	var all []metric.Series
	var seen time.Time
	for _, n := range priceNames {
		got, err := s.Series.Select(ctx, n, metric.L("target", name), from.UnixMilli(), to.UnixMilli())
		if err != nil {
			return Price{}, err
		}
		all = append(all, got...)
	}
	for _, x := range all { // what was observed, not what was asked for
		if len(x.Points) > 0 {
			first := time.UnixMilli(x.Points[0].At)
			if seen.IsZero() || first.Before(seen) {
				seen = first
			}
		}
	}
	if seen.After(from) {
		from = seen
	}
	p := priceOf(name, from, to, all)
	if samples, ok := s.Newest(name); ok {
		p.Series = known.Of(len(samples))
	}
	return p, nil
}
