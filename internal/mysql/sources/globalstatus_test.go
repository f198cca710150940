package sources

import (
	"database/sql/driver"
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
)

// TestKeptCounters: a counter of which the server forgets a part goes on from where it was; one that starts anew falls.
func TestKeptCounters(t *testing.T) {
	k := series{past: new(past)}
	var got []float64
	for _, v := range []float64{1000, 1200, 1190, 1195, 1250, 20, 30, 15, 40} {
		got = append(got, k.keep(v))
	}
	if want := []float64{1000, 1200, 1200, 1205, 1260, 20, 30, 30, 55}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if v := (series{}).keep(-3); v != -3 {
		t.Errorf("a state becomes %v", v)
	}
}

// TestSamplesAreBornOnce: what a variable is called is worked out in the first reading.
func TestSamplesAreBornOnce(t *testing.T) {
	var rows [][]driver.Value
	for _, n := range []string{"Com_select", "Handler_write", "Innodb_buffer_pool_pages_free", "Questions", "Uptime"} {
		rows = append(rows, []driver.Value{[]byte(n), []byte("12")})
	}
	server := without{end: len(rows), row: func(_ string, n int) []driver.Value { return rows[n%len(rows)] }}
	s := newGlobalStatus(server, nil, nil, false)
	var got []string
	read := func(emit func(metric.Sample)) func() {
		return func() {
			if err := s.Scrape(t.Context(), 0, emit); err != nil {
				t.Fatal(err)
			}
		}
	}
	read(func(m metric.Sample) { got = append(got, labeled(m.Name, m.Labels)) })()
	if want := []string{
		`mysql_global_status_commands_total{command="select"}`, `mysql_global_status_handlers_total{handler="write"}`,
		`mysql_global_status_buffer_pool_pages{state="free"}`, "mysql_global_status_questions",
		"mysql_global_status_uptime",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	few := testing.AllocsPerRun(100, read(func(metric.Sample) {}))
	server.end *= 101
	s.q = server
	if many := testing.AllocsPerRun(100, read(func(metric.Sample) {})); many > few {
		t.Errorf("%v allocations for 5 samples, %v for 505", few, many)
	}
}
