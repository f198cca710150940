package index

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/snap"
)

// people is a PostgreSQL server whose only class runs sql, each time reading as the step does.
func people(sql string, step explain.Step) *advise.View {
	m := snap.Build()
	m.S.Target.Flavor, m.S.Target.Version = dbms.Postgres, "17.10"
	m.S.Tables = []schema.Table{{
		Ref: schema.Ref{Schema: "public", Table: "people"}, Engine: "heap", Rows: known.Of(uint64(100_000)),
		DataBytes: known.Of(uint64(12 << 20)),
		Columns:   []schema.Column{snap.Col("id", "int", 4), {Name: "Email", Type: "text", DataType: "varchar"}},
	}}
	m.S.Classes = []class.Class{{
		ID: "c", Fingerprint: sql, Origin: class.PgStatStatements, Count: 1000, TimeSec: 20,
		RowsSent: known.Of(uint64(1000)), Pages: known.Of(uint64(1_500_000)),
	}}
	step.Table = "people"
	m.S.Plans = []explain.Plan{{Class: "c", Steps: []explain.Step{step}}}
	return snap.View(m.S, nil)
}

func TestExpressionIndex(t *testing.T) {
	all := expressionIndexes(people("select id from people where lower(`Email`) = ?",
		explain.Step{Access: explain.SeqScan, Rows: 100_000}))
	if len(all) != 1 || all[0].Action == nil || all[0].Action.SQL != `CREATE INDEX CONCURRENTLY `+
		`"idx_people_Email_lower" ON "public"."people" ((lower("Email")))` || all[0].Confidence != finding.Likely {
		t.Fatalf("%+v", all)
	}
	all = expressionIndexes(people("select id from people where date_trunc(?, `Email`) = ?",
		explain.Step{Access: explain.SeqScan, Rows: 100_000}))
	if len(all) != 1 || all[0].Action != nil || !strings.Contains(all[0].Suggestion, "immutable") {
		t.Fatalf("a function that may depend on the session: %+v", all)
	}
}

func TestExpressionIndexSilent(t *testing.T) {
	all := explain.Step{Access: explain.SeqScan, Rows: 100_000}
	for name, v := range map[string]*advise.View{
		"served": people("select id from people where lower(`Email`) = ?",
			explain.Step{Access: "Index Scan", Key: "x"}),
		"bare":  people("select id from people where lower(`Email`) = ? and id > ?", all),
		"plain": people("select id from people where `Email` = ?", all),
	} {
		if all := expressionIndexes(v); len(all) > 0 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
