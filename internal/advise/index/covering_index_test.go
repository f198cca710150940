package index

import (
	"testing"

	"github.com/dyno-perf/dyno/test/snap"
)

func TestCoveringIndex(t *testing.T) {
	m := things(snap.Build(), "by_c: c").Exact("SELECT SUM(c1), SUM(c2) FROM things WHERE c = 5", 1000, 0.009, 5000, 1).
		Plan(by("ref", "by_c", 5000))
	f := finds(t, m, "covering-index (c, c1, c2)")
	says(t, f.Cause, "looked up once more", "c1, c2")
	says(t, f.Suggestion, "It serves all that by_c (c) serves")
	if f.Severity != "notice" {
		t.Errorf("severity %s", f.Severity)
	}
}

func TestCoveringIndexSilent(t *testing.T) {
	f := func(m *snap.Made) {
		t.Helper()
		finds(t, m)
	}
	// It covers already.
	f(things(snap.Build(), "k: c, c1").Exact("SELECT SUM(c1) FROM things WHERE c = 5", 1000, 0.009, 5000, 1).
		Plan(by("ref", "k", 5000, "Using index")))
	// Long columns.
	f(things(snap.Build(), "by_c: c").Exact("SELECT c1, remark FROM things WHERE c = 5", 1000, 0.009, 5000, 5000).
		Plan(by("ref", "by_c", 5000)))
	// All columns.
	f(things(snap.Build(), "by_c: c").Exact("SELECT * FROM things WHERE c = 5", 1000, 0.009, 5000, 5000).
		Plan(by("ref", "by_c", 5000)))
	// Few rows.
	f(things(snap.Build(), "by_c: c").Exact("SELECT c1 FROM things WHERE c = 5", 10_000, 0.0009, 50, 50).
		Plan(by("ref", "by_c", 50)))
	// Rows are looked up to be changed.
	f(things(snap.Build(), "by_c: c").Exact("SELECT c1 FROM things WHERE c = 5 FOR UPDATE", 1000, 0.009, 5000, 5000).
		Plan(by("ref", "by_c", 5000)))
	// The call takes its time elsewhere.
	f(things(snap.Build(), "by_c: c").Exact("SELECT c1 FROM things WHERE c = 5", 100, 0.09, 500, 500).
		Plan(by("ref", "by_c", 500)))
}
