package series

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dyno/internal/metric"
	"dyno/internal/reading"
)

// TestNewSeriesOfOneTarget: a server that invents names fills neither the store nor its memory, keeps the series that it had, and costs
// other targets nothing.
func TestNewSeriesOfOneTarget(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	round := func(target string, at int64, samples ...metric.Sample) {
		t.Helper()
		r := reading.Reading{Target: target, At: time.UnixMilli(at), Samples: samples, Parts: []reading.Part{{Source: "status", Samples: len(samples)}}}
		if err := s.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	invented := func(prefix string, n int) (ms []metric.Sample) {
		for i := range n {
			ms = append(ms, metric.Sample{Name: fmt.Sprint(prefix, i), Value: 1})
		}
		return ms
	}
	known := metric.Sample{Name: "known", Value: 1}
	round("hostile", t0, known)
	for i := range int64(3) {
		round("hostile", t0+1000*(i+1), append(invented(fmt.Sprint("a", i, "_"), 20_000), known)...)
	}
	if n := s.db.Head().NumSeries(); n < newPerHour || n > newPerHour+10 {
		t.Errorf("%d series of a server that invents names", n)
	}
	round("other", t0+4000, known)
	s.mu.Lock()
	s.begin() // what is in the database is not new
	s.mu.Unlock()
	at := t0 + 5000
	round("hostile", at, known, metric.Sample{Name: "more"})
	sample := metric.Sample{Name: "appended", At: at, Value: 1}
	for _, target := range []string{"hostile", "other"} {
		if err := s.Append([]metric.Sample{sample, {Name: "known_too", At: at}}, metric.L("target", target)); err != nil {
			t.Error(err)
		}
	}
	round("other", at, known, metric.Sample{Name: "more"})
	for _, want := range []struct {
		target, name string
		points       int
	}{
		{"hostile", "known", 5},
		{"hostile", "more", 0},
		{"hostile", "appended", 0},
		{"other", "known", 2},
		{"other", "more", 1},
		{"other", "appended", 1},
	} {
		n := 0
		for _, x := range mustSelect(t, s, want.name, metric.L("target", want.target), t0, at) {
			n += len(x.Points)
		}
		if n != want.points {
			t.Errorf("%d points of %s of %s, want %d", n, want.name, want.target, want.points)
		}
	}
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], `"hostile"`) {
		t.Errorf("warnings %q", w)
	}
	at = t0 + time.Hour.Milliseconds() + 1000
	round("hostile", at, metric.Sample{Name: "more"})
	if len(mustSelect(t, s, "more", metric.L("target", "hostile"), at, at)) != 1 {
		t.Error("no new series an hour later")
	}
}
