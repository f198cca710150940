package index

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/test/snap"
)

func whole(key string, rows float64, extra ...string) explain.Step {
	return explain.Step{SelectType: "SIMPLE", Table: "things", Access: "index", Key: key, Rows: rows, Extra: extra}
}

func TestIndexScan(t *testing.T) {
	const q = "SELECT a, id FROM things WHERE b = 5"
	m := things(snap.Build().Status("Handler_read_next", 3e6).Status("Handler_read_rnd_next", 1000), "k: a, b").Exact(q,
		100, 0.09, 300_000, 100).
		Plan(whole("k", 300_000, "Using where", "Using index"))
	f := finds(t, m, "index-scan (b)")
	says(t, f.Cause, "the whole index k")
	says(t, f.Title, "3M index entries a second")
	m = things(snap.Build().Status("Handler_read_next", 3e6).Status("Rows_sent", 1000), "k: a, b").Sampled(q, 18).
		Plan(whole("k", 300_000, "Using where", "Using index"))
	finds(t, m, "index-scan (b)")
}

func TestIndexScanSilent(t *testing.T) {
	f := func(m *snap.Made) {
		t.Helper()
		finds(t, m)
	}
	// Everything is counted: the smallest index is the right one to read.
	f(things(snap.Build(), "k: a, b").Exact("SELECT COUNT(*) FROM things", 100, 0.09, 300_000, 1).
		Plan(whole("k", 300_000, "Using index")))
	// Everything is returned in order.
	f(things(snap.Build(), "k: a, b").Exact("SELECT a, b FROM things ORDER BY a", 10, 0.9, 300_000, 300_000).
		Plan(whole("k", 300_000, "Using index")))
	// The first rows in order.
	f(things(snap.Build(), "k: a, b").Exact("SELECT a, b FROM things ORDER BY a LIMIT 10", 10_000, 0.0009, 10, 10).
		Plan(whole("k", 10, "Using index")))
	// Most rows match.
	f(things(snap.Build(), "k: a, b").Exact("SELECT a, id FROM things WHERE b = 5", 10, 0.9, 300_000, 200_000).
		Plan(whole("k", 300_000, "Using where", "Using index")))
	// A small one.
	f(tableOf(snap.Build(), "things", 500, "k: a, b").Exact("SELECT a, id FROM things WHERE b = 5", 10_000, 0.0009, 500,
		2).Plan(whole("k", 500, "Using where", "Using index")))
	// Looked up.
	f(things(snap.Build(), "k: a, b", "by_b: b").Exact("SELECT a, id FROM things WHERE b = 5", 10_000, 0.0009, 100,
		100).Plan(by("ref", "by_b", 100)))
}
