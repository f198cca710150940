package session

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

// counted is a class of PostgreSQL.
func counted(id, sql string, count, rows uint64, sec float64) class.Class {
	return class.Class{
		ID: id, Fingerprint: sql, Origin: class.PgStatStatements, Count: count, TimeSec: sec, RowsSent: known.Of(rows),
	}
}

func elephant(classes ...class.Class) *advise.View {
	m := snap.Build()
	m.S.Target.Flavor, m.S.Target.Version, m.S.Classes = dbms.Postgres, "17.10", classes
	return snap.View(m.S, nil)
}

const (
	listSQL = "select id from orders where customer = ?"
	itemSQL = "select name from item where id = ?"
)

func TestNPlusOne(t *testing.T) {
	all := nPlusOne(elephant(counted("item", itemSQL, 100_000, 100_000, 10), counted("list", listSQL, 2000, 98_000, 2)))
	if len(all) != 1 || len(all[0].Subject.Classes) != 2 || all[0].Subject.Classes[1] != "list" ||
		all[0].Gain.Hi != 50 {
		t.Fatalf("%+v", all)
	}
}

func TestNPlusOneSilent(t *testing.T) {
	list := counted("list", listSQL, 2000, 98_000, 2)
	for name, v := range map[string]*advise.View{
		"other counts": elephant(counted("item", itemSQL, 300_000, 300_000, 10), list),
		"alone":        elephant(counted("item", itemSQL, 100_000, 100_000, 10)),
		"seldom":       elephant(counted("item", itemSQL, 100, 100, 10), counted("list", listSQL, 2, 98, 2)),
		"many rows":    elephant(counted("item", itemSQL, 100_000, 900_000, 10), list),
		"a sum":        elephant(counted("item", "select sum(a) from item where id = ?", 100_000, 100_000, 10), list),
		"one row": elephant(counted("item", itemSQL, 100_000, 100_000, 10),
			counted("list", listSQL, 98_000, 98_000, 2)),
	} {
		if all := nPlusOne(v); len(all) > 0 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
