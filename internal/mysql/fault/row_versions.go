package fault

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
)

// hotClient is the one who is changed all the time.
const hotClient = 101

// rowVersions plants a hot row whose old versions a forgotten snapshot keeps.
func rowVersions() fault.Fault {
	return fault.Fault{
		Name:  "row-versions",
		Title: "a forgotten snapshot keeps all old versions of a hot row",
		Story: "One row is changed all the time, and the changed column is indexed. A session opened a snapshot of " +
			"the data for a report, read the " +
			"table, and stays idle; when it was opened another such snapshot had already left many versions. The " +
			"server has to keep every " +
			"version since, and purge has to go through all of them again and again while the changes wait. The " +
			"fix is to end that transaction.",
		Kind:    fault.Hurts,
		Threads: 4,
		// Commits must not wait for the binary log: the more changes, the longer the way through their versions. Purge
		// works in small steps, so that it notices within seconds when the snapshot is gone; by default it first ends a
		// step that takes minutes here.
		Settings: with(sized(), "sync_binlog", "0", "innodb_purge_batch_size", "1"),
		Workload: shift{
			name: "row-versions", title: "one session changes one row, others read with pauses", rows: 20_000,
			tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{
					clients(n, rows, byRegion+", KEY {clients.by_balance} ({clients.balance})"),
					visits(n, rows),
				}
			},
			groups: []group{
				{sessions: 1, deals: []deal{single(fault.Operation{
					Name: "count_up", Weight: 1,
					SQL: "UPDATE {clients} SET {clients.balance} = {clients.balance} + 1 WHERE " +
						"{clients.id} = ?",
					Args: func(_ *rand.Rand, _ int, args []workload.Datum) { args[0] = workload.Int(hotClient) },
				})}},
				{sessions: 3, think: 100 * time.Millisecond, deals: []deal{
					single(fault.GetClient(60)),
					single(fault.LastVisits(30)), single(fault.Operation{
						Name: "by_balance", Weight: 10,
						SQL: "SELECT {clients.id}, {clients.full_name} FROM {clients} WHERE " +
							"{clients.balance} BETWEEN ? AND ?",
						Args: func(r *rand.Rand, _ int, args []workload.Datum) {
							from := float64(r.IntN(80_000))
							args[0], args[1] = workload.Float(from), workload.Float(from+20)
						},
					}),
				}},
			},
		},
		Actors: []fault.Actor{{
			Name: "the reports",
			Run: func(ctx context.Context, s fault.Stage) error {
				read := s.SQL("SELECT COUNT(*), MAX({clients.balance}) FROM {clients} WHERE {clients.id} <= 100")
				many := "INSERT INTO {clients} ({clients.id}, {clients.full_name}, {clients.email}, " +
					"{clients.region_code}, {clients.city}, {clients.balance}, {clients.updated_at}) " +
					fmt.Sprintf("SELECT %d, '', '', '', '', 0, NOW() FROM {visits} LIMIT 100 ", hotClient) +
					"ON DUPLICATE KEY UPDATE {clients.balance} = {clients}.{clients.balance} + 1"
				open := func(x *target.Session) error {
					if err := insist(ctx, x, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
						"START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
						return err
					}
					_, err := x.Query(ctx, read, func([]driver.Value) {})
					return err
				}
				changes := func(x *target.Session, statements int) error {
					for range statements { // each statement changes the hot row a hundred times
						if err := insist(ctx, x, s.SQL(many)); err != nil {
							return err
						}
					}
					return nil
				}
				return alone(ctx, s, func(second *target.Session) error {
					err := alone(ctx, s, func(first *target.Session) error {
						return alone(ctx, s, func(writer *target.Session) error {
							for _, step := range []func() error{
								func() error { return open(first) }, func() error { return changes(writer, 200) },
								func() error { return open(second) }, func() error { return changes(writer, 20) },
							} {
								if err := step(); err != nil {
									return err
								}
							}
							return nil
						})
					})
					if err != nil {
						return err
					}
					<-ctx.Done()
					return nil
				})
			},
		}},
		Warm: 12 * time.Second,
		Cure: fault.Cure{Kind: fault.CureActors},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "row-versions", Check: oneSession}
		},
	}
}
