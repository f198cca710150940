package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
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
	if !strings.Contains(text, "Transaction 1 held a lock on shop.stock (PRIMARY) and waited for one on shop.shelves "+
		"(by_shelf).") ||
		!strings.Contains(text, "Transaction 2 held a lock on shop.shelves (by_shelf) and waited for one on "+
			"shop.stock (PRIMARY).") {
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
