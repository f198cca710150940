package loader

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/internal/workload/script"
	"github.com/dyno-perf/dyno/test/servers"
)

// transfers moves money between accounts, and reads them: the sum must stay the same whatever is tried again.
const transfers = `
\option accounts 20
\list notes rent 'it''s a gift' food
\transaction transfer 9
\set a zipf(1, :accounts)
\set b 1 + (:a + uniform(0, :accounts - 2)) % :accounts
BEGIN;
SELECT balance FROM account WHERE id = :a; \into balance
\if :balance >= 10
\set amount uniform(1, 10)
UPDATE account SET balance = balance - :amount WHERE id = :a;
UPDATE account SET balance = balance + :amount WHERE id = :b;
\set note concat(pick(notes), ' #', sequence())
INSERT INTO history{session} (a, b, amount, note) VALUES (:a, :b, :amount, :note);
\endif
COMMIT;
\transaction read
\repeat 3
\set a uniform(1, :accounts)
SELECT balance, note FROM account WHERE id = :a;
\endrepeat
`

func TestScriptsRun(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		const sessions = 4
		s.Exec(t, "CREATE DATABASE x", "CREATE TABLE x.account (id INT PRIMARY KEY, balance DECIMAL(10, 2), note TEXT)")
		for i := range 20 {
			s.Exec(t, "INSERT INTO x.account VALUES ("+string(workload.Int(int64(i+1)).AppendLiteral(nil))+", 1000, "+
				"'n')")
		}
		for i := range sessions {
			s.Exec(t, "CREATE TABLE x.history"+string(workload.Int(int64(i)).AppendLiteral(nil))+
				" (a INT, b INT, amount DECIMAL(10, 2), note VARCHAR(100))")
		}
		sc, err := script.Parse("transfers.sql", []byte(transfers))
		if err != nil {
			t.Fatal(err)
		}
		w := script.Workload{Scripts: []*script.Script{sc}}
		f := func(c load.Config) {
			t.Helper()
			s.Exec(t, "DELETE FROM x.history0", "DELETE FROM x.history1", "DELETE FROM x.history2",
				"DELETE FROM x.history3")
			c.Workload, c.Options, c.Threads, c.Events, c.Seed = w, map[string]string{"mysql-db": "x"}, sessions, 400, 1
			names := []string{"Com_select", "Com_update", "Com_insert", "Com_begin", "Com_commit", "Com_rollback"}
			var before [6]uint64
			for i, n := range names {
				before[i] = s.Status(t, n)
			}
			r, err := on(tg).Run(t.Context(), c, nil)
			if err != nil || r.State != loadresult.Done || r.Total.Operations() != 400 || len(r.Total.Ops) != 2 {
				t.Fatalf("%s with %d operations, %v", r.State, r.Total.Operations(), err)
			}
			for i, n := range names {
				before[i] = s.Status(t, n) - before[i]
			}
			transfer, read := r.Total.Ops[0], r.Total.Ops[1]
			if n := read.Latency.Count(); transfer.Name != "transfer" || read.Name != "read" ||
				read.Reads != 3*n || n < 15 || n > 80 {
				t.Errorf("%+v, %+v", transfer, read)
			}
			reads := transfer.Reads + read.Reads
			if c.Driver && before[0] == reads+sessions { // the driver asks a question of its own at each login
				reads += sessions
			}
			for _, x := range []struct{ got, want uint64 }{
				{reads, before[0]}, {transfer.Writes, before[1] + before[2]}, {transfer.Others, before[3] + before[4] +
					before[5]}, {read.Writes + read.Others, 0},
			} {
				if x.got != x.want {
					t.Errorf("%+v: %d statements were counted where the server counts %d: %v of %v", c.PSMode,
						x.got, x.want, before, names)
				}
			}
			db := s.DB(t, "x")
			var sum string
			var rows, odd int
			if err := db.QueryRow("SELECT (SELECT SUM(balance) FROM account), COUNT(*), COALESCE(SUM(a = b OR amount "+
				"NOT BETWEEN 1 AND 10 OR note NOT REGEXP '^(rent|it''s a gift|food) #[0-9]+$'), 0) "+
				"FROM (SELECT * FROM history0 UNION ALL SELECT * FROM history1 UNION ALL SELECT * FROM history2 "+
				"UNION ALL SELECT * FROM history3) h").Scan(&sum, &rows, &odd); err != nil {
				t.Fatal(err)
			}
			if sum != "20000.00" || odd != 0 || uint64(rows) > before[2] || before[5] == 0 &&
				uint64(rows) != before[2] {
				t.Errorf("accounts sum to %s after %d transfers with %d rows, %d of them odd", sum,
					transfer.Latency.Count(), rows, odd)
			}
		}
		f(load.Config{})
		f(load.Config{PSMode: load.Disable})
		f(load.Config{Driver: true})
		f(load.Config{Driver: true, PSMode: load.Disable})

		sc, err = script.Parse("wrong.sql", []byte("SELECT 1, 2; \\into a\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := on(tg).Run(t.Context(),
			load.Config{Workload: script.Workload{Scripts: []*script.Script{sc}}, Events: 3}, nil)
		if err == nil || r.State != loadresult.Failed || !strings.Contains(err.Error(),
			"wrong.sql:1:14: \\into has 1 names, but the answer has 2 columns") {
			t.Errorf("%s, %v", r.State, err)
		}
	})
}
