package index

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestNarrowIndex(t *testing.T) {
	const q = "SELECT remark FROM things WHERE a = 5 AND b = 6"
	m := things(snap.Build(), "by_a: a").Exact(q, 1000, 0.009, 5000, 20).Plan(by("ref", "by_a", 5000, "Using where"))
	f := finds(t, m, "narrow-index (a, b)")
	says(t, f.Cause, "by a alone", "on b is checked")
	says(t, f.Suggestion, "It serves all that by_a (a) serves")
	m = things(snap.Build(), "by_a: a").Exact("UPDATE things SET c = 1 WHERE a = 5 AND b > 6", 1000, 0.009, 5000, 0,
		affected(20_000)).Plan(by("range", "by_a", 5000, "Using where"))
	says(t, finds(t, m, "narrow-index (a, b)").Title, "change 20")

	// The first table of a join: how many of its rows are wanted is told by a look at some rows.
	f = finds(t, joined(400), "narrow-index (a, b)")
	if f.Confidence != "possible" {
		t.Errorf("by statistics alone and %s", f.Confidence)
	}
}

// joined is a join that begins with an index on a, with another condition on b, which has so many different values.
func joined(values int) *snap.Made {
	m := things(tableOf(snap.Build(), "others", 2000), "by_a: a").Exact("SELECT t.remark, o.c FROM things t JOIN "+
		"others o ON o.id = t.c WHERE t.a = 5 AND t.b = 6", 1000, 0.009, 5012, 12).
		Plan(explain.Step{
			SelectType: "SIMPLE", Table: "t", Access: "ref", Key: "by_a", Rows: 5000,
			Extra: []string{"Using where"},
		},
			explain.Step{SelectType: "SIMPLE", Table: "o", Access: "eq_ref", Key: "PRIMARY", Rows: 1})
	for i, c := range m.Last().Columns {
		if c.Name == "b" && values > 0 {
			m.Last().Columns[i].Sample = sampleOf(values)
		}
	}
	return m
}

func TestNarrowIndexSilent(t *testing.T) {
	f := func(m *snap.Made) {
		t.Helper()
		finds(t, m)
	}
	// The rest throws away half.
	f(things(snap.Build(), "by_a: a").Exact("SELECT remark FROM things WHERE a = 5 AND b = 6", 1000, 0.009, 5000, 2500).
		Plan(by("ref", "by_a", 5000, "Using where")))
	// What it throws away cannot be looked up.
	f(things(snap.Build(), "by_a: a").Exact("SELECT remark FROM things WHERE a = 5 AND b + 1 = 6 AND d <> 'x'", 1000,
		0.009, 5000, 20).Plan(by("ref", "by_a", 5000, "Using where")))
	// It finds few rows.
	f(things(snap.Build(), "by_a: a").Exact("SELECT remark FROM things WHERE a = 5 AND b = 6", 10_000, 0.0009, 50, 1).
		Plan(by("ref", "by_a", 50, "Using where")))
	// How many match is not known.
	f(things(snap.Build(), "by_a: a").Exact("SELECT COUNT(c) FROM things WHERE a = 5 AND b = 6", 1000, 0.009, 5000, 1).
		Plan(by("ref", "by_a", 5000, "Using where")))
	// A join, where nobody looked how the other column is spread, or where it has three values.
	f(joined(0))
	f(joined(3))
	// A primary key finds the one row.
	f(things(snap.Build()).Exact("SELECT remark FROM things WHERE id = 5 AND b = 6", 100_000, 0.00009, 1, 0).
		Plan(by("const", "PRIMARY", 1)))
}
