package fault

import (
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestIndexFaultsHurt proves each fault about an index and its cure: the index that is expected makes the operation
// that suffers faster by a quarter at the least, and the server does what the story says before it is there.
func TestIndexFaultsHurt(t *testing.T) {
	const seed = 7
	n := fault.Names(seed)
	f := func(t *testing.T, s *servers.Server, tg *target.Target, x fault.Fault, rows, plan,
		table string, columns ...string,
	) {
		t.Helper()
		if err := put(t.Context(), tg, x, seed, map[string]string{"table-size": rows}); err != nil {
			t.Fatal(err)
		}
		measure := func() time.Duration {
			t.Helper()
			o := fault.Options(seed)
			o["table-size"] = rows
			r, err := loader.Server{T: tg}.Run(t.Context(), load.Config{
				Workload: x.Workload, Options: o, Threads: 2,
				Events: 400, Seed: 1,
			}, nil)
			if err != nil || r.Total.ErrorCount() > 0 {
				t.Fatal(err, r.Total.Errors)
			}
			name := x.Workload.(fault.Mix).Operations[0].Name
			return r.Total.Ops[slices.IndexFunc(r.Total.Ops, func(o loadresult.Op) bool {
				return o.Name == name
			})].Latency.Quantile(.5)
		}
		before := measure()
		p, err := x.Workload.Build(fault.Options(seed))
		if err != nil {
			t.Fatal(err)
		}
		if got := access(t, s, p.Schema, fill(p.Statements[0].SQL)); got != plan {
			t.Errorf("%s: the plan is %s, not %s", x.Name, got, plan)
		}
		ref := schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of(table)}
		idx := schema.Index{Name: "cure"}
		for _, c := range n.List(columns...) {
			idx.Parts = append(idx.Parts, schema.IndexPart{Column: c})
		}
		s.Exec(t, ddl.AddIndexSQL(ref, idx))
		// On a quiet machine it is several times as fast. What else a machine does adds time to what takes a
		// millisecond, so the best of some runs tells.
		after := measure()
		for try := 0; try < 8 && before < after*5/4; try++ {
			after = min(after, measure())
		}
		t.Logf("%s: %v before, %v after", x.Name, before, after)
		if before < after*5/4 {
			t.Errorf("%s: %v before, %v after: it hardly hurts", x.Name, before, after)
		}
		if _, err := (loader.Server{T: tg}).Cleanup(t.Context(), load.Data{
			Workload: x.Workload,
			Options:  fault.Options(seed),
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			var settings []string
			for k, v := range sized() {
				settings = append(settings, k+"="+v)
			}
			s := servers.Start(t, flavor, settings...)
			spec, err := endpoint.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			tg, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			f(t, s, tg, indexOrder(), "200000", "range", "orders", "orders.outlet_id", "orders.ordered_at")
			f(t, s, tg, filesort(), "60000", "ref", "messages", "messages.mailbox_id", "messages.received_at")
			f(t, s, tg, twoSingleIndexes(), "200000", "index_merge", "parcels",
				"parcels.depot_id", "parcels.carrier_id")
			f(t, s, tg, unindexedJoin(), "60000", "ref ALL", "players", "players.team_id")
			f(t, s, tg, indexScan(), "60000", "index", "readings", "readings.sensor_id")
		})
	}
}

// fill puts plain values in place of the arguments.
func fill(sql string) string {
	times := []string{"'2024-03-01 00:00:00'", "'2024-03-15 00:00:00'", "7"}
	out, n := "", 0
	for _, r := range sql {
		switch {
		case r != '?':
			out += string(r)
		case countMarks(sql) == 3:
			out += times[n]
			n++
		default:
			out += "7"
		}
	}
	return out
}

func countMarks(s string) (n int) {
	for _, r := range s {
		if r == '?' {
			n++
		}
	}
	return n
}

// access returns how the server reads the tables of a statement, in its order.
func access(t *testing.T, s *servers.Server, db, sql string) string {
	t.Helper()
	explain := "EXPLAIN "
	if s.Flavor == "mysql" {
		explain = "EXPLAIN FORMAT=TRADITIONAL "
	}
	rows, err := s.DB(t, db).Query(explain + sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for rows.Next() {
		cells := make([]any, len(cols))
		for i := range cells {
			cells[i] = new([]byte)
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		if out != "" {
			out += " "
		}
		out += string(*cells[slices.Index(cols, "type")].(*[]byte))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
