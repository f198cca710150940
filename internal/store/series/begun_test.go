package series

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// TestNewSeriesOfOneTarget: a server that invents names fills neither the store nor its memory, keeps the series that
// it had, and costs other targets nothing.
func TestNewSeriesOfOneTarget(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	round := func(target string, at int64, samples ...metric.Sample) {
		t.Helper()
		r := reading.Reading{
			Target: target, At: time.UnixMilli(at), Samples: samples,
			Parts: []reading.Part{{Source: "status", Samples: len(samples)}},
		}
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
		if err := s.Append([]metric.Sample{sample, {Name: "known_too", At: at}},
			metric.L("target", target)); err != nil {
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

// TestSeriesOfOneTargetInAll: whoever keeps its series going, or gives them long labels, fills the memory of all
// however few it begins in an hour.
func TestSeriesOfOneTargetInAll(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	write := func(target string, at int64, ms ...metric.Sample) {
		t.Helper()
		if err := s.AppendRound(reading.Reading{Target: target, At: time.UnixMilli(at), Samples: ms}); err != nil {
			t.Fatal(err)
		}
	}
	long := func(target string, n int) (ms []metric.Sample) {
		for i := range n {
			ms = append(ms, metric.Sample{Name: "long", Labels: metric.L("a", fmt.Sprint(i, strings.Repeat("x", 4000)),
				"b", strings.Repeat(target, 4000)), Value: 1})
		}
		return ms
	}
	const most = mostAliveText / 8000
	write("h", t0, long("h", most+500)...)
	if n := int(s.db.Head().NumSeries()); n > most || n < most-200 {
		t.Errorf("%d series with labels of 8 KB", n)
	}
	write("o", t0, long("o", 10)...)
	if n := len(mustSelect(t, s, "long", metric.L("target", "o"), t0, t0)); n != 10 {
		t.Errorf("%d series of another target", n)
	}
	s.mu.Lock()
	s.alive.of["old"] = weight{mostAlive - 1, 0} // from hours before
	s.mu.Unlock()
	all := s.db.Head().NumSeries()
	write("old", t0, metric.Sample{Name: "one"}, metric.Sample{Name: "two"})
	if n := s.db.Head().NumSeries(); n != all+1 { // that of the round itself
		t.Errorf("%d series of a target that has %d already", n-all, mostAlive)
	}
	before := s.alive.of["h"]
	s.alive.PostDeletion(map[chunks.HeadSeriesRef]labels.Labels{1: labels.FromStrings(targetLabel, "h")})
	if now := s.alive.of["h"]; now.n != before.n-1 || now.text >= before.text {
		t.Errorf("%v, then %v", before, now)
	}
}
