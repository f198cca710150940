package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/state"
)

// The report of MySQL 9.7, shortened.
const embrace = "------------------------\nLATEST DETECTED DEADLOCK\n------------------------\n2026-05-01 03:00:04 " +
	"0x7f1f\n*** (1) TRANSACTION:\n" +
	"TRANSACTION 2511, ACTIVE 0 sec starting index read\nmysql tables in use 1, locked 1\nLOCK WAIT 4 lock " +
	"struct(s), heap size 1128, 2 row lock(s), undo log entries 1\n" +
	"MySQL thread id 20, OS thread handle 1397, query id 207 10.0.0.7 app updating\nUPDATE stock SET pieces = 4\n  " +
	"WHERE id = 2\n\n*** (1) HOLDS THE LOCK(S):\n" +
	"RECORD LOCKS space id 4 page no 4 n bits 80 index PRIMARY of table `shop`.`stock` trx id 2511 lock_mode X locks " +
	"rec but not gap\nRecord lock, heap no 2\n 0: len 4; hex 80000001; asc ;;\n\n" +
	"*** (1) WAITING FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS space id 5 page no 4 n bits 80 index `by_shelf` of " +
	"table `shop`.`shelves` trx id 2511 lock_mode X waiting\n\n" +
	"*** (2) TRANSACTION:\nTRANSACTION 2512, ACTIVE 0 sec starting index read\nmysql tables in use 1, locked 1\nLOCK " +
	"WAIT 4 lock struct(s)\n" +
	"MySQL thread id 21, OS thread handle 1398, query id 208 10.0.0.7 app updating\nUPDATE shelves SET free = 7 " +
	"WHERE shelf = 9\n\n*** (2) HOLDS THE LOCK(S):\n" +
	"RECORD LOCKS space id 5 page no 4 n bits 80 index `by_shelf` of table `shop`.`shelves` trx id 2512 lock_mode X\n" +
	"\n" +
	"*** (2) WAITING FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS space id 4 page no 4 n bits 80 index PRIMARY of " +
	"table `shop`.`stock` trx id 2512 lock_mode X waiting\n\n" +
	"*** WE ROLL BACK TRANSACTION (2)\n------------\nTRANSACTIONS\n------------\nTrx id counter 27132\n"

func lastText(text string) func(float64) state.State {
	return func(s float64) state.State {
		x := state.State{Sessions: []state.Session{working(20, lookup, 0.01)}}
		if s == 8 {
			x.EngineStatus = text
		}
		return x
	}
}

// Drivers that switch autocommit off send no BEGIN: what they commit are the transactions.
func TestDeadlocksWithoutBegin(t *testing.T) {
	m := moments(shop(), 8, lastText(embrace))
	m.S.Series = slices.DeleteFunc(m.S.Series, func(x metric.Series) bool {
		return x.Name == figures.Commands.Name
	})
	m.Status("Innodb_deadlocks", 0.8).Status("Com_begin", 1).Status("Com_commit", 5000).Status("Com_update", 9000)
	if all := deadlocked(m.View()); len(all) != 0 {
		t.Errorf("one in six thousand: %s", all[0].Title)
	}
}

func TestDeadlocks(t *testing.T) {
	f := one(t, moments(shop().Status("Innodb_deadlocks", 20), 8, lastText(embrace)), "deadlocks")
	want := []string{
		classOf("UPDATE stock SET pieces = 4 WHERE id = 2"),
		classOf("UPDATE shelves SET free = 7 WHERE shelf = 9"),
	}
	if !slices.Equal(f.Subject.Classes, want) || !slices.Equal(f.Subject.Tables,
		[]schema.Ref{stock, {Schema: "shop", Table: "shelves"}}) {
		t.Errorf("%+v", f.Subject)
	}
	if f.Severity != finding.Warning || f.Confidence != finding.Certain ||
		!strings.Contains(f.Title, "20 deadlocks a second: one transaction in 5") {
		t.Errorf("%s %s %s", f.Severity, f.Confidence, f.Title)
	}
	text := ""
	for _, e := range f.Evidence {
		text += e.Text + "\n"
	}
	if !strings.Contains(text, "Transaction 1 held a lock on shop.stock (PRIMARY, X locks rec but not gap) and waited "+
		"for one on shop.shelves (by_shelf, X).") ||
		!strings.Contains(text, "Transaction 2 held a lock on shop.shelves (by_shelf, X) and waited for one on "+
			"shop.stock (PRIMARY, X).") {
		t.Error(text)
	}
	if !strings.Contains(f.Suggestion, "shop.stock before shop.shelves") {
		t.Error(f.Suggestion)
	}
	has(t, "explains", f.Explains, advise.EffectRowLocks)

	// MySQL counts them among InnoDB's metrics; its text may have been captured without statements, or not at all.
	m := moments(shop().MySQL("9.7.4").Rate("mysql_info_schema_innodb_metrics_lock_lock_deadlocks_total", 20), 8,
		lastText(""))
	if f = one(t, m, "deadlocks"); f.Confidence != finding.Likely || len(f.Unobserved) == 0 {
		t.Errorf("%s %v", f.Confidence, f.Unobserved)
	}
	var bare []string
	for _, l := range strings.Split(embrace, "\n") {
		if !strings.Contains(l, "UPDATE") && !strings.Contains(l, "WHERE") && !strings.Contains(l, "thread id") &&
			!strings.Contains(l, "Record lock") {
			bare = append(bare, l)
		}
	}
	m = moments(shop().Status("Innodb_deadlocks", 20), 8, lastText(strings.Join(bare, "\n")))
	if f = one(t, m, "deadlocks"); len(f.Subject.Tables) != 2 || len(f.Subject.Classes) > 0 ||
		!strings.Contains(f.Unobserved[0], "without them") {
		t.Errorf("%+v %v", f.Subject, f.Unobserved)
	}
	// Waits that end in deadlocks are no pile-up of their own.
	m = moments(busyLocks(shop()).Status("Innodb_deadlocks", 20), 8, func(s float64) state.State {
		x := hotRow(s)
		x.EngineStatus = embrace
		return x
	})
	one(t, m, "deadlocks")
}

