package symptoms

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/figures"

	"github.com/dyno-perf/dyno/internal/diagnose"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

const window = 10

// quiet returns a snapshot in which every source answered and nothing is out of order.
func quiet() *snapshot.Snapshot {
	from := time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)
	s := &snapshot.Snapshot{
		Format: snapshot.Format, From: from, To: from.Add(window * time.Second),
		Host: snapshot.Host{CPUs: known.Of(2.0)},
	}
	for _, w := range wanted {
		s.Sources = append(s.Sources, source.Source{Name: w.Source, State: source.OK})
	}
	rate(s, "dyno_server_cpu_seconds_total", 0.3, "mode", "user")
	rate(s, "dyno_server_cpu_seconds_total", 0.1, "mode", "system")
	rate(s, "node_cpu_seconds_total", 0.4, "mode", "user")
	rate(s, "node_cpu_seconds_total", 1.5, "mode", "idle")
	rate(s, "node_cpu_seconds_total", 0.1, "mode", "iowait")
	rate(s, figures.Handlers.Name, 800, "handler", "read_rnd_next")
	rate(s, "mysql_global_status_rows_sent", 400)
	for i := range 10 {
		s.Classes = append(s.Classes, class.Class{
			ID: fmt.Sprintf("%032d", i), Origin: class.PerformanceSchema, Count: 1000, TimeSec: 0.1,
			Examined: known.Of(uint64(1000)), RowsSent: known.Of(uint64(400)),
		})
	}
	return s
}

// rate sets a counter that grows by perSec a second.
func rate(s *snapshot.Snapshot, name string, perSec float64, labels ...string) {
	x := metric.Series{Name: name, Labels: metric.L(labels...), Kind: metric.Counter}
	for i := range window + 1 {
		x.Points = append(x.Points, metric.Point{At: s.From.UnixMilli() + int64(i)*1000, Value: perSec * float64(i)})
	}
	for i, y := range s.Series {
		if y.Name == name && y.Labels.Compare(x.Labels) == 0 {
			s.Series[i] = x
			return
		}
	}
	s.Series = append(s.Series, x)
}

func drop(s *snapshot.Snapshot, prefix string) {
	var keep []metric.Series
	for _, x := range s.Series {
		if !strings.HasPrefix(x.Name, prefix) {
			keep = append(keep, x)
		}
	}
	s.Series = keep
}

