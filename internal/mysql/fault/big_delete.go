package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

const (
	expiredRows  = 12_000 // that one round of the job deletes
	deletePause  = 50 * time.Millisecond
	deleteChunk  = 500
	refillChunk  = 2000
	deleteSettle = 2 * time.Millisecond // between two chunks
)

// bigDelete plants a job that deletes many rows in one statement while others update the same table.
func bigDelete() fault.Fault {
	return fault.Fault{
		Name:  "big-delete",
		Title: "a job deletes 12 000 rows in one statement while others update the table",
		Story: "Tokens are updated all day by their number. Every few seconds a job deletes those that have expired, " +
			"12 000 in one statement, and " +
			"others replace them. Until it ends the statement holds a lock on each row that it has passed, and every " +
			"update of one of these " +
			"waits. The fix is to delete a few hundred at a time, with a commit after each.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: unhurried(),
		Workload: fault.Mix{
			ID: "big-delete", About: "single tokens updated and read by number", Rows: 60_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{tokens(n, "tokens", rows), tokens(n, "tokens_next", min(rows, expiredRows))}
			},
			Operations: []fault.Operation{useToken(80), getToken(20)},
		},
		Actors: []fault.Actor{
			{Name: "delete what has expired, all at once", Run: func(ctx context.Context, s fault.Stage) error {
				return expire(ctx, s, 0)
			}},
		},
		Cure: fault.Cure{
			Kind: fault.CureWorkload,
			Actors: []fault.Actor{
				{Name: "delete what has expired, a few hundred at a time", Run: func(ctx context.Context,
					s fault.Stage,
				) error {
					return expire(ctx, s, deleteChunk)
				}},
			},
		},
		Belongs: map[string]string{
			"lock-pileup": "updates do wait for the locks of the delete, and the session that holds them is the one " +
				"that deletes",
			"victim-query": "the updates are its victims",
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "big-delete", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("tokens")},
				Check: func(f finding.Finding) string { return lacks(f.Suggestion, "LIMIT") },
			}
		},
	}
}

// lacks says that a text does not hold a word; "" when it does.
func lacks(text, word string) string {
	if strings.Contains(text, word) {
		return ""
	}
	return "it does not say " + word
}

// expire deletes expired rows at intervals, at most chunk in one statement unless that is 0, and puts others in their
// place.
func expire(ctx context.Context, s fault.Stage, chunk int) error {
	return alone(ctx, s, func(x *target.Session) error {
		for {
			for {
				q := "DELETE FROM {tokens} WHERE {tokens.expires} < 1000"
				if chunk > 0 {
					q += fmt.Sprintf(" ORDER BY {tokens.expires} LIMIT %d", chunk)
				}
				n, err := x.Exec(ctx, s.SQL(q))
				if err != nil {
					return err
				}
				if chunk == 0 || n == 0 {
					break
				}
				if !pause(ctx, deleteSettle) {
					return nil
				}
			}
			for from := 0; from < expiredRows; from += refillChunk {
				q := fmt.Sprintf("INSERT IGNORE INTO {tokens} SELECT * FROM {tokens_next} WHERE {tokens.id} > %d AND "+
					"{tokens.id} <= %d", from, from+refillChunk)
				if _, err := x.Exec(ctx, s.SQL(q)); err != nil {
					return err
				}
			}
			if !pause(ctx, deletePause) {
				return nil
			}
		}
	})
}

func tokens(n fault.Names, name string, rows int) workload.Table {
	return workload.Table{
		Name: n.Of(name), Rows: rows,
		Create: "CREATE TABLE " + n.Of(name) + n.SQL(" ({tokens.id} INT UNSIGNED NOT NULL, {tokens.holder} INT "+
			"UNSIGNED NOT NULL, {tokens.expires} INT UNSIGNED NOT NULL, "+
			"{tokens.used} INT UNSIGNED NOT NULL, {tokens.secret} VARCHAR(120) NOT NULL, PRIMARY KEY ({tokens.id}), "+
			"KEY {tokens.by_expires} ({tokens.expires}), KEY {tokens.by_holder} ({tokens.holder})) ENGINE=InnoDB"),
		Columns: n.List("tokens.id", "tokens.holder", "tokens.expires", "tokens.used", "tokens.secret"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|8<<32)
				l.Begin()
				l.Int(row)
				l.Int(r.IntN(1_000_000))
				if row <= expiredRows {
					l.Int(r.IntN(1000))
				} else {
					l.Int(1000 + r.IntN(1_000_000))
				}
				l.Int(0)
				l.Text("%016x%016x%016x", r.Uint64(), r.Uint64(), r.Uint64())
				emit(l.Row)
			}
		},
	}
}

func useToken(weight int) fault.Operation {
	return fault.Operation{
		Name: "use_token", Weight: weight,
		SQL:  "UPDATE {tokens} SET {tokens.used} = {tokens.used} + 1 WHERE {tokens.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
	}
}

func getToken(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_token", Weight: weight,
		SQL:  "SELECT {tokens.holder}, {tokens.used}, {tokens.secret} FROM {tokens} WHERE {tokens.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
	}
}
