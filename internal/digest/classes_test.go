package digest

import (
	"strings"
	"testing"
	"time"

	queryclass "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

func TestOfClasses(t *testing.T) {
	began := time.Unix(1000, 0).UTC()
	r := OfClasses([]queryclass.Class{
		{ID: "A", Fingerprint: "select a from t", Count: 10, TimeSec: 1, RowsSent: known.Of(uint64(30))},
		{
			ID: "B", Fingerprint: `update "T" set a = ?`, Parsable: "update `T` set a = ?", Count: 1, TimeSec: 3,
			Users: []string{"app"},
		},
	}, Global{Source: "pg_stat_statements", Began: began, Ended: began.Add(10 * time.Second)},
		func(c queryclass.Class) (string, []string) {
			item := mytext.Item(c.Text())
			_, table, _ := strings.Cut(item, " ")
			return item, []string{table}
		})
	g := r.Global
	if g.Count != 11 || g.Classes != 2 || g.QPS.Or(0) != 1.1 || g.Concurrency.Or(0) != 0.4 ||
		g.Attributes["query_time"].Sum != 4 || g.Attributes["rows_sent"].Count != 10 {
		t.Errorf("%+v", g)
	}
	b, a := r.Classes[0], r.Classes[1]
	if b.ID != "B" || b.Rank != 1 || b.Share != 0.75 || b.Attributes["query_time"].Max.Or(0) != 3 ||
		b.Users[0].Count != 1 || len(b.Tables) != 1 || b.Tables[0] != "T" || b.Item != "UPDATE T" {
		t.Errorf("%+v", b)
	}
	if f := a.Attributes["query_time"]; f.Avg != 0.1 || f.Max.OK() || f.P95.OK() || f.Share.Or(0) != 0.25 {
		t.Errorf("%+v", f)
	}
	if _, told := b.Attributes["rows_sent"]; told {
		t.Error("what nobody told is in the report")
	}
}
