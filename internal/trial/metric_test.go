package trial

import "testing"

func TestMetricOf(t *testing.T) {
	f := func(name, unit string, want Metric) {
		t.Helper()
		if got := MetricOf(name, unit); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	f("tps", "bytes", Metric{"tps", "transactions/s", "1/s", More, 4})
	f("p95_ms", "", Metric{"p95_ms", "p95", "ms", Less, 3})
	f("steal_share", "", Metric{"steal_share", "steal", "share", Neither, 3})
	f("ms", "", Metric{"ms", "time", "ms", Less, 3})
	f("lookup.ms", "", Metric{"lookup.ms", "lookup: time", "ms", Less, 3})
	f("a.b.rows_read", "", Metric{"a.b.rows_read", "a.b: rows read", "rows", Less, 4})
	f("lookup.tps", "", Metric{"lookup.tps", "lookup.tps", "", More, 4})
	f(".ms", "", Metric{".ms", ".ms", "", More, 4})
	f("buffer_pool", "bytes", Metric{"buffer_pool", "buffer pool", "bytes", More, 4})
	f("", "", Metric{"", "", "", More, 4})
}

func TestKnown(t *testing.T) {
	f := func(want bool, names ...string) {
		t.Helper()
		for _, name := range names {
			if Known(name) != want {
				t.Errorf("%q: %v", name, !want)
			}
		}
	}
	f(true, "tps", "qps", "p999_ms", "low_share", "written_bytes_redo", "ms", "lookup.ms", "lookup.rows_read")
	f(false, "", "lookup.tps", ".ms", "lookup.", "TPS", "seconds")
}

func TestMetrics(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] || m.Title == "" || m.Digits < 1 || m.Better != More &&
			m.Better != Less && m.Better != Neither {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
	}
}
