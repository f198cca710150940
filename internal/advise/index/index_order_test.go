package index

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestIndexOrder(t *testing.T) {
	// Entries that an index condition throws away are counted by nobody: the plan tells of them.
	m := things(snap.Build().MySQL("9.7.0"), "wrong: c, d").Exact("SELECT a, remark FROM things WHERE c > 100 AND d "+
		"= 'x'", 1000, 0.009, 30, 30).Plan(by("range", "wrong", 24_000, "Using index condition"))
	f := finds(t, m, "index-order (d, c)")
	says(t, f.Title, "24k index entries", "return 30")
	says(t, f.Cause, "wrong (c, d)", "only c is looked up")
	says(t, f.Suggestion, "No other class was observed to use wrong in this window")
	if len(f.Against) != 1 || !strings.Contains(f.Against[0], "counted 30 rows examined per call") ||
		f.Evidence[0].Source != "plan" {
		t.Errorf("an estimate must be said to be one: %v %+v", f.Against, f.Evidence[0])
	}
	if f.Gain == nil || f.Gain.Hi < 50 || f.Confidence != "likely" {
		t.Errorf("gain %+v, %s", f.Gain, f.Confidence)
	}

	// Somebody else uses the index.
	m.Exact("SELECT remark FROM things WHERE c = 5", 10, 0.001, 10, 10).Plan(by("ref", "wrong", 10))
	says(t, finds(t, m, "index-order (d, c)").Suggestion, "Keep wrong: 1 other class is observed to use it")

	// Counted by looking only: the server's counters bound it.
	m = things(snap.Build().Status("Handler_icp_attempts", 1.3e6).Status("Handler_icp_match", 3000).
		Status("Handler_read_next", 3000).Status("Rows_sent", 4000), "wrong: c, d").
		Sampled("SELECT a FROM things WHERE c > 100 AND d = 'x'", 18).Plan(by("range", "wrong", 24_000,
		"Using index condition"))
	finds(t, m, "index-order (d, c)")

	// The range is so wide that the server reads the table instead.
	m = things(snap.Build(), "wrong: c, d").Exact("SELECT a, remark FROM things WHERE c > 100 AND d = 'x'", 100, 0.09,
		300_000, 30).Plan(snap.All("things", 300_000, "wrong"))
	says(t, finds(t, m, "index-order (d, c)").Cause, "wrong (c, d)")

	// An aggregate does not tell what matched; that the other column has many values does.
	m = distincts(things(snap.Build(), "wrong: c, d", "other: d"), "other", 400).Exact("SELECT COUNT(*) FROM things "+
		"WHERE c > 100 AND d = 'x'", 1000, 0.009, 24_000, 1).
		Plan(by("range", "wrong", 24_000, "Using where", "Using index"))
	finds(t, m, "index-order (d, c)")
}

func TestIndexOrderSilent(t *testing.T) {
	const q = "SELECT a, remark FROM things WHERE c > 100 AND d = 'x'"
	f := func(m *snap.Made) {
		t.Helper()
		finds(t, m)
	}
	// In the right order.
	f(things(snap.Build(), "right: d, c").Exact(q, 1000, 0.009, 5000, 5000).Plan(by("range", "right", 5000)))
	// The right one is there as well, and the server prefers the other.
	f(things(snap.Build(), "wrong: c, d", "right: d, c").Exact(q, 1000, 0.009, 30, 30).
		Plan(by("range", "wrong", 24_000)))
	// The range is narrow.
	f(things(snap.Build(), "wrong: c, d").Exact(q, 10_000, 0.0009, 30, 30).Plan(by("range", "wrong", 150)))
	// Most of what is read is wanted.
	f(things(snap.Build(), "wrong: c, d").Exact(q, 1000, 0.009, 20_000, 12_000).Plan(by("range", "wrong", 24_000)))
	// The plan promises more than a call has time for: it is wrong.
	f(things(snap.Build(), "wrong: c, d").Exact(q, 100_000, 0.00009, 30, 30).Plan(by("range", "wrong", 24_000)))
	// Two ranges: no order serves both.
	f(things(snap.Build(), "k: c, b").Exact("SELECT a, remark FROM things WHERE c > 100 AND b > 5", 1000, 0.009, 24_000,
		30).Plan(by("range", "k", 24_000)))
	// The other column has two values only, and what matched is not known.
	f(distincts(things(snap.Build(), "wrong: c, d", "other: d"), "other", 2).Exact("SELECT COUNT(*) FROM things "+
		"WHERE c > 100 AND d = 'x'", 1000, 0.009, 24_000, 1).
		Plan(by("range", "wrong", 24_000)))
	// A primary key of the same columns in the right order.
	m := things(snap.Build()).Exact(q, 1000, 0.009, 30, 30).Plan(by("range", "PRIMARY", 24_000))
	m.Last().Indexes[0].Parts = append(m.Last().Indexes[0].Parts[:0:0], m.Last().Indexes[0].Parts...)
	m.Last().Indexes[0].Parts[0].Column = "d"
	m.Last().Indexes[0].Parts = append(m.Last().Indexes[0].Parts, m.Last().Indexes[0].Parts[0])
	m.Last().Indexes[0].Parts[1].Column = "c"
	f(m)
	// Hardly any of the time.
	f(things(snap.Build(), "wrong: c, d").Exact(q, 10, 0.009, 30, 30).Plan(by("range", "wrong", 24_000)).
		Exact("SELECT c FROM things WHERE id = 1", 10_000, 0.001, 1, 1))
}

