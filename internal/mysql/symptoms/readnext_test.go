package symptoms

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestReadNext(t *testing.T) {
	f := func(m *snap.Made, want bool) {
		t.Helper()
		if got := len(readNext(m.S)) > 0; got != want {
			t.Errorf("got %v", got)
		}
	}
	f(snap.Build().Status("Handler_read_next", 2e6).Status("Rows_sent", 1000), true)
	f(snap.Build().Status("Handler_read_next", 2000).Status("Handler_icp_attempts", 1e6).Status("Handler_icp_match",
		2000).Status("Rows_sent", 2000), true)
	f(snap.Build().Status("Handler_read_prev", 2e6).Status("Handler_read_next", 0).Status("Rows_sent", 1000), true)
	// MySQL has no Rows_sent: the classes tell.
	f(snap.Build().Status("Handler_read_next", 2e6).Exact("SELECT a FROM t WHERE b = 1", 100, 0.01, 1000, 10), true)

	f(snap.Build(), false)
	f(snap.Build().Status("Handler_read_next", 2e6).Status("Rows_sent", 1e5), false)
	f(snap.Build().Status("Handler_read_next", 5000).Status("Rows_sent", 1), false)
	f(snap.Build().Status("Handler_read_next", 2e6), false)
	// Entries that meet the condition are rows that are read anyhow.
	f(snap.Build().Status("Handler_read_next", 9000).Status("Handler_icp_attempts", 1e6).Status("Handler_icp_match",
		1e6).Status("Rows_sent", 10), false)
	// What was sent is not known for all.
	f(snap.Build().Status("Handler_read_next", 2e6).Exact("SELECT a FROM t WHERE b = 1", 100, 0.01, 1000, 10).
		Sampled("SELECT a FROM t WHERE c = 1", 5, func(c *class.Class) { c.RowsSent = known.None[uint64]() }), false)
}
