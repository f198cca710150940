package sources

import (
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/state"
)

// redact takes the literals of statements out of a reading before anything else sees it. The other texts of a reading
// hold none: names, the server's own words, and errors that answer Dyno's own statements.
func redact(r *reading.Reading) {
	if r.State != nil {
		Redact(r.State)
	}
	for i := range r.Events {
		RedactEvent(&r.Events[i])
	}
	r.Deadlocks.Deadlocks = slices.Clone(r.Deadlocks.Deadlocks) // the source compares with its own
	for i := range r.Deadlocks.Deadlocks {
		d := &r.Deadlocks.Deadlocks[i]
		d.Parties = slices.Clone(d.Parties)
		for j := range d.Parties {
			p := &d.Parties[j]
			if sure := mytext.Certain(p.SQL); len(sure) < len(p.SQL) && p.Fingerprint != "" {
				fp := mytext.Fingerprint(sure) // as the classes of such statements
				p.Fingerprint, p.Class = state.Clip(fp, state.MaxText), class.ID(fp)
			}
			p.SQL, p.Holds, p.Waits = mytext.Redacted(p.SQL), withoutRecords(p.Holds), withoutRecords(p.Waits)
		}
	}
}

// RedactEvent takes out of an event what a variable holds of statements; schema changes have lost theirs, see ddlWatch.
func RedactEvent(e *event.Event) {
	name, _, _ := strings.Cut(e.Text, " ")
	if e.Kind == event.Config && HoldsStatement(name) {
		e.Text = name + " changed"
	}
}

// withoutRecords returns locks without the values of the rows that they are on.
func withoutRecords(all []lock.Lock) []lock.Lock {
	all = slices.Clone(all)
	for i := range all {
		all[i].Record = nil
	}
	return all
}

// HoldsStatement reports whether a variable's value is statements.
func HoldsStatement(variable string) bool {
	return slices.Contains([]string{"init_connect", "init_slave", "init_replica"}, variable)
}

// Redact takes out of a state what may hold values of users: literals of statements, names of user locks, and of
// InnoDB's report on itself all but the structure of the latest deadlock.
func Redact(x *state.State) {
	x.Sessions, x.Waits = slices.Clone(x.Sessions), slices.Clone(x.Waits) // the sources read theirs again
	for i := range x.Sessions {
		s := &x.Sessions[i]
		s.SQL, s.Last = mytext.Redacted(s.SQL), mytext.Redacted(s.Last)
	}
	for i := range x.Waits {
		if x.Waits[i].Kind == state.UserLock && x.Waits[i].Object != "" {
			x.Waits[i].Object = "?"
		}
	}
	x.EngineStatus = deadlockOnly(x.EngineStatus)
}

// structural are the lines of InnoDB's report on a deadlock that hold names and figures of the engine, never a value of
// a row or a text of a statement.
var structural = []*lazyregexp.Pattern{
	lazyregexp.New(`^-+$`),
	lazyregexp.New(`^LATEST DETECTED DEADLOCK$`),
	lazyregexp.New(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( 0x[0-9a-f]+)?$`),
	lazyregexp.New(
		`^\*\*\* \(\d+\) (TRANSACTION|HOLDS THE LOCK\(S\)|WAITING FOR THIS LOCK TO BE GRANTED|CONFLICTING WITH):$`),
	lazyregexp.New(`^\*\*\* WE ROLL BACK TRANSACTION \(\d+\)$`),
	lazyregexp.New(`^TRANSACTION \d+, ACTIVE \d+ sec( [a-z ]+)?$`),
	lazyregexp.New(`^mysql tables in use \d+, locked \d+$`),
	lazyregexp.New(`^(LOCK WAIT )?\d+ lock struct\(s\), heap size \d+, \d+ row lock\(s\)(, undo log entries \d+)?$`),
	lazyregexp.New("^RECORD LOCKS space id \\d+ page no \\d+ n bits \\d+ index `?[^`']{1,64}`? of table " +
		"`[^`']{1,64}`\\.`[^`']{1,64}`( /\\* Partition [^*']{1,64} \\*/)? trx id \\d+ lock[ _a-zA-Z,-]+( waiting)?$"),
	lazyregexp.New("^TABLE LOCK table `[^`']{1,64}`\\.`[^`']{1,64}` trx id \\d+ lock mode [A-Z_-]+( waiting)?$"),
}

// deadlockOnly returns the report on the latest deadlock without statements and rows: by far the most of the text is
// figures that the series have, or statements.
func deadlockOnly(text string) string {
	_, rest, ok := strings.Cut(text, "LATEST DETECTED DEADLOCK")
	if !ok {
		return ""
	}
	var b strings.Builder
	b.WriteString("------------------------\nLATEST DETECTED DEADLOCK\n")
	for line := range strings.SplitSeq(strings.TrimPrefix(rest, "\n"), "\n") {
		line = strings.TrimRight(line, " \r")
		if line == "TRANSACTIONS" || strings.HasPrefix(line, "Trx id counter") {
			break
		}
		for _, r := range structural {
			if r.MatchString(line) {
				b.WriteString(line + "\n")
				break
			}
		}
	}
	return b.String()
}