// met is the report of two sessions that each hold one kind of lock on an index of shop.stock and want another.
func met(held, wanted string) string {
	const record = "Record lock, heap no 2 PHYSICAL RECORD: n_fields 2; compact format; info bits 0\n" +
		" 0: len 4; hex 80000001; asc ;;\n"
	side := func(n, trx, sql string) string {
		lock := "RECORD LOCKS space id 4 page no 4 n bits 80 index PRIMARY of table `shop`.`stock` trx id " + trx + " "
		return "*** (" + n + ") TRANSACTION:\nTRANSACTION " + trx + ", ACTIVE 0 sec\nMySQL thread id " + n +
			", OS thread handle 13, query id 1" + n + " 10.0.0.7 app updating\n" + sql + "\n\n*** (" + n +
			") HOLDS THE LOCK(S):\n" + lock + held + "\n" + record + "\n*** (" + n +
			") WAITING FOR THIS LOCK TO BE GRANTED:\n" + lock + wanted + " waiting\n" + record + "\n"
	}
	return "\nLATEST DETECTED DEADLOCK\n" + side("1", "25", "UPDATE stock SET pieces = 4 WHERE shelf = 2") +
		side("2", "26", "UPDATE stock SET pieces = 5 WHERE shelf = 3") + "*** WE ROLL BACK TRANSACTION (2)\n"
}

// Each kind has its own cause and its own cure; what cures one is no help for another.
func TestDeadlockKinds(t *testing.T) {
	f := func(held, wanted, cause, cure, never string) {
		t.Helper()
		f := one(t, moments(shop().Status("Innodb_deadlocks", 20), 8, lastText(met(held, wanted))), "deadlocks")
		if !strings.Contains(f.Cause, cause) || !strings.Contains(f.Suggestion, cure) ||
			strings.Contains(f.Suggestion, never) || !strings.Contains(f.Suggestion, "1213") {
			t.Errorf("%s\n%s", f.Cause, f.Suggestion)
		}
	}
	f("lock_mode X locks gap before rec", "lock_mode X locks gap before rec insert intention", "a gap in an index",
		"READ COMMITTED", "ORDER BY")
	f("lock mode S locks gap before rec", "lock_mode X locks gap before rec insert intention", "met a duplicate",
		"one session at a time", "READ COMMITTED")
	f("lock mode S locks rec but not gap", "lock_mode X locks rec but not gap", "share the lock on one record",
		"FOR UPDATE in place of FOR SHARE", "sort them")
	f("lock_mode X locks rec but not gap", "lock_mode X locks rec but not gap", "in different order",
		"in the same order", "innodb_print_all_deadlocks")
	f("", "", "each hold what the other needs", "innodb_print_all_deadlocks", "sort them")
}

// A statement that reads its table to change a few rows locks all that it reads.
func TestDeadlockOfAScan(t *testing.T) {
	suggested := func(examined uint64) string {
		t.Helper()
		m := moments(shop().Status("Innodb_deadlocks", 20), 8, lastText(met("lock_mode X", "lock_mode X")))
		m.Exact("UPDATE stock SET pieces = 4 WHERE shelf = 2", 100, 0.1, examined, 0, func(c *class.Class) {
			c.Affected = known.Of[uint64](100)
		})
		return one(t, m, "deadlocks").Suggestion
	}
	if s := suggested(5000); !strings.HasPrefix(s, "Give update stock set pieces") ||
		!strings.Contains(s, "locks 5000") {
		t.Error(s)
	}
	if s := suggested(1); strings.HasPrefix(s, "Give") {
		t.Error(s)
	}
}

func TestDeadlocksSilent(t *testing.T) {
	silent(t, "one in ten seconds", moments(shop().Status("Innodb_deadlocks", 0.1), 8, lastText(embrace)))
	silent(t, "an old one in the text", moments(shop().Status("Innodb_deadlocks", 0), 8, lastText(embrace)))
	silent(t, "no counter", moments(shop(), 8, lastText(embrace)))
	m := shop()
	m.S.Series = slices.DeleteFunc(m.S.Series, func(x metric.Series) bool {
		return x.Labels.Get("command") == "begin"
	})
	silent(t, "one in many thousand", moments(m.Status("Com_begin", 10_000).Status("Innodb_deadlocks", 1), 8,
		lastText(embrace)))
}
