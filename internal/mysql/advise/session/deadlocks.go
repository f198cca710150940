package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise/session"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/mysql/deadlock"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// deadlockPart is the part of the transactions that is lost: one in a thousand is what busy servers live with.
	deadlockPart = 0.001
	// deadlockMany is the part of the transactions from which on it is more than a notice.
	deadlockMany = 0.01
)

// deadlocked finds servers that end transactions because of deadlocks all the time, and the pair of the latest.
func deadlocked(v *advise.View) []finding.Finding {
	n, ok := session.Deadlocks(v)
	if !ok || n < session.DeadlockRate {
		return nil
	}
	// Transactions are those that are begun or committed by a statement: with autocommit = 0, as many drivers have it,
	// nobody sends a BEGIN. Without any each change is one.
	done := max(v.Rate(figures.Commands.Of("begin")).Or(0), v.Rate(figures.Commands.Of("commit")).Or(0))
	if done < n {
		done = n
		for _, name := range []string{"update", "insert", "delete"} {
			done += v.Rate(figures.Commands.Of(name)).Or(0)
		}
	}
	part := 0.0
	if done > 0 {
		part = min(1, n/done)
		if part < deadlockPart {
			return nil
		}
	}
	pair := latest(v)
	q := session.Queues(v)
	waiting, _ := q.Rows(v)
	f := finding.Finding{
		Rule: "deadlocks", Severity: finding.Notice, Confidence: finding.Certain, Share: max(q.Part(waiting), part),
		Subject: finding.Subject{Tables: pair.tables, Classes: pair.classes},
		Explains: append([]string{advise.EffectRowLocks, advise.EffectRunning},
			session.ClassTimes(session.WaitingOnly(v, pair.classes))...),
		Title: fmt.Sprintf("%s deadlocks a second: one transaction in %s is rolled back", unit.Count(n),
			unit.Count(1/max(part, 1e-9))),
	}
	if part == 0 {
		f.Title = fmt.Sprintf("%s deadlocks a second", unit.Count(n))
	}
	f.ID = finding.MakeID("deadlocks", session.Names(pairOf(pair.tables))...)
	if part >= deadlockMany {
		f.Severity = finding.Warning
	}
	f.Evidence = []finding.Evidence{{
		What: "deadlocks per second", Value: known.Of(n), Unit: "1/s",
		Expected: fmt.Sprintf("< %.1f", session.DeadlockRate), Source: source.GlobalStatus,
		Text: fmt.Sprintf("The server ended %s to resolve deadlocks, %s of the transactions that change rows.",
			unit.Rate(n, "transactions a second"), unit.Percent(part)),
	}}
	for i, s := range pair.statements {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What:   fmt.Sprintf("statement %d of the latest deadlock", i+1),
			Source: figures.InnodbStatus, Text: fmt.Sprintf("In the latest deadlock transaction %d was in: %s.", i+1,
				session.Clip(s)),
		})
	}
	for i, l := range pair.locks {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What:   fmt.Sprintf("locks of transaction %d", i+1),
			Source: figures.InnodbStatus, Text: l,
		})
	}
	f.Evidence = append(f.Evidence, session.LockCounters(v)...)
	pair.explain(v, &f)
	scanning(v, pair.classes, &f)
	f.Reference = "MySQL manual, \"How to Minimize and Handle Deadlocks\""
	switch {
	case len(pair.statements) < 2 && len(pair.tables) > 0:
		f.Confidence = finding.Likely
		f.Unobserved = append(f.Unobserved, "The statements of the pair: the text of SHOW ENGINE INNODB STATUS was "+
			"captured without them.")
	case len(pair.statements) < 2:
		f.Confidence = finding.Likely
		f.Unobserved = append(f.Unobserved, "The pair: the text of SHOW ENGINE INNODB STATUS, which names the latest "+
			"deadlock, was not in what was captured (it needs PROCESS).")
	default:
		f.Against = append(f.Against, "The pair is the one of the latest deadlock alone; the rest may have other "+
			"causes. innodb_print_all_deadlocks = ON writes each to the error log.")
	}
	if len(pair.statements) == 2 && pair.same {
		f.Against = append(f.Against, "Both transactions were in the same statement: which rows each had locked "+
			"before decides, and the text of the latest deadlock shows only part of that.")
	}
	f.Symptoms = session.SymptomIDs(v, pair.classes, finding.Deadlocks, finding.LockQueue)
	var r session.Reasons
	r.Say("Are transactions lost?", source.GlobalStatus, "%s", f.Evidence[0].Text)
	for i, s := range pair.statements {
		r.Say(fmt.Sprintf("What did side %d of the latest deadlock do?", i+1), figures.InnodbStatus, "%s",
			session.Clip(s))
	}
	for _, l := range pair.locks {
		r.Say("What did it hold and want?", figures.InnodbStatus, "%s", l)
	}
	f.Why = r
	return []finding.Finding{f}
}

