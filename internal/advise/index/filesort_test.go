package index

import (
	"testing"

	"github.com/dyno-perf/dyno/test/snap"
)

func TestFilesort(t *testing.T) {
	const q = "SELECT a, remark FROM things WHERE c = 5 ORDER BY b DESC LIMIT 10"
	m := things(snap.Build().MySQL("8.0.40"), "by_c: c").Exact(q, 1000, 0.009, 2000, 10).
		Plan(by("ref", "by_c", 2000, "Using filesort"))
	f := finds(t, m, "filesort (c, b)")
	says(t, f.Title, "2000 rows", "return 10")
	says(t, f.Cause, "by_c (c)", "order of b")
	says(t, f.Suggestion, "It serves all that by_c (c) serves")
	if f.Confidence != "certain" || f.Gain == nil || f.Gain.Lo < 5 {
		t.Errorf("%s, gain %+v", f.Confidence, f.Gain)
	}

	m = things(snap.Build().Status("Handler_read_next", 2e6).Status("Rows_sent", 10_000), "by_c: c").
		Sampled(q, 18).Plan(by("ref", "by_c", 2000, "Using where", "Using filesort"))
	finds(t, m, "filesort (c, b)")

	// No condition at all: the first rows of the whole table.
	m = things(snap.Build()).Exact("SELECT a, remark FROM things ORDER BY b LIMIT 10", 100, 0.09, 300_000, 10).
		Plan(snap.All("things", 300_000))
	says(t, finds(t, m, "filesort (b)").Cause, "no index has that order")

	// The directions differ: an index can run down in a part.
	m = things(snap.Build().MySQL("8.0.40"), "by_c: c").Exact("SELECT a FROM things WHERE c = 5 ORDER BY b DESC, c1 "+
		"LIMIT 10", 1000, 0.009, 2000, 10).Plan(by("ref", "by_c", 2000, "Using filesort"))
	finds(t, m, "filesort (c, b DESC, c1)")
}

func TestFilesortSilent(t *testing.T) {
	const q = "SELECT a, remark FROM things WHERE c = 5 ORDER BY b DESC LIMIT 10"
	f := func(m *snap.Made) {
		t.Helper()
		finds(t, m)
	}
	f(things(snap.Build(), "right: c, b").Exact(q, 10_000, 0.0009, 10, 10).
		Plan(by("ref", "right", 2000, "Using where")))
	// All rows are wanted: the sort is a small part of the work.
	f(things(snap.Build(), "by_c: c").Exact("SELECT a, remark FROM things WHERE c = 5 ORDER BY b", 1000, 0.009, 2000,
		2000).Plan(by("ref", "by_c", 2000, "Using filesort")))
	// Few rows to sort.
	f(things(snap.Build(), "by_c: c").Exact(q, 10_000, 0.0009, 40, 10).Plan(by("ref", "by_c", 40, "Using filesort")))
	// Nothing gives the order of an expression.
	f(things(snap.Build(), "by_c: c").Exact("SELECT a FROM things WHERE c = 5 ORDER BY b + c1 LIMIT 10", 1000, 0.009,
		2000, 10).Plan(by("ref", "by_c", 2000, "Using filesort")))
	// Nor of two directions where the server has no descending parts.
	m := things(snap.Build(), "by_c: c").Exact("SELECT a FROM things WHERE c = 5 ORDER BY b DESC, c1 LIMIT 10", 1000,
		0.009, 2000, 10).Plan(by("ref", "by_c", 2000, "Using filesort"))
	m.S.Target.Version = "10.6.18"
	f(m)
	// A range, and a sort by something else.
	f(things(snap.Build(), "by_c: c").Exact("SELECT a FROM things WHERE c > 5 ORDER BY b LIMIT 10", 1000, 0.009, 2000,
		10).Plan(by("range", "by_c", 2000, "Using filesort")))
	// The table is small.
	f(tableOf(snap.Build(), "things", 500, "by_c: c").Exact(q, 10_000, 0.0009, 400, 10).
		Plan(by("ref", "by_c", 400, "Using filesort")))
	// The index that has the order is there, and the server does without.
	f(things(snap.Build(), "by_c: c", "right: c, b").Exact(q, 1000, 0.009, 2000, 10).
		Plan(by("ref", "by_c", 2000, "Using filesort")))
}
