package loader

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// checked bounds how many tables are looked at before a run: one short question each.
const checked = 1000

// shortTables warns of a table whose largest id is below the number of rows that the workload assumes: reads beyond it
// find nothing and are faster than they should be. A table that cannot be read is no matter of this check: the run
// itself says why.
func shortTables(ctx context.Context, t *target.Target, plan *workload.Plan) []string {
	var short []string
	for _, tb := range plan.Tables[:min(len(plan.Tables), checked)] {
		if tb.Key == "" {
			continue
		}
		ref := schema.Ref{Schema: plan.Schema, Table: tb.Name}
		var largest sql.NullInt64
		err := t.DB().QueryRowContext(ctx, sqltext.Tagged("load", "", "SELECT MAX("+ddl.Quote(tb.Key)+") FROM "+
			ddl.Name(ref))).Scan(&largest)
		if err != nil {
			return nil
		}
		if largest.Int64 < int64(tb.Rows) {
			short = append(short, fmt.Sprintf("%s has ids to %d only", ref, largest.Int64))
		}
	}
	switch n := len(short); {
	case n == 0:
		return nil
	case n > 1:
		short[0] += ", and " + unit.Plural(n-1, "more table is", "more tables are") + " as short"
	}
	return []string{fmt.Sprintf("%s, but table-size=%d: statements beyond find nothing, and the figures flatter; run "+
		"with the table-size of prepare",
		short[0], plan.Tables[0].Rows)}
}
