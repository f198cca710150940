package capture

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
)

func TestLean(t *testing.T) {
	x := func(name string, values ...float64) metric.Series {
		s := metric.Series{Name: name, Kind: metric.Counter}
		for i, v := range values {
			s.Points = append(s.Points, metric.Point{At: int64(i) * 1000, Value: v})
		}
		return s
	}
	f := func(in metric.Series, points int) {
		t.Helper()
		out := lean([]metric.Series{in})
		n := 0
		if len(out) == 1 {
			n = len(out[0].Points)
		}
		if n != points {
			t.Errorf("%s %v: %d points, want %d", in.Name, in.Points, n, points)
			return
		}
		if n == 0 {
			return
		}
		a, aok := in.Rate()
		b, bok := out[0].Rate()
		if a != b || aok != bok || in.Points[len(in.Points)-1] != out[0].Points[n-1] {
			t.Errorf("%s: its rate was %v and is %v", in.Name, a, b)
		}
	}
	f(x("mysql_global_status_questions", 1, 2, 3), 3)
	f(x("mysql_global_status_innodb_log_waits", 0, 0, 0, 0), 2) // a zero that was measured stays one
	f(x("mysql_global_status_threads_running", 5, 5, 6, 5), 4)
	f(x("mysql_perf_schema_events_waits_total", 7, 7), 0)
	f(x("mysql_perf_schema_events_waits_total", 7, 8), 2)
	f(x("mysql_perf_schema_events_waits_total", 7), 1) // not known to stand still
	f(x("mysql_perf_schema_index_io_waits_total", 7, 7, 7), 2)
	f(x("mysql_perf_schema_memory_events_used_bytes", 100, 200), 0)
	f(x("mysql_perf_schema_memory_events_used_bytes", 1<<30, 1<<30, 1<<30), 2)
	f(x("dyno_source_seconds_total", 1, 2), 0)
	f(x("dyno_scrape_server_seconds_total", 1, 2), 2)
}

// TestClientsOnly: what is known of clients alone takes the place of the server's total, under that one's name.
func TestClientsOnly(t *testing.T) {
	x := func(name string, labels metric.Labels, values ...float64) metric.Series {
		s := metric.Series{Name: name, Labels: labels, Kind: metric.Counter}
		for i, v := range values {
			s.Points = append(s.Points, metric.Point{At: int64(i) * 1000, Value: v})
		}
		return s
	}
	client := func(variable string, values ...float64) metric.Series {
		return x(metric.ClientStatusTotal, metric.L("variable", variable), values...)
	}
	handler := func(what string, values ...float64) metric.Series {
		return x(figures.Handlers.Name, metric.L(figures.Handlers.Label, what), values...)
	}
	got := clientsOnly([]metric.Series{
		client("handler_read_key", 1, 2), client("handler_read_next", 5), client("com_select", 7, 8),
		client("questions", 3, 4),
		handler("read_key", 100, 200), handler("read_next", 100, 300), handler("write", 1, 9),
		x(figures.Commands.Name, metric.L(figures.Commands.Label, "select"), 100, 200),
		x("mysql_global_status_questions", nil, 100, 200),
	})
	var last []float64
	for _, s := range got {
		last = append(last, s.Points[len(s.Points)-1].Value)
	}
	if want := []float64{2, 300, 9, 8, 4}; !slices.Equal(last, want) { // one point of read_next is no rate
		t.Errorf("%v, want %v: %+v", last, want, got)
	}
}
