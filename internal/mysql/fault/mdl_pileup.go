package fault

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// mdlPileup plants a change of a table that waits behind a long query, and everybody else behind it.
func mdlPileup() fault.Fault {
	return fault.Fault{
		Name:  "mdl-pileup",
		Title: "ALTER TABLE waits behind a long query, and all other sessions behind it",
		Story: "A report reads the clients for minutes, which hurts nothing. Then the comment of the table is " +
			"changed, the work of an instant. It has to wait " +
			"until the report is done, and from then on every later statement on the clients waits behind it, reads " +
			"too. The fix is to kill the report or to cancel the ALTER, and to use a short lock_wait_timeout the " +
			"next time.",
		Kind:     fault.Hurts,
		Threads:  8,
		Settings: sized(),
		Workload: shift{
			name: "mdl-pileup", title: "reads and updates of clients, and visits with pauses", rows: 20_000,
			tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			groups: []group{
				{sessions: 4, deals: []deal{single(fault.GetClient(80)), single(fault.UpdateBalance(20))}},
				{sessions: 4, think: 100 * time.Millisecond, deals: []deal{
					single(fault.LastVisits(80)),
					single(fault.AddVisit(20)),
				}},
			},
		},
		Actors: []fault.Actor{
			{
				Name: "the report",
				Run: func(ctx context.Context, s fault.Stage) error {
					return alone(ctx, s, func(x *target.Session) error {
						for ctx.Err() == nil { // it reads one client a second
							if _, err := x.Query(ctx, s.SQL("SELECT {clients.id}, {clients.city}, SLEEP(1) FROM "+
								"{clients} WHERE {clients.id} < 600"), nil); err != nil {
								return err
							}
						}
						return nil
					})
				},
			},
			{
				Name: "the session that alters the table",
				Run: func(ctx context.Context, s fault.Stage) error {
					return alone(ctx, s, func(x *target.Session) error {
						for pause(ctx, 300*time.Millisecond) { // again, when the report was not there yet
							if _, err := x.Exec(ctx, s.SQL("ALTER TABLE {clients} COMMENT = 'those who buy'")); err !=
								nil {
								return err
							}
						}
						return nil
					})
				},
			},
		},
		Warm: 6 * time.Second,
		Cure: fault.Cure{Kind: fault.CureActors},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "mdl-pileup", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("clients")},
				Check: func(f finding.Finding) string {
					if len(f.Subject.Sessions) != 2 {
						return fmt.Sprintf("it names %d sessions, not the blocker and the one that waits for it",
							len(f.Subject.Sessions))
					}
					return ""
				},
			}
		},
	}
}
