package session

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise/session"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// viewSeconds is the least age of a transaction whose snapshot is blamed; what applications do takes less.
	viewSeconds = 5
	// versionsLeast is how long the history list has to be before anybody is blamed. It counts transactions, and one
	// may have left thousands of versions, so that this alone says little: what others pay for it does.
	versionsLeast = 50
	// versionsLong is a length that is told also when it does not grow just now.
	versionsLong = 100_000
	// pagesPerRow is how many pages the server may look at for each row that it reads or changes: a lookup in an index
	// of four levels and one in the primary key make eight.
	pagesPerRow = 50
	// absurd is more than any history list has ever held.
	absurd = 1e12
	// historyDanger is a length from which on it is told even though it costs nothing yet.
	historyDanger = 1_000_000
)

// rowVersions finds transactions whose old snapshot keeps the server from clearing away old row versions, while the way
// through these versions costs others time.
func rowVersions(v *advise.View) []finding.Finding {
	length, growth, from, ok := history(v)
	if !ok || length > absurd || length < versionsLeast || length < versionsLong && growth <= 0 {
		return nil
	}
	holder, s, view, ok := oldest(v)
	if !ok {
		return nil
	}
	pages := pagesPer(v)
	each, counted := pages.Get()
	hurts := counted && each >= pagesPerRow
	if !hurts && length < historyDanger {
		return nil
	}
	c, table, share := hot(v)
	f := finding.Finding{
		Rule: "row-versions", Severity: finding.Notice, Confidence: finding.Likely,
		Subject:  finding.Subject{Sessions: []uint64{holder.Session}},
		Explains: []string{advise.EffectHistory},
		ID:       finding.MakeID("row-versions", session.Account(s)),
	}
	f.Title = fmt.Sprintf("the snapshot of %s, open for %s, keeps the row versions of %s transactions",
		session.Who(s, holder.Session), unit.Seconds(holder.Seconds), unit.Count(length))
	f.Cause = "A transaction sees the data as they were when its snapshot was taken, so the server must keep every " +
		"version of every row changed since. The history list grows with each " +
		"change and cannot be purged."
	if hurts {
		f.Severity, f.Share = finding.Warning, share*(1-pagesPerRow/(2*each))
		if f.Share >= 0.5 {
			f.Severity = finding.Critical
		}
		f.Title += fmt.Sprintf(": %s pages are read for each row", unit.Count(each))
		f.Cause += " Reads and purge of a row go through all of its versions, page by page; for a row that is " +
			"changed all the time the chain grows with every change, and the changes wait for it."
		f.Explains = append(f.Explains, advise.EffectCPU, advise.EffectMutex)
		if c.ID != "" {
			f.Subject.Classes = []string{c.ID}
			f.Explains = append(f.Explains, advise.ClassTime(c.ID))
		}
		if table.Table != "" {
			f.Subject.Tables = []schema.Ref{table}
		}
	}
	if view > 0 {
		f.Confidence = finding.Certain
	}
	f.Evidence = []finding.Evidence{
		{
			What: "history list length", Value: known.Of(length), Expected: "a few thousand, and not growing",
			Source: from,
			Text: fmt.Sprintf("The history list holds %s transactions and grew by %s in %s.", unit.Count(length),
				unit.Count(growth), unit.Seconds(v.Window)),
		},
		{
			What: "age of the oldest transaction", Value: known.Of(holder.Seconds), Unit: "s",
			Expected: fmt.Sprintf("< %d", viewSeconds), Source: source.Transactions,
			Text: fmt.Sprintf("The oldest transaction is that of %s: open for %s, last %s for %s.",
				session.Who(s, holder.Session), unit.Seconds(holder.Seconds), asleep(s), unit.Seconds(s.Seconds)),
		},
	}
	if view > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "transactions begun since its snapshot", Value: known.Of(view), Source: figures.InnodbStatus,
			Text: fmt.Sprintf("By InnoDB's own list its read view does not see the last %s transactions.",
				unit.Count(view)),
		})
	} else if n, ok := v.Mean("mysql_engine_innodb_read_views_open_inside_innodb").Get(); ok && n >= 1 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "snapshots open in InnoDB", Value: known.Of(n), Source: figures.InnodbStatus,
			Text: fmt.Sprintf("InnoDB counts %s snapshots open at a time; it does not report their owners, and this "+
				"is the oldest transaction.", unit.Count(session.Round(n))),
		})
	} else {
		f.Against = append(f.Against, "That its transaction has a snapshot was not observed, only that it is the "+
			"oldest: under READ COMMITTED an idle one has none.")
	}
	if counted {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "pages accessed per row read or changed", Value: pages, Unit: "pages", Expected: fmt.Sprintf("< %d",
				pagesPerRow), Source: source.GlobalStatus,
			Text: fmt.Sprintf("For each row that was read or changed %s pages of the buffer pool were accessed "+
				"(Innodb_buffer_pool_read_requests by the rows read and changed).", unit.Count(each)),
		})
	}
	if hurts && c.ID != "" {
		text := fmt.Sprintf("%s of the statement time goes to: %s", unit.Percent(share), session.Clip(c.Fingerprint))
		if mean, ok := c.MeanSec().Get(); ok {
			text += fmt.Sprintf(", %s each", unit.Seconds(mean))
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What:  "share of the statement time",
			Value: known.Of(100 * share), Unit: "%", Source: source.Digests, Sampled: c.Sampled, Text: text + ".",
		})
		lo := max(1, 1/(1-f.Share*0.5))
		f.Gain = &finding.Gain{
			What: "time per call of " + session.Clip(c.Fingerprint), Lo: lo, Hi: max(lo, each/8),
			Text: fmt.Sprintf("A change accesses some 8 pages when there is one version to pass, and %s now.",
				unit.Count(each)),
		}
	}
	if !hurts {
		f.Against = append(f.Against, "It did not cost observable time in the window: the risk is the growing undo "+
			"log, and the next reader of the rows that change most.")
	}
	f.Suggestion = fmt.Sprintf("End that transaction: have %s commit, or %s. Then keep snapshots short: commit after "+
		"each report, read long ones from a replica, and take READ COMMITTED where "+
		"a report does not need one consistent snapshot.", session.Account(s), v.Dialect.Kill(holder.Session))
	if now, ok := v.Variable("idle_readonly_transaction_timeout"); ok && now == "0" && s.Idle() {
		f.Suggestion += " The server can end such transactions automatically: idle_readonly_transaction_timeout, " +
			"which is off."
		f.Setting, f.File = []string{"idle_readonly_transaction_timeout = 300"}, "my.cnf"
		f.Subject.Variables = []string{"idle_readonly_transaction_timeout"}
	}
	f.Cost = "The session loses its snapshot and has to start again. Purging the history takes CPU and writes for a " +
		"while."
	f.Falsify = "Disproved if the history list does not shrink within minutes after that transaction has ended."
	f.Reference = "MySQL manual, \"InnoDB Multi-Versioning\" and \"Purge Configuration\""
	f.Symptoms = session.SymptomIDs(v, nil, finding.OldVersions)
	var r session.Reasons
	r.Say("Do old versions pile up?", from, "%s", f.Evidence[0].Text)
	r.Say("Which session keeps them?", source.Transactions, "%s", f.Evidence[1].Text)
	if counted {
		r.Say("Does it cost time?", source.GlobalStatus, "%s pages are read for each row; up to %d are usual.",
			unit.Count(each), pagesPerRow)
	}
	f.Why = r
	return []finding.Finding{f}
}

