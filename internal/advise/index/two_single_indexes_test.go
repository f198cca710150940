package index

import (
	"testing"

	"github.com/dyno-perf/dyno/test/snap"
)

func TestTwoSingleIndexes(t *testing.T) {
	const q = "SELECT c1, remark FROM things WHERE a = 5 AND b = 6"
	both := func(m *snap.Made) *snap.Made {
		things(m, "by_a: a", "by_b: b")
		return distincts(distincts(m, "by_a", 60), "by_b", 50)
	}
	// Merged: the server may count only what is left, then statistics tell what is read.
	m := both(snap.Build()).Exact(q, 1000, 0.009, 100, 100).Plan(by("index_merge", "by_a,by_b", 100,
		"Using intersect(by_a,by_b)", "Using where"))
	f := finds(t, m, "two-single-indexes (a, b)")
	says(t, f.Title, "11k index entries", "return 100")
	says(t, f.Cause, "by_a and by_b")
	m = both(snap.Build().MySQL("9.7.0")).Exact(q, 1000, 0.009, 11_000, 100).Plan(by("index_merge", "by_b,by_a", 100,
		"Using intersect(by_b,by_a)"))
	if f := finds(t, m, "two-single-indexes (a, b)"); f.Confidence != "certain" {
		t.Errorf("counted and %s", f.Confidence)
	}
	// One of them is used, the other condition is checked on each row.
	m = both(snap.Build()).Exact(q, 1000, 0.009, 5000, 100).Plan(by("ref", "by_a", 5000, "Using where"))
	says(t, finds(t, m, "two-single-indexes (a, b)").Cause, "discards most of the rows")
	// MariaDB's row id filter reads both as well.
	m = both(snap.Build()).Exact(q, 1000, 0.009, 5000, 100).Plan(by("ref|filter", "by_a|by_b", 5000,
		"Using where", "Using rowid filter"))
	finds(t, m, "two-single-indexes (a, b)")
}

func TestTwoSingleIndexesSilent(t *testing.T) {
	const q = "SELECT c1, remark FROM things WHERE a = 5 AND b = 6"
	f := func(m *snap.Made) {
		t.Helper()
		finds(t, m)
	}
	// One of them finds few rows already.
	f(things(snap.Build(), "by_a: a", "by_b: b").Exact(q, 10_000, 0.0009, 20, 3).
		Plan(by("ref", "by_a", 20, "Using where")))
	// The composite is there.
	f(things(snap.Build(), "by_a: a", "by_b: b", "both: b, a").Exact(q, 1000, 0.009, 5000, 100).
		Plan(by("ref", "by_a", 5000, "Using where")))
	// Either condition will do: both are needed.
	f(things(snap.Build(), "by_a: a", "by_b: b").Exact("SELECT c1 FROM things WHERE a = 5 OR b = 6", 1000,
		0.009, 11_000, 11_000).
		Plan(by("index_merge", "by_a,by_b", 11_000, "Using union(by_a,by_b)", "Using where")))
	// Each is used by a class of its own.
	f(things(snap.Build(), "by_a: a", "by_b: b").Exact("SELECT remark FROM things WHERE a = 5", 1000, 0.0045, 100, 100).
		Plan(by("ref", "by_a", 100)).
		Exact("SELECT remark FROM things WHERE b = 5", 1000, 0.0045, 100, 100).Plan(by("ref", "by_b", 100)))
	// Most of what one finds meets the other condition.
	f(things(snap.Build(), "by_a: a", "by_b: b").Exact(q, 1000, 0.009, 5000, 3000).
		Plan(by("ref", "by_a", 5000, "Using where")))
}