// TestOrderOfColumns holds the index that an expert would make of each kind of condition, and his reason.
func TestOrderOfColumns(t *testing.T) {
	f := func(q, want, reason string, more ...func(*snap.Made)) {
		t.Helper()
		for _, flavor := range []string{"mariadb", "mysql"} {
			m := things(snap.Build())
			if flavor == "mysql" {
				m.MySQL("9.7.0")
			}
			m.Exact(q, 100, 0.1, 300_000, 30).Plan(snap.All("things", 300_000))
			for _, x := range more {
				x(m)
			}
			x := finds(t, m, want)
			why := x.Suggestion
			for _, r := range x.Why {
				why += " " + r.Answer
			}
			says(t, why, reason)
		}
	}
	sample := func(col string, distinct int) func(*snap.Made) {
		return func(m *snap.Made) {
			for i, c := range m.Last().Columns {
				if c.Name == col {
					m.Last().Columns[i].Sample = sampleOf(distinct)
				}
			}
		}
	}
	sent := func(n uint64) func(*snap.Made) {
		return func(m *snap.Made) { m.S.Classes[0].RowsSent = known.Of(100 * n) }
	}

	// A range and an equality: the equality goes first.
	f("SELECT a FROM things WHERE c > 100 AND d = 'x'", "missing-index (d, c)", "Order for an index: equality, then "+
		"one list, range or the sort")
	// Two equalities: either order, and it says so; with figures the column with more values goes first.
	f("SELECT a FROM things WHERE b = 100 AND d = 'x'", "missing-index (b, d)", "any order serves this statement")
	f("SELECT a FROM things WHERE d = 'x' AND b = 100", "missing-index (b, d)", "any order serves this statement")
	f("SELECT a FROM things WHERE b = 100 AND d = 'x'", "missing-index (d, b)", "most distinct values first",
		sample("b", 2), sample("d", 400))
	// Another class looks the second column up alone: the order is free, so that it serves both.
	f("SELECT a FROM things WHERE b = 100 AND d = 'x'", "missing-index (d, b)",
		"one index serves both", func(m *snap.Made) {
			m.Exact("SELECT a FROM things WHERE d = 'y'", 60, 0.1, 300_000, 30).Plan(snap.All("things", 300_000))
		})
	// Two ranges: one of them, the more selective.
	f("SELECT a FROM things WHERE b > 100 AND c > 5", "missing-index (c)", "more different values (400 against 3)",
		sample("b", 3), sample("c", 400))
	f("SELECT a FROM things WHERE b > 100 AND c BETWEEN 5 AND 9", "missing-index (c)", "which has two bounds")
	f("SELECT a FROM things WHERE b > 100 AND c > 5 AND c < 9", "missing-index (c)", "which has two bounds")
	// Equalities and a sort: the sort comes last.
	f("SELECT a FROM things WHERE c = 1 AND d = 'x' ORDER BY b", "missing-index (c, d, b)",
		"rows come in order without a sort")
	f("SELECT a FROM things WHERE c = 1 AND d = 'x' ORDER BY b DESC LIMIT 10", "missing-index (c, d, b)",
		"rows come in order without a sort")
	f("SELECT a FROM things WHERE c = 1 ORDER BY b DESC, c1", "missing-index (c, b DESC, c1)",
		"rows come in order without a sort")
	// A range and a sort by another column: the range, for an index gives one of them.
	f("SELECT a FROM things WHERE c > 1 ORDER BY b", "missing-index (c)", "Order for an index")
	f("SELECT a FROM things WHERE c > 1 AND b > 3 ORDER BY c", "missing-index (c)",
		"because rows come in its order as well")
	// Many rows for each call, and few short columns: they go behind the condition, where they cover; in front they
	// would find nothing.
	f("SELECT c1, c2 FROM things WHERE c = 5", "missing-index (c, c1, c2)", "Before the others it would only cover, "+
		"not narrow the search", sent(5000))
	f("SELECT c1, c2 FROM things WHERE c = 5", "missing-index (c)", "Order for an index", sent(50))
	f("SELECT c1, remark FROM things WHERE c = 5", "missing-index (c)", "Order for an index", sent(5000))
	f("SELECT * FROM things WHERE c = 5", "missing-index (c)", "Order for an index", sent(5000))
	// A list of values, then a range.
	f("SELECT a FROM things WHERE b > 4 AND c IN (1, 2, 3)", "missing-index (c, b)", "Order for an index")
	// Groups behind an equality.
	f("SELECT b, MAX(id) FROM things WHERE c = 5 GROUP BY b", "missing-index (c, b)", "without a sort")
}