// couple is the latest deadlock.
type couple struct {
	kind       deadlock.Kind
	statements []string // of the two sides
	classes    []string // of the statements, each once
	same       bool     // both are of one class
	locks      []string // sentences on what each held and wanted
	tables     []schema.Ref
}

// latest reads the deadlock out of the latest text of SHOW ENGINE INNODB STATUS.
func latest(v *advise.View) (c couple) {
	text := ""
	for i := range v.Moments {
		text = cmp.Or(v.Moments[i].EngineStatus, text)
	}
	r, ok := deadlock.Read(deadlock.Section(text))
	if !ok {
		return c
	}
	d := r.Deadlock(lock.FromStatus, v.To)
	c.kind = r.Kind()
	for i, p := range d.Parties {
		if p.SQL != "" {
			c.statements = append(c.statements, p.SQL)
		}
		if p.Class != "" && slices.Contains(c.classes, p.Class) {
			c.same = true
		} else if p.Class != "" {
			c.classes = append(c.classes, p.Class)
		}
		for _, l := range slices.Concat(p.Holds, p.Waits) {
			if ref, ok := session.TableOf(l.Object); ok && !slices.Contains(c.tables, ref) {
				c.tables = append(c.tables, ref)
			}
		}
		switch {
		case len(p.Waits) == 0:
		case len(p.Holds) == 0:
			c.locks = append(c.locks, fmt.Sprintf("Transaction %d waited for a lock on %s.", i+1, place(p.Waits[0])))
		default:
			c.locks = append(c.locks, fmt.Sprintf("Transaction %d held a lock on %s and waited for one on %s.", i+1,
				place(p.Holds[0]), place(p.Waits[0])))
		}
	}
	return c
}

// place says what a lock is on, and as the server words it how: "shop.stock (PRIMARY, X locks rec but not gap)".
func place(l lock.Lock) string {
	parts := slices.DeleteFunc([]string{l.Index, l.Mode}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return l.Object
	}
	return l.Object + " (" + strings.Join(parts, ", ") + ")"
}

const (
	lost = "; the server ends one with error 1213 and rolls it back. Its work is lost, and the application has to " +
		"retry it or fails."
	retry = " Keep retrying error 1213: it cannot be ruled out."
)

