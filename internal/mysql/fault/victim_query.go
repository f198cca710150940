package fault

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// victimQuery plants a slow transaction of one session that fast statements of others queue behind.
func victimQuery() fault.Fault {
	return fault.Fault{
		Name:  "victim-query",
		Title: "fast updates by primary key wait for the long transaction of another session",
		Story: "A session raises the balance of two thousand clients in one transaction, one by one and slowly: it " +
			"takes most of a minute, and " +
			"then it starts again. The sessions that change single clients by primary key, which is the work of a " +
			"tenth of a millisecond, " +
			"look slow. They are efficient: they wait for the locks of the first. The fix is to commit earlier.",
		Kind:     fault.Hurts,
		Threads:  8,
		Settings: sized(),
		Workload: shift{
			name: "victim-query", title: "updates of clients by primary key, and reads with pauses", rows: 20_000,
			tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			groups: []group{
				{sessions: 4, deals: []deal{single(fault.UpdateBalance(95)), single(fault.GetClient(5))}},
				{sessions: 4, think: 100 * time.Millisecond, deals: []deal{
					single(fault.GetClient(60)),
					single(fault.LastVisits(30)), single(fault.AddVisit(10)),
				}},
			},
		},
		Actors: []fault.Actor{{
			Name: "the session that raises balances",
			Run: func(ctx context.Context, s fault.Stage) error {
				return alone(ctx, s, func(x *target.Session) error {
					const batch, step = 2000, 4 * time.Second
					for from := 1; ; from += 10 {
						if from+batch > 20_000 {
							from = 1
						}
						// One transaction that is at work all of its time: it locks its clients and then goes through
						// them.
						work := []string{
							"BEGIN",
							fmt.Sprintf(s.SQL("SELECT COUNT(*) FROM {clients} WHERE {clients.id} BETWEEN %d AND %d "+
								"FOR UPDATE"), from, from+batch-1),
						}
						if err := insist(ctx, x, work[0]); err != nil {
							return err
						}
						if _, err := x.Query(ctx, work[1], nil); err != nil {
							if n, ok := target.ServerErrorNumber(err); ok && (n == 1205 || n == 1213) {
								if _, err := x.Exec(ctx, "ROLLBACK"); err != nil {
									return err
								}
								continue
							}
							return err
						}
						for i := range 10 {
							q := fmt.Sprintf(s.SQL("UPDATE {clients} SET {clients.balance} = {clients.balance} * "+
								"1.01 WHERE {clients.id} = %d AND SLEEP(%.1f) = 0"),
								from+i, step.Seconds())
							if _, err := x.Exec(ctx, q); err != nil {
								return fmt.Errorf("%s: %w", q, err)
							}
						}
						if _, err := x.Exec(ctx, "COMMIT"); err != nil {
							return err
						}
					}
				})
			},
		}},
		Warm: 6 * time.Second,
		Cure: fault.Cure{Kind: fault.CureActors},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "victim-query", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("clients")},
				Check: oneSession,
			}
		},
	}
}
