package capture

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/state"
)

// withhold takes out of a moment what may hold values of users.
func withhold(x *state.State) {
	for i, s := range x.Sessions { // the list is the moment's own since Cap
		if s.SQL != "" {
			x.Sessions[i].SQL = mytext.Fingerprint(s.SQL)
		}
		if s.Last != "" {
			x.Sessions[i].Last = mytext.Fingerprint(s.Last)
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