// explain says why the two met, what would end that, and what would refute it.
func (c couple) explain(v *advise.View, f *finding.Finding) {
	on := "a table"
	if len(c.tables) > 0 {
		on = c.tables[0].String()
	}
	f.Cost = "Application work; locks may be taken earlier than now and held longer."
	switch c.kind {
	case deadlock.Gap:
		f.Cause = "Each transaction has locked a gap in an index of " + on + ", which a SELECT … FOR UPDATE, an " +
			"UPDATE or a DELETE does that finds no row there. Locks on a gap do not exclude each other, but each " +
			"keeps the other transaction from inserting" + lost
		f.Suggestion = "Insert without a locking read before, and let the unique key decide: an INSERT, and the " +
			"change of the row when that fails with error 1062."
		f.Cost = "Application work."
		f.Falsify = "Disproved if the rate of deadlocks stays the same when no transaction locks rows that are not " +
			"there."
		if !committedReads(v) {
			f.Suggestion += " Or run these transactions with READ COMMITTED, which locks no gaps that it searches."
			f.Cost += " READ COMMITTED needs row-based binary logs, and shows a transaction what others commit " +
				"meanwhile."
		}
		f.Suggestion += " Neither FOR UPDATE nor another order helps: the gap is the same." + retry
	case deadlock.Duplicate:
		f.Cause = "Each transaction met a duplicate in an index of " + on + " when it inserted, and shares a lock on " +
			"it and on the gap before it. Then each wants to insert there, and the other one's lock is in its " +
			"way" + lost
		f.Suggestion = "Have one session at a time insert rows of the same keys: give each key, or range of keys, to " +
			"one worker. Short transactions with few rows in the order of the key meet less often." + retry
		f.Cost = "Application work."
		f.Falsify = "Disproved if the rate of deadlocks stays the same when no two sessions insert the same keys."
	case deadlock.Upgrade:
		f.Cause = "Both transactions share the lock on one record of " + on + ": by SELECT … FOR SHARE (LOCK IN " +
			"SHARE MODE), by INSERT … SELECT, or because they inserted or changed a row whose foreign key refers to " +
			"it. Then both want to change it, and neither can before the other lets go" + lost
		f.Suggestion = "Take the exclusive lock first: SELECT … FOR UPDATE in place of FOR SHARE; with a foreign " +
			"key, change the row that is referred to before the rows that refer to it. An order of rows does not " +
			"help: it is one row." + retry
		f.Falsify = "Disproved if the rate of deadlocks stays the same when both begin with the exclusive lock."
	case deadlock.Indexes:
		f.Cause = "Both transactions lock rows of " + on + " and meet in two of its indexes: a row is locked in each " +
			"index by itself, so that statements which find their rows by different indexes can lock them in " +
			"opposite order" + lost
		f.Suggestion = "Have both find their rows by the same index: read the primary keys first, without locking, " +
			"and change or lock the rows by primary key, in ascending order." + retry
		f.Falsify = "Disproved if the rate of deadlocks stays the same when both use the primary key."
	case deadlock.Order:
		f.Cause = "Transactions lock the same rows in different order. When two of them meet, each holds what the " +
			"other needs" + lost
		order := "Choose one order for the rows and tables that several transactions lock, and use it everywhere: by " +
			"table, then by primary key."
		switch {
		case len(c.statements) == 2 && len(c.tables) == 1:
			order = fmt.Sprintf("Have all transactions lock the rows of %s in the same order: sort them by primary "+
				"key before the first change, or lock all of them at once with SELECT … ORDER BY … FOR UPDATE.", on)
		case len(c.tables) > 1:
			order = fmt.Sprintf("Have all transactions lock the tables in the same order, say %s before %s, and "+
				"within a table by primary key.", on, c.tables[1])
		}
		f.Suggestion = order + retry
		f.Falsify = "Disproved if the rate of deadlocks stays the same when both keep one order."
	default:
		f.Confidence = finding.Likely
		f.Cause = "Two transactions each hold what the other needs" + lost
		f.Suggestion = "Look at which locks they were: innodb_print_all_deadlocks = ON writes each deadlock to the " +
			"error log. Locks on rows in different order, on gaps before an insert, and shared locks that are to " +
			"become exclusive ones each need another change." + retry
		f.Falsify = "Disproved if the application loses no transaction to error 1213."
		why := "the locks of the pair were not in what was captured."
		if len(c.locks) > 0 {
			why = "the locks that the text shows do not explain the wait of each side."
		}
		f.Unobserved = append(f.Unobserved, "Which kind of deadlock it is: "+why)
	}
}

// committedReads reports whether sessions lock no gaps that they search, unless they say otherwise.
func committedReads(v *advise.View) bool {
	for _, name := range []string{"transaction_isolation", "tx_isolation"} {
		if level, ok := v.Variable(name); ok {
			return strings.EqualFold(level, "READ-COMMITTED") || strings.EqualFold(level, "READ-UNCOMMITTED")
		}
	}
	return false
}

// lockedTooMuch is how many rows a statement reads for each that it changes from which on the rows that it only reads
// cause its deadlocks: InnoDB locks these too, unless with READ COMMITTED.
const lockedTooMuch = 50

// scanning adds a side that locks far more rows than it changes.
func scanning(v *advise.View, classes []string, f *finding.Finding) {
	if committedReads(v) {
		return
	}
	for _, id := range classes {
		c, ok := v.Class(id)
		if !ok || c.Sampled {
			continue
		}
		sh, err := v.Shape(c)
		read, ok1 := c.PerCall(c.Examined).Get()
		changed, ok2 := c.PerCall(c.Affected).Get()
		if err != nil || sh.Kind != shape.Update && sh.Kind != shape.Delete || !ok1 || !ok2 || changed <= 0 ||
			read < lockedTooMuch || read < lockedTooMuch*changed {
			continue
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "rows read per call", Value: known.Of(read), Source: c.Source(),
			Text: fmt.Sprintf("%s reads %s rows per call to change %s, and locks each that it reads.",
				session.Clip(c.Fingerprint), unit.Count(read), unit.Count(changed)),
		})
		f.Suggestion = fmt.Sprintf("Give %s an index that finds the rows that it changes: it locks %s for each of "+
			"them. ", session.Clip(c.Fingerprint), unit.Count(read/max(changed, 1))) + f.Suggestion
		return
	}
}

// pairOf returns two references in a fixed order.
func pairOf(refs []schema.Ref) []schema.Ref {
	refs = slices.Clone(refs)
	slices.SortFunc(refs, func(a, b schema.Ref) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(refs)
}
