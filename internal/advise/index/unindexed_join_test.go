package index

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

const joinQuery = "SELECT o.c, t.c FROM others o JOIN things t ON t.a = o.id WHERE o.b = 5"

func fullJoins(c *class.Class) { c.FullJoins = known.Of(c.Count) }

func TestUnindexedJoin(t *testing.T) {
	others := func(m *snap.Made) *snap.Made { return tableOf(things(m), "others", 2000, "by_b: b") }
	lookup := explain.Step{SelectType: "SIMPLE", Table: "o", Access: "ref", Key: "by_b", Rows: 3}
	m := others(snap.Build()).Exact(joinQuery, 100, 0.09, 300_003, 90, fullJoins).
		Plan(lookup, explain.Step{
			SelectType: "SIMPLE", Table: "t", Access: "ALL", Rows: 300_000,
			Extra: []string{"Using where", "Using join buffer (flat, BNL join)"},
		})
	f := finds(t, m, "unindexed-join (a)")
	says(t, f.Cause, "join condition on a")
	if f.Gain == nil || f.Gain.Hi < 50 {
		t.Errorf("gain %+v", f.Gain)
	}
	// MariaDB does not count what it reads into its join buffer.
	m = others(snap.Build()).Exact(joinQuery, 20, 0.7, 3, 90, fullJoins).
		Plan(lookup, explain.Step{
			SelectType: "SIMPLE", Table: "t", Access: "ALL", Rows: 300_000,
			Extra: []string{"Using where", "Using join buffer (flat, BNL join)"},
		})
	f = finds(t, m, "unindexed-join (a)")
	says(t, f.Title, "reads 600k rows a second to return 180")
	says(t, f.Evidence[0].Text, "leaves those out")
	// The server may as well begin with the table that cannot be looked up.
	m = others(snap.Build().MySQL("9.7.0")).Exact(joinQuery, 100, 0.09, 600_000, 90, func(c *class.Class) {
		c.FullScans = known.Of(c.Count)
	}).
		Plan(snap.All("t", 300_000), explain.Step{
			SelectType: "SIMPLE", Table: "o", Access: "eq_ref",
			Key: "PRIMARY", Rows: 1,
		})
	finds(t, m, "unindexed-join (a)")
	// Without a plan the server's count of such joins stands in.
	m = others(snap.Build()).Exact(joinQuery, 100, 0.09, 300_003, 90, fullJoins)
	finds(t, m, "unindexed-join (a)")
}

func TestUnindexedJoinSilent(t *testing.T) {
	f := func(m *snap.Made) {
		t.Helper()
		finds(t, m)
	}
	lookup := explain.Step{SelectType: "SIMPLE", Table: "o", Access: "ref", Key: "by_b", Rows: 3}
	scan := explain.Step{SelectType: "SIMPLE", Table: "t", Access: "ALL", Rows: 300_000}
	// By an index.
	f(tableOf(things(snap.Build(), "by_a: a"), "others", 2000, "by_b: b").Exact(joinQuery, 1000, 0.009, 93, 90).
		Plan(lookup, explain.Step{SelectType: "SIMPLE", Table: "t", Access: "ref", Key: "by_a", Rows: 30}))
	// The index is there and cannot be used, for types or collations differ: another rule's business.
	f(tableOf(things(snap.Build(), "by_a: a"), "others", 2000, "by_b: b").Exact(joinQuery, 100, 0.09, 300_003, 90,
		fullJoins).Plan(lookup, scan))
	// A small table, read into the join buffer at once.
	small := scan
	small.Rows = 300
	f(tableOf(tableOf(snap.Build(), "things", 300), "others", 2000, "by_b: b").Exact(joinQuery, 1000, 0.009, 303, 90,
		fullJoins).Plan(lookup, small))
	// A report over everything: most rows are wanted.
	f(tableOf(things(snap.Build()), "others", 2000).Exact("SELECT o.c, t.c FROM others o JOIN things t ON t.a = o.id",
		10, 0.9, 302_000, 300_000, fullJoins).
		Plan(snap.All("o", 2000), scan))
}
