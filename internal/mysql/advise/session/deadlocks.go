package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise/session"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
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
		Cause: "Transactions lock the same rows in different order. When two of them meet, each holds what the other " +
			"needs; the server ends one with error 1213 and rolls it back. " +
			"Its work is lost, and the application has to retry it or fails.",
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
	order := "Choose one order for the rows and tables that several transactions lock, and use it everywhere: by " +
		"table, then by primary key."
	switch {
	case len(pair.statements) == 2 && len(pair.tables) == 1:
		order = fmt.Sprintf("Have all transactions lock the rows of %s in the same order: sort them by primary key "+
			"before the first change, or lock all of them at once with SELECT … ORDER BY … FOR UPDATE.", pair.tables[0])
	case len(pair.tables) > 1:
		order = fmt.Sprintf("Have all transactions lock the tables in the same order, say %s before %s, and within a "+
			"table by primary key.", pair.tables[0], pair.tables[1])
	}
	f.Suggestion = order + " Keep retrying error 1213: it cannot be ruled out."
	f.Cost = "Application work; locks may be taken earlier than now and held longer."
	f.Falsify = "Disproved if the rate of deadlocks stays the same when both keep one order."
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
	statements []string // of the two sides
	classes    []string // of the statements, each once
	same       bool     // both are of one class
	locks      []string // sentences on what each held and wanted
	tables     []schema.Ref
}

var (
	deadTable = lazyregexp.New("index (?:`([^`]+)`|(\\S+)) of table `([^`]+)`\\.`([^`]+)`")
	deadSide  = lazyregexp.New(
		`^\*\*\* (?:\((\d+)\) )?(TRANSACTION|HOLDS THE LOCK|WAITING FOR THIS LOCK|CONFLICTING WITH)`)
)

// latest reads the deadlock out of the latest text of SHOW ENGINE INNODB STATUS.
func latest(v *advise.View) (c couple) {
	text := ""
	for i := range v.Moments {
		if t := v.Moments[i].EngineStatus; t != "" {
			text = t
		}
	}
	_, text, ok := strings.Cut(text, "LATEST DETECTED DEADLOCK\n")
	if !ok {
		return c
	}
	if at := strings.Index(text, "\nTRANSACTIONS\n"); at >= 0 {
		text = text[:at]
	}
	side, part := 0, ""
	var statement []string
	inStatement := false
	var held, wanted [3]string
	finish := func() {
		if len(statement) > 0 {
			c.statements = append(c.statements, strings.Join(statement, " "))
		}
		statement, inStatement = nil, false
	}
	for _, line := range strings.Split(text, "\n") {
		if m := deadSide.FindStringSubmatch(line); m != nil {
			finish()
			part = m[2]
			switch {
			case m[1] != "":
				side = int(m[1][0] - '0')
			case part == "TRANSACTION":
				side++
			}
			continue
		}
		if strings.HasPrefix(line, "***") {
			finish()
			part = ""
			continue
		}
		switch {
		case part == "TRANSACTION" && strings.Contains(line, " thread id ") && strings.Contains(line, "query id "):
			inStatement = true
		case part == "TRANSACTION" && inStatement && strings.TrimSpace(line) != "" &&
			!strings.HasPrefix(line, "RECORD LOCKS") && !strings.HasPrefix(line, "Trx read view"):
			if len(c.statements) < 2 {
				statement = append(statement, strings.TrimSpace(line))
			}
		case strings.HasPrefix(line, "RECORD LOCKS") || strings.HasPrefix(line, "TABLE LOCK"):
			m := deadTable.FindStringSubmatch(line)
			if m == nil || side < 1 || side > 2 {
				continue
			}
			ref := schema.Ref{Schema: m[3], Table: m[4]}
			if !slices.Contains(c.tables, ref) {
				c.tables = append(c.tables, ref)
			}
			lock := ref.String() + " (" + m[1] + m[2] + ")"
			switch part {
			case "WAITING FOR THIS LOCK", "TRANSACTION":
				wanted[side] = lock
			default:
				held[side] = lock
			}
		}
	}
	finish()
	for side := 1; side <= 2; side++ {
		switch h, w := held[side], wanted[side]; {
		case h != "" && w != "":
			c.locks = append(c.locks, fmt.Sprintf("Transaction %d held a lock on %s and waited for one on %s.", side, h,
				w))
		case w != "":
			c.locks = append(c.locks, fmt.Sprintf("Transaction %d waited for a lock on %s.", side, w))
		}
	}
	for _, s := range c.statements {
		id := class.ID(mytext.Fingerprint(s))
		if slices.Contains(c.classes, id) {
			c.same = true
			continue
		}
		c.classes = append(c.classes, id)
	}
	return c
}

// pairOf returns two references in a fixed order.
func pairOf(refs []schema.Ref) []schema.Ref {
	refs = slices.Clone(refs)
	slices.SortFunc(refs, func(a, b schema.Ref) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(refs)
}
