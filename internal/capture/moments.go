package capture

import (
	"cmp"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/state"
)

// moments gathers what the server was doing, spread evenly over a window whose length in readings is not known: when
// there are too many, every second one goes and only every second one of the rest is taken from then on.
type moments struct {
	kept   []state.State
	last   *state.State // the newest, always
	stride int
	n      int
	innodb string // the newest text, which readings seldom bring
}

func (m *moments) add(x *state.State) {
	if x == nil || !x.Up {
		return
	}
	m.stride = max(1, m.stride)
	c := *x
	m.innodb = cmp.Or(c.InnoDB, m.innodb)
	c.InnoDB = ""
	state.Cap(&c) // a reading has thousands of sessions
	m.last = &c
	if m.n%m.stride == 0 {
		m.kept = append(m.kept, c)
	}
	m.n++
	if len(m.kept) < 2*snapshot.MaxMoments {
		return
	}
	half := m.kept[:0:0]
	for i := 0; i < len(m.kept); i += 2 {
		half = append(half, m.kept[i])
	}
	m.kept, m.stride = half, 2*m.stride
}

// pick returns at most snapshot.MaxMoments of them in order of time, the last one always, each within the limits of a
// kept state. The last one carries the newest text of InnoDB.
func (m *moments) pick() []state.State {
	if m.last == nil {
		return nil
	}
	all := m.kept
	if n := len(all); n == 0 || !all[n-1].At.Equal(m.last.At) {
		all = append(all[:n:n], *m.last)
	}
	out := make([]state.State, 0, snapshot.MaxMoments)
	for i := range min(len(all), snapshot.MaxMoments) {
		at := i
		if len(all) > snapshot.MaxMoments {
			at = i * (len(all) - 1) / (snapshot.MaxMoments - 1)
		}
		x := all[at]
		x.Vitals, x.Classes = nil, nil // the snapshot has both in full
		out = append(out, x)
	}
	out[len(out)-1].InnoDB = m.innodb
	for i := range out {
		state.Cap(&out[i])
		if i < len(out)-wholeMoments {
			slim(&out[i])
		}
	}
	return out
}

// Of a server with hundreds of busy sessions only the last moments are kept as they are.
const (
	wholeMoments = 2
	slimSessions = 60
	slimWaits    = 120
	slimText     = 400 // bytes of a statement
)

// slim shortens the lists of a moment; what is left out is counted. Sessions that take part in a wait go last.
func slim(x *state.State) {
	if n := len(x.Waits) - slimWaits; n > 0 {
		x.Waits, x.Left.Waits = x.Waits[:slimWaits:slimWaits], x.Left.Waits+n
	}
	if n := len(x.Transactions) - slimSessions; n > 0 {
		x.Transactions, x.Left.Transactions = x.Transactions[:slimSessions:slimSessions], x.Left.Transactions+n
	}
	involved := map[uint64]bool{}
	for _, w := range x.Waits {
		involved[w.Waiter] = true
		if b, ok := w.Blocker.Get(); ok {
			involved[b] = true
		}
	}
	room := slimSessions - len(involved)
	kept := x.Sessions[:0:0]
	for _, s := range x.Sessions {
		if !involved[s.ID] {
			if room <= 0 {
				continue
			}
			room--
		}
		s.SQL, s.Last = state.Clip(s.SQL, slimText), state.Clip(s.Last, slimText)
		kept = append(kept, s)
	}
	x.Left.Sessions += len(x.Sessions) - len(kept)
	x.Sessions = kept
}

// withhold takes out of a moment what may hold values of users.
func withhold(x *state.State) {
	for i, s := range x.Sessions { // the list is the moment's own since Cap
		if s.SQL != "" {
			x.Sessions[i].SQL = sqltext.Fingerprint(s.SQL)
		}
		if s.Last != "" {
			x.Sessions[i].Last = sqltext.Fingerprint(s.Last)
		}
	}
	x.InnoDB = deadlockOnly(x.InnoDB)
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
