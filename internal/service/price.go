package service

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/stat"
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
	Sources    []SourcePrice        `json:"sources,omitempty"` // most expensive first
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

// pricing makes a price of the series that a scraper writes about itself, one after the other.
type pricing struct {
	Price
	by   map[string]*SourcePrice
	seen time.Time // of the first reading
}

func (p *pricing) of(s metric.Series) *SourcePrice {
	n := s.Labels.Get("source")
	if p.by[n] == nil {
		p.by[n] = &SourcePrice{Name: n}
	}
	return p.by[n]
}

// add counts a series, whose points are valid during the call only.
func (p *pricing) add(s metric.Series) {
	if len(s.Points) > 0 {
		if first := time.UnixMilli(s.Points[0].At); p.seen.IsZero() || first.Before(p.seen) {
			p.seen = first
		}
	}
	if s.Name == "dyno_scrape_duration_seconds" {
		x := p.of(s)
		x.Readings = len(s.Points)
		if n := len(s.Points); n > 1 {
			x.Every = float64(s.Points[n-1].At-s.Points[0].At) / 1000 / float64(n-1)
		}
		x.MeanMS, x.LowMS, x.HighMS = mean(s.Points)
		return
	}
	r, ok := s.Rate()
	if !ok {
		return
	}
	sum := func(sum *known.Value[float64]) { *sum = known.Of(sum.Or(0) + r) }
	switch s.Name {
	case "dyno_source_seconds_total":
		p.of(s).Server = known.Of(r)
		sum(&p.Server)
	case "dyno_source_bytes_total":
		p.of(s).Bytes = known.Of(r)
		sum(&p.Bytes)
	case "dyno_source_rows_total":
		p.of(s).Rows = known.Of(r)
		sum(&p.Rows)
	case "dyno_classes_server_seconds_total":
		p.by["query_classes"] = &SourcePrice{Name: "query_classes", Server: known.Of(r)}
		sum(&p.Server)
	case "dyno_source_statements_total":
		sum(&p.Statements)
	case "dyno_scrape_client_cpu_seconds_total":
		p.Client = known.Of(r)
	}
}

// priceOf makes a price of the series that each gives.
func priceOf(name string, from, to time.Time, each func(add func(metric.Series)) error) (Price, error) {
	p := pricing{Price: Price{Target: name, From: from, To: to}, by: map[string]*SourcePrice{}}
	if err := each(p.add); err != nil {
		return Price{}, err
	}
	if p.seen.After(from) { // what was observed, not what was asked for
		p.From = p.seen
	}
	for _, x := range p.by {
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
	return p.Price, nil
}

// mean returns the mean of values in milliseconds with its 95 % interval by Student's t, which takes readings for
// independent.
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
	"dyno_scrape_duration_seconds", "dyno_source_seconds_total", "dyno_source_bytes_total", "dyno_source_rows_total",
	"dyno_source_statements_total",
	"dyno_scrape_client_cpu_seconds_total", "dyno_classes_server_seconds_total",
}

// Price returns what watching a target cost in the last span, from what is stored. It holds one series at a time: some
// days of all of them are gigabytes.
func (s *Metrics) Price(ctx context.Context, name string, span time.Duration) (Price, error) {
	to := clock.Now()
	from := to.Add(-span)
	p, err := priceOf(name, from, to, func(add func(metric.Series)) error {
		for _, n := range priceNames {
			if err := s.series.SelectEach(ctx, n, metric.L("target", name), from.UnixMilli(),
				to.UnixMilli(), add); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	if samples, ok := s.fleet.Newest(name); ok {
		p.Series = known.Of(len(samples))
	}
	return p, nil
}
