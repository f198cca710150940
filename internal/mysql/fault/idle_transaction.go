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

// forgotten is how many clients the forgotten transaction has changed.
const forgotten = 2000

// idleTransaction plants a transaction that changed rows and sleeps.
func idleTransaction() fault.Fault {
	return fault.Fault{
		Name:  "idle-transaction",
		Title: "an idle transaction holds locks on the rows it changed",
		Story: "A user changed two thousand clients by hand in a transaction and went to lunch without a commit. " +
			"Every session that tries to change " +
			"one of these clients is blocked until its lock wait times out; one client in ten is enough to block all " +
			"sessions that " +
			"change clients. Sessions that only read continue. The fix is to end that transaction.",
		Kind:     fault.Hurts,
		Threads:  8,
		Settings: sized(),
		Workload: shift{
			name: "idle-transaction", title: "some sessions change clients at random, others read with pauses",
			rows: 20_000,
			tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byRegion), visits(n, rows)}
			},
			groups: []group{
				{sessions: 4, deals: []deal{single(fault.UpdateBalance(90)), single(fault.GetClient(10))}},
				{sessions: 4, think: 100 * time.Millisecond, deals: []deal{
					single(fault.GetClient(60)),
					single(fault.LastVisits(30)), single(fault.AddVisit(10)),
				}},
			},
		},
		Actors: []fault.Actor{{
			Name: "the user who went to lunch",
			Run: func(ctx context.Context, s fault.Stage) error {
				return alone(ctx, s, func(x *target.Session) error {
					err := insist(ctx, x, "BEGIN",
						fmt.Sprintf(s.SQL("UPDATE {clients} SET {clients.balance} = {clients.balance} + 1 WHERE "+
							"{clients.id} <= %d"), forgotten))
					if err != nil {
						return err
					}
					<-ctx.Done()
					return nil
				})
			},
		}},
		Warm: 6 * time.Second,
		Cure: fault.Cure{Kind: fault.CureActors},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "idle-transaction", Table: schema.Ref{
				Schema: n.Of(fault.SchemaKey),
				Table:  n.Of("clients"),
			}, Check: oneSession}
		},
	}
}

// oneSession wants a finding to name the one session that is to blame.
func oneSession(f finding.Finding) string {
	if len(f.Subject.Sessions) != 1 {
		return fmt.Sprintf("it names %d sessions, not one", len(f.Subject.Sessions))
	}
	return ""
}
