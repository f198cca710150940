package sources

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestProcess: the work of a session is the server's, also when its process has ended.
func TestProcess(t *testing.T) {
	s := pgserver.Start(t, "17")
	sc := scraper(t, open(t, s, "postgres"), "process")
	r := sc.Once(t.Context())
	if x := sourceOf(t, r, source.Process); x.State != source.OK {
		t.Fatalf("%+v", x)
	}
	cpu := func(r reading.Reading) float64 {
		return value(t, r, "dyno_server_cpu_seconds_total", "mode", "user") +
			value(t, r, "dyno_server_cpu_seconds_total", "mode", "system")
	}
	before := cpu(r)
	if n := value(t, r, "dyno_server_processes"); n < 5 || n > 20 {
		t.Errorf("%v processes", n)
	}
	if v := value(t, r, "dyno_server_resident_bytes"); v < 1<<20 || v > 1<<30 {
		t.Errorf("%v bytes", v)
	}
	s.Exec(t, "postgres", "SELECT count(*) FROM generate_series(1, 3000000)")
	r = sc.Once(t.Context())
	if after := cpu(r); after-before < 0.1 {
		t.Errorf("CPU %v, before %v", after, before)
	}
	s.Stop(t)
	if x := sourceOf(t, sc.Once(t.Context()), source.Process); x.State != source.Failed {
		t.Errorf("after its end: %+v", x)
	}
	s.Launch(t)
	if x := sourceOf(t, sc.Once(t.Context()), source.Process); x.State != source.OK {
		t.Errorf("after its start: %+v", x)
	}
}