func TestSymptoms(t *testing.T) {
	f := func(change func(*snapshot.Snapshot), want ...string) {
		t.Helper()
		s := quiet()
		change(s)
		var got []string
		for _, x := range diagnose.Symptoms(s, List()) {
			got = append(got, x.ID)
			if x.Title == "" || len(x.Evidence) == 0 || x.Kind == "" || x.Subject == "" {
				t.Errorf("incomplete: %+v", x)
			}
			for _, e := range x.Evidence {
				if e.Source == "" || e.Text == "" || strings.Contains(e.Text, "NaN") {
					t.Errorf("incomplete evidence: %+v", e)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		a, err := json.Marshal(diagnose.Symptoms(s, List()))
		if err != nil {
			t.Error(err)
		}
		if b, _ := json.Marshal(diagnose.Symptoms(s, List())); string(a) != string(b) {
			t.Error("the same snapshot gave other symptoms")
		}
	}
	id := fmt.Sprintf("%032d", 0)
	f(func(*snapshot.Snapshot) {}) // the silent twin of all
	f(func(s *snapshot.Snapshot) { s.Classes, s.Series = nil, nil })

	f(func(s *snapshot.Snapshot) { rate(s, "dyno_server_cpu_seconds_total", 1.6, "mode", "user") }, "cpu-saturated")
	f(func(s *snapshot.Snapshot) { // the machine is busy, the server is not
		rate(s, "node_cpu_seconds_total", 30, "mode", "user")
	})
	f(func(s *snapshot.Snapshot) { // the process cannot be seen: the machine stands in
		drop(s, "dyno_server")
		rate(s, "node_cpu_seconds_total", 30, "mode", "user")
	}, "cpu-saturated")
	f(func(s *snapshot.Snapshot) { // how many CPUs it may use is not known: nobody can say
		s.Host.CPUs = known.None[float64]()
		rate(s, "dyno_server_cpu_seconds_total", 64, "mode", "user")
	})
	f(func(s *snapshot.Snapshot) { rate(s, "node_cpu_seconds_total", 1.2, "mode", "iowait") }, "io-wait")

	f(func(s *snapshot.Snapshot) { rate(s, figures.Handlers.Name, 2.3e6, "handler", "read_rnd_next") }, "rnd-next")
	f(func(s *snapshot.Snapshot) { // many rows read, many rows sent
		rate(s, figures.Handlers.Name, 2.3e6, "handler", "read_rnd_next")
		rate(s, "mysql_global_status_rows_sent", 1e6)
	})
	f(func(s *snapshot.Snapshot) { // MySQL does not count rows sent: the classes do
		rate(s, figures.Handlers.Name, 2.3e6, "handler", "read_rnd_next")
		drop(s, "mysql_global_status_rows_sent")
		s.Classes[0].RowsSent = known.Of(uint64(10e6))
	})

	f(func(s *snapshot.Snapshot) { s.Classes[0].TimeSec = 3 }, "dominant-class:"+id)
	f(func(s *snapshot.Snapshot) { // a large share of nothing
		for i := range s.Classes {
			s.Classes[i].TimeSec /= 1000
		}
		s.Classes[0].TimeSec = 0.3
	})

	f(func(s *snapshot.Snapshot) { s.Classes[0].Examined = known.Of(uint64(1e6)) }, "scan:"+id)
	f(func(s *snapshot.Snapshot) {
		s.Classes[0].Examined = known.Of(uint64(9000))
		s.Classes[0].RowsSent = known.Of(uint64(1))
	}) // too few to matter
	f(func(s *snapshot.Snapshot) { s.Classes[0].Examined = known.Of(uint64(30_000)) }) // 75 for one
	f(func(s *snapshot.Snapshot) {
		// a delete returns nothing, and changes what it examines
		s.Classes[0].Examined, s.Classes[0].RowsSent, s.Classes[0].Affected = known.Of(uint64(1e6)),
			known.Of(uint64(0)), known.Of(uint64(1e6))
	})
	f(func(s *snapshot.Snapshot) { // the dictionary is made to be scanned
		s.Classes[0].Fingerprint, s.Classes[0].Examined = "select a from performance_schema.threads where b = ?",
			known.Of(uint64(1e6))
	})
	whole := explain.Plan{Class: id, Steps: []explain.Step{{Table: "t", Access: "ALL", Rows: 50_000}}}
	f(func(s *snapshot.Snapshot) { // sampled: how many rows were sent is not known, the plan tells
		s.Classes[0].Sampled, s.Classes[0].Examined, s.Classes[0].RowsSent = true,
			known.Of(uint64(1e6)), known.None[uint64]()
		s.Plans = append(s.Plans, whole)
	}, "scan:"+id)
	f(func(s *snapshot.Snapshot) { s.Plans = append(s.Plans, whole) }) // the plan alone, and the counters disagree
	f(func(s *snapshot.Snapshot) {
		s.Plans = append(s.Plans, whole)
		s.Classes[0].FullScans = known.Of(uint64(1000))
	}, "scan:"+id)

	f(func(s *snapshot.Snapshot) { s.Sources = nil }, "not-observable:global_status", "not-observable:digests",
		"not-observable:statement_samples", "not-observable:locks", "not-observable:process", "not-observable:host")
}

func TestBlindSaysWhatWouldMendIt(t *testing.T) {
	s := quiet()
	s.Sources[1] = source.Source{
		Name: "digests", State: source.Denied, Reason: "no SELECT on performance_schema",
		Fix: "GRANT SELECT ON performance_schema.* TO u",
	}
	got := diagnose.Symptoms(s, List())[0].Evidence[0].Text
	want := "Data unavailable: exact figures of every class of statements (digests: denied, no SELECT on " +
		"performance_schema). Fix: GRANT SELECT ON performance_schema.* TO u"
	if got != want {
		t.Fatalf("got %q", got)
	}
}
