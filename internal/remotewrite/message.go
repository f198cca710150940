package remotewrite

import (
	"slices"
	"strings"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"dyno/internal/metric"
)

// row is a series with the samples to send.
type row struct {
	key     string // name and labels as one text: the order of rows, and what they are known by
	series  prompb.TimeSeries
	lastAt  int64
	counter bool
}

// makeRow turns a series of the store into one of the message, without its points.
func (o *Options) makeRow(s metric.Series) row {
	m := metric.Sample{Name: s.Name, Labels: s.Labels, Kind: s.Kind}
	if o.Rename != nil {
		m = o.Rename(m)
	}
	ls := make([]prompb.Label, 0, len(m.Labels)+len(o.Labels)+1)
	ls = append(ls, prompb.Label{Name: "__name__", Value: m.Name})
	put := func(l metric.Label) {
		if l.Value != "" && !strings.HasPrefix(l.Name, "__") {
			ls = append(ls, prompb.Label{Name: l.Name, Value: strings.ToValidUTF8(l.Value, "\uFFFD")})
		}
	}
	for _, l := range m.Labels {
		put(l)
	}
	for _, l := range o.Labels {
		if m.Labels.Get(l.Name) == "" {
			put(l)
		}
	}
	slices.SortFunc(ls, func(a, b prompb.Label) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString(m.Name)
	for _, l := range ls {
		if l.Name != "__name__" {
			b.WriteString("\x00" + l.Name + "\x01" + l.Value)
		}
	}
	return row{key: b.String(), series: prompb.TimeSeries{Labels: ls}, counter: m.Kind == metric.Counter}
}

// encode makes the body of a request.
func encode(rows []row) ([]byte, error) {
	req := prompb.WriteRequest{Timeseries: make([]prompb.TimeSeries, len(rows))}
	for i := range rows {
		req.Timeseries[i] = rows[i].series
	}
	// The kinds go along: most receivers drop them, Mimir and VictoriaMetrics keep them.
	for i, last := 0, ""; i < len(rows); i++ {
		name := nameOf(rows[i].series)
		if name == last {
			continue
		}
		last = name
		kind := prompb.MetricMetadata_GAUGE
		if rows[i].counter {
			kind = prompb.MetricMetadata_COUNTER
		}
		req.Metadata = append(req.Metadata, prompb.MetricMetadata{Type: kind, MetricFamilyName: name})
	}
	b, err := req.Marshal()
	if err != nil {
		return nil, err
	}
	return snappy.Encode(nil, b), nil
}

func nameOf(s prompb.TimeSeries) string {
	for _, l := range s.Labels {
		if l.Name == "__name__" {
			return l.Value
		}
	}
	return ""
}

// count returns the number of samples.
func count(rows []row) (n int) {
	for i := range rows {
		n += len(rows[i].series.Samples)
	}
	return n
}

// first takes rows of about max samples from the beginning, at least one.
func first(rows []row, max int) (batch, rest []row) {
	n := 0
	for i := range rows {
		k := len(rows[i].series.Samples)
		if i > 0 && n+k > max {
			return rows[:i], rows[i:]
		}
		n += k
	}
	return rows, nil
}

// halves cuts rows in two by series, or the samples of a single one by time; not ok when there is one sample alone.
func halves(rows []row) (a, b []row, ok bool) {
	if n := len(rows); n > 1 {
		return rows[:n/2], rows[n/2:], true
	}
	if len(rows) == 0 || len(rows[0].series.Samples) < 2 {
		return nil, nil, false
	}
	x, y := rows[0], rows[0]
	n := len(x.series.Samples) / 2
	x.series.Samples, y.series.Samples = x.series.Samples[:n], y.series.Samples[n:]
	return []row{x}, []row{y}, true
}

// moments cuts rows by the time of their samples, so that each part has one sample of a series.
func moments(rows []row) [][]row {
	at := map[int64][]row{}
	var times []int64
	for _, r := range rows {
		for i, s := range r.series.Samples {
			if at[s.Timestamp] == nil {
				times = append(times, s.Timestamp)
			}
			one := r
			one.series.Samples = r.series.Samples[i : i+1]
			at[s.Timestamp] = append(at[s.Timestamp], one)
		}
	}
	slices.Sort(times)
	out := make([][]row, len(times))
	for i, t := range times {
		out[i] = at[t]
	}
	return out
}