// history returns the length of the history list at the end of the window, and by how much it grew.
func history(v *advise.View) (length, growth float64, from source.Name, ok bool) {
	for _, x := range []struct {
		name string
		from source.Name
	}{
		{"mysql_global_status_innodb_history_list_length", source.GlobalStatus},
		{"mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len", figures.InnodbMetrics},
		{"dyno_innodb_history_length", figures.InnodbStatus},
	} {
		if y, found := v.Find(x.name); found && len(y.Points) > 1 {
			a, b := y.Points[0].Value, y.Points[len(y.Points)-1].Value
			return b, b - a, x.from, true
		}
	}
	return 0, 0, "", false
}

var readView = lazyregexp.New(`^Trx read view will not see trx with id >= \d+, sees < (\d+)`)

// oldest returns the oldest transaction that was open at every moment and holds a snapshot, with its session and how
// many transactions its snapshot does not see; 0 when InnoDB's text does not tell.
func oldest(v *advise.View) (x state.Transaction, s state.Session, unseen float64, ok bool) {
	m := v.LastMoment()
	if m == nil {
		return x, s, 0, false
	}
	views := viewsIn(m.EngineStatus)
	for _, y := range m.Transactions {
		if y.Session == 0 || y.Seconds < viewSeconds || y.Seconds < x.Seconds {
			continue
		}
		if n, told := views[y.Session]; told && n == 0 {
			continue // no snapshot, nothing is kept for it
		}
		x, ok = y, true
	}
	if !ok {
		return x, s, 0, false
	}
	for _, y := range m.Sessions {
		if y.ID == x.Session {
			s = y
		}
	}
	return x, s, views[x.Session], true
}

