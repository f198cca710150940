package sources

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/state"
)

// tickets reads "1 TABLE d.t SHARED_READ" a line; "+" before the mode is granted.
func tickets(t *testing.T, lines string) (out []ticket) {
	t.Helper()
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		f := strings.Fields(l)
		if len(f) != 4 {
			t.Fatal(l)
		}
		x := ticket{session: uint64(f[0][0] - '0'), space: strings.ReplaceAll(f[1], "_", " ")}
		x.schema, x.name, _ = strings.Cut(f[2], ".")
		x.mode, x.granted = strings.CutPrefix(f[3], "+")
		out = append(out, x)
	}
	return out
}

func TestTicketWaits(t *testing.T) {
	f := func(lines string, want ...string) {
		t.Helper()
		if got := edges(ticketWaits(tickets(t, lines))); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", lines, got, want)
		}
	}
	f("1 TABLE d.t +SHARED_READ\n2 TABLE d.t EXCLUSIVE\n2 TABLE d.t +SHARED_UPGRADABLE\n3 TABLE d.t SHARED_READ\n4 "+
		"TABLE d.u +SHARED_READ",
		"2>1 metadata d.t", "3>2 metadata d.t")
	f("1 TABLE d.t +SHARED_WRITE\n2 TABLE d.t +SHARED_WRITE\n3 TABLE d.t EXCLUSIVE",
		"3>1 metadata d.t", "3>2 metadata d.t")
	f("1 TABLE d.t +SHARED_NO_READ_WRITE\n2 TABLE d.t SHARED_READ", "2>1 table d.t")
	f("1 TABLE d.t +SHARED_READ_ONLY\n2 TABLE d.t SHARED_WRITE", "2>1 table d.t")
	f("1 GLOBAL . +SHARED\n2 GLOBAL . INTENTION_EXCLUSIVE\n3 GLOBAL . +INTENTION_EXCLUSIVE", "2>1 global ")
	f("1 GLOBAL . +INTENTION_EXCLUSIVE\n2 GLOBAL . SHARED\n3 GLOBAL . INTENTION_EXCLUSIVE",
		"2>1 global ", "3>2 global ")
	f("1 USER_LEVEL_LOCK .x +EXCLUSIVE\n2 USER_LEVEL_LOCK .x EXCLUSIVE\n3 USER_LEVEL_LOCK .y +EXCLUSIVE", "2>1 user x")
	f("1 TABLE d.t +SHARED_READ\n2 TABLE d.t SHARED_READ", "2>? metadata d.t") // given at this moment
	f("1 TABLE d.t EXCLUSIVE\n2 TABLE d.t SHARED_HIGH_PRIO\n3 TABLE d.t +SHARED_READ",
		"1>3 metadata d.t", "2>? metadata d.t")
}

func TestQueueOfTicketsIsBounded(t *testing.T) {
	var q []ticket
	for i := range 300 {
		q = append(q, ticket{space: "TABLE", schema: "d", name: "t", mode: "EXCLUSIVE", session: uint64(i + 1)},
			ticket{
				space: "TABLE", schema: "d", name: "t", mode: "SHARED_READ",
				session: uint64(i + 1000), granted: true,
			})
	}
	all(t, ticketWaits(q), 300)
}

// all wants waits up to the limit, and one of each who waits.
func all(t *testing.T, waits []state.Wait, waiters int) {
	t.Helper()
	seen := map[uint64]bool{}
	for _, w := range waits {
		if !w.Blocker.OK() {
			t.Fatalf("nobody is in the way of %d: %s", w.Waiter, w.Why)
		}
		seen[w.Waiter] = true
	}
	if n := len(waits); len(seen) != waiters || n < waitLimit || n > waitLimit+waiters {
		t.Errorf("%d waits of %d sessions, which are %d", n, len(seen), waiters)
	}
}

func TestWanted(t *testing.T) {
	f := func(sql string, want ...string) {
		t.Helper()
		var got []string
		for _, w := range wanted(state.Session{ID: 1, DB: "db", SQL: sql}) {
			got = append(got, objectOf(w)+" "+w.mode)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
	f("ALTER TABLE t ADD x INT", "db.t EXCLUSIVE")
	f("alter online table `a b`.`t` add x int", "a b.t EXCLUSIVE")
	f("DROP TABLE IF EXISTS s.t", "s.t EXCLUSIVE")
	f("TRUNCATE t", "db.t EXCLUSIVE")
	f("CREATE UNIQUE INDEX i ON s . t (x)", "s.t EXCLUSIVE")
	f("LOCK TABLES t READ", "db.t SHARED_READ_ONLY")
	f("LOCK TABLES t WRITE", "db.t SHARED_NO_READ_WRITE")
	f("SELECT * FROM t JOIN s.u ON 1", "db.t SHARED_READ", "s.u SHARED_READ")
	f("/* x */ (SELECT * FROM t FOR UPDATE)", "db.t SHARED_WRITE")
	f("UPDATE t SET x=1", "db.t SHARED_WRITE")
	f("INSERT INTO s.t VALUES (1)", "s.t SHARED_WRITE")
	f("COMMIT")
	f("/* of a proxy */ alter table e . `t``1` ADD x INT", "e.t`1 EXCLUSIVE")
	f("CREATE INDEX i ON t(a)", "db.t EXCLUSIVE")
	f("DROP TABLE IF EXISTS `a.b`.t", "a.b.t EXCLUSIVE")
	f("-- x\nUPDATE t SET a=1", "db.t SHARED_WRITE")
	f("( /* x */ (SELECT * FROM t) UNION SELECT 1)", "db.t SHARED_READ")
	f("ALTER TABLE 'x'")
	f("ALTER TABLE t.")
	f("")
}
