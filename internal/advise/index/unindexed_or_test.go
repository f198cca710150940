package index

import (
	"testing"

	"github.com/dyno-perf/dyno/test/snap"
)

func TestUnindexedOr(t *testing.T) {
	const q = "SELECT remark FROM things WHERE a = 5 OR b = 6 AND c > 7"
	f := finds(t, things(snap.Build()).Exact(q, 100, 0.09, 300_000, 30).Plan(snap.All("things", 300_000)),
		"unindexed-or (a) (b, c)")
	says(t, f.Suggestion, "one alone changes nothing", "UNION")
	says(t, f.Action.SQL, "ADD INDEX `idx_a` (`a`), ADD INDEX `idx_b_c` (`b`, `c`)")
	finds(t, things(snap.Build(), "by_a: a").Exact(q, 100, 0.09, 300_000, 30).Plan(snap.All("things", 300_000, "by_a")),
		"unindexed-or (b, c)")
	finds(t, things(snap.Build(), "by_a: a").Exact("DELETE FROM things WHERE a = 5 OR b IN (6, 7)", 100, 0.09, 300_000,
		0, affected(300)).Plan(snap.All("things", 300_000, "by_a")), "unindexed-or (b)")
}

func TestUnindexedOrSilent(t *testing.T) {
	f := func(m *snap.Made) {
		t.Helper()
		finds(t, m)
	}
	const q = "SELECT remark FROM things WHERE a = 5 OR b = 6"
	// Both are there, and the server prefers the table.
	f(things(snap.Build(), "by_a: a", "by_b: b").Exact(q, 100, 0.09, 300_000, 30).
		Plan(snap.All("things", 300_000, "by_a", "by_b")))
	// One of them can never be looked up.
	f(things(snap.Build()).Exact("SELECT remark FROM things WHERE a = 5 OR b + 1 = 6", 100, 0.09, 300_000, 30).
		Plan(snap.All("things", 300_000)))
	// A good part of the table is wanted.
	f(things(snap.Build()).Exact(q, 100, 0.09, 300_000, 20_000).Plan(snap.All("things", 300_000)))
	// Merged already.
	f(things(snap.Build(), "by_a: a", "by_b: b").Exact(q, 10_000, 0.0009, 100, 100).Plan(by("index_merge", "by_a,by_b",
		100, "Using union(by_a,by_b)", "Using where")))
	// A small table.
	f(tableOf(snap.Build(), "things", 500).Exact(q, 10_000, 0.0009, 500, 3).Plan(snap.All("things", 500)))
}