// viewsIn reads the snapshots out of the text of SHOW ENGINE INNODB STATUS: by session, how many transactions began
// since, 0 for a session without a snapshot. Transactions that only read are listed without their session by MySQL: of
// these nothing is told.
func viewsIn(text string) map[uint64]float64 {
	at := strings.Index(text, "\nTRANSACTIONS\n")
	if at < 0 {
		return nil
	}
	unseen := map[uint64]float64{}
	next, session := 0.0, uint64(0)
	for _, line := range strings.Split(text[at:], "\n") {
		if rest, ok := strings.CutPrefix(line, "Trx id counter "); ok && next == 0 {
			n, _ := strconv.ParseUint(strings.TrimSpace(rest), 10, 64)
			next = float64(n)
		}
		switch {
		case strings.HasPrefix(line, "---TRANSACTION"):
			session = 0
		case strings.HasPrefix(line, "FILE I/O"), strings.Contains(line, "truncated..."):
			return unseen
		}
		if _, rest, ok := strings.Cut(line, " thread id "); ok && session == 0 {
			id, _, _ := strings.Cut(rest, ",")
			if session, _ = strconv.ParseUint(id, 10, 64); session != 0 {
				unseen[session] = 0
			}
		}
		if p := readView.FindStringSubmatch(line); p != nil && session != 0 {
			if n, err := strconv.ParseFloat(p[1], 64); err == nil {
				unseen[session] = max(1, next-n)
			}
		}
	}
	return unseen
}

// pagesPer returns the pages of the pool looked at for each row that was read or changed in the window. Rows are
// InnoDB's own count where the server has one, else those of the classes where all were counted, else those of the
// Handler counters, which count the rows of temporary and of system tables as well and so make the figure smaller.
func pagesPer(v *advise.View) known.Value[float64] {
	requests := v.Status("Innodb_buffer_pool_read_requests")
	for _, by := range []struct {
		metric.Family
		what []string
	}{
		{figures.RowOps, []string{"read", "inserted", "updated", "deleted"}},
		{}, // classes
		{figures.Handlers, []string{
			"read_key", "read_next", "read_prev", "read_first", "read_last", "read_rnd", "read_rnd_next", "write",
			"update", "delete",
		}},
	} {
		rows, ok := 0.0, true
		if by.what == nil {
			rows, ok = rowsOfClasses(v)
		}
		for i, n := range by.what {
			x, seen := v.Rate(by.Of(n)).Get()
			rows, ok = rows+x, ok && (seen || i > 0)
		}
		if ok && rows > 0 {
			return per(requests, known.Of(rows))
		}
	}
	return known.None[float64]()
}

// rowsOfClasses returns the rows that all classes examined and changed a second; false when one of them was not
// counted.
func rowsOfClasses(v *advise.View) (float64, bool) {
	rows := 0.0
	for _, c := range v.Classes {
		n, ok := c.Examined.Get()
		if !ok || c.Sampled {
			return 0, false
		}
		rows += float64(n + c.Affected.Or(0))
	}
	return rows / max(v.Window, 1), len(v.Classes) > 0 && v.Rest.Classes == 0 && v.Seen(source.Digests)
}

// hot returns the class of changes with the most time, its table, and which part of the statement time the changes of
// that table hold.
func hot(v *advise.View) (c class.Class, table schema.Ref, share float64) {
	for i, x := range v.Classes {
		if i == 200 {
			break
		}
		sh, err := v.Shape(x)
		if err != nil || sh.Kind != shape.Update && sh.Kind != shape.Delete || len(sh.Tables) == 0 ||
			x.TimeSec <= c.TimeSec {
			continue
		}
		c = x
		table = schema.Ref{}
		if t, ok := v.Resolve(x, sh.Tables[0]); ok {
			table = t.Ref
		}
	}
	return c, table, v.Share(c)
}

// asleep says what a session does.
func asleep(s state.Session) string {
	if s.Idle() {
		return "idle"
	}
	return "active"
}

// per returns a figure divided by another; unknown when one is or the second is nothing.
func per(a, b known.Value[float64]) known.Value[float64] {
	x, ok1 := a.Get()
	y, ok2 := b.Get()
	if !ok1 || !ok2 || y <= 0 {
		return known.None[float64]()
	}
	return known.Of(x / y)
}
