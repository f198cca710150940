package digestsource

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/internal/class"
	"dyno/internal/known"
	"dyno/internal/sqltext"
)

// The columns of events_statements_summary_by_digest that count; a server has those of its version.
const (
	cCount = iota
	cTime
	cLock
	cErrors
	cAffected
	cSent
	cExamined
	cTmpDisk
	cTmp
	cFullJoin
	cScan
	cSortRows
	cNoIndex
	cCPU
	cMax // not a sum: the longest since the row began
	cP95 // not a sum either
	columns
)

var columnNames = [columns]string{
	"COUNT_STAR", "SUM_TIMER_WAIT", "SUM_LOCK_TIME", "SUM_ERRORS", "SUM_ROWS_AFFECTED", "SUM_ROWS_SENT",
	"SUM_ROWS_EXAMINED", "SUM_CREATED_TMP_DISK_TABLES", "SUM_CREATED_TMP_TABLES", "SUM_SELECT_FULL_JOIN", "SUM_SELECT_SCAN",
	"SUM_SORT_ROWS", "SUM_NO_INDEX_USED", "SUM_CPU_TIME", "MAX_TIMER_WAIT", "QUANTILE_95",
}

// picosecond is the unit of performance_schema's timers.
const picosecond = 1e-12

// digests reads performance_schema.
type digests struct {
	ask    *asker
	have   [columns]bool
	sample bool // QUERY_SAMPLE_TEXT is there: MySQL 8.0
	cpu    bool // the consumer that fills SUM_CPU_TIME is on
	limit  int  // bytes of a digest that the server keeps
	before picture
}

type digestKey struct{ schema, digest string }

type digestRow struct {
	v           [columns]uint64
	first, last string
}

// picture is what the counters were at one moment.
type picture struct {
	rows map[digestKey]digestRow
	// Statements by kind, of events_statements_summary_global_by_event_name: digests leave some out.
	statements, statementTime uint64 // all
	executes, executeTime     uint64 // of prepared statements in the binary protocol
	events                    bool
}

// prepare asks which columns there are.
func (d *digests) prepare(ctx context.Context) error {
	d.have, d.sample = [columns]bool{}, false
	err := d.ask.query(ctx, "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='performance_schema' AND TABLE_NAME='events_statements_summary_by_digest'", func(row []driver.Value) {
		name := strings.ToUpper(text(row[0]))
		if i := slices.Index(columnNames[:], name); i >= 0 {
			d.have[i] = true
		}
		d.sample = d.sample || name == "QUERY_SAMPLE_TEXT"
	})
	if err != nil {
		return err
	}
	if !d.have[cCount] || !d.have[cTime] {
		return fmt.Errorf("read digests: the table has no columns COUNT_STAR and SUM_TIMER_WAIT that this account may read")
	}
	d.limit = 0
	err = d.ask.query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_digest_length','performance_schema_max_digest_length')", func(row []driver.Value) {
		if n := int(whole(row[1])); n > 0 && (d.limit == 0 || n < d.limit) {
			d.limit = n
		}
	})
	if err != nil {
		return err
	}
	if d.have[cCPU] {
		d.cpu = false
		// An error means that the account may not ask: CPU then stays unknown.
		_ = d.ask.query(ctx, "SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME='events_statements_cpu'", func(row []driver.Value) { d.cpu = text(row[0]) == "YES" })
	}
	return nil
}

// look reads all counters, without the texts.
func (d *digests) look(ctx context.Context) (picture, error) {
	var at []int
	cols := "SCHEMA_NAME, DIGEST, FIRST_SEEN, LAST_SEEN"
	for i, has := range d.have {
		if has {
			at = append(at, i)
			cols += ", " + columnNames[i]
		}
	}
	p := picture{rows: map[digestKey]digestRow{}}
	err := d.ask.query(ctx, "SELECT "+cols+" FROM performance_schema.events_statements_summary_by_digest", func(row []driver.Value) {
		r := digestRow{first: text(row[2]), last: text(row[3])}
		for i, c := range at {
			r.v[c] = whole(row[4+i])
		}
		p.rows[digestKey{text(row[0]), text(row[1])}] = r
	})
	if err != nil {
		return p, err
	}
	p.events = d.ask.query(ctx, "SELECT EVENT_NAME='statement/com/Execute', SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) FROM performance_schema.events_statements_summary_global_by_event_name"+
		" WHERE EVENT_NAME LIKE 'statement/sql/%' OR EVENT_NAME='statement/com/Execute' GROUP BY 1", func(row []driver.Value) {
		n, t := whole(row[1]), whole(row[2])
		p.statements, p.statementTime = p.statements+n, p.statementTime+t
		if whole(row[0]) == 1 {
			p.executes, p.executeTime = n, t
		}
	}) == nil
	return p, nil
}

// gathered is what the digests say about a window.
type gathered struct {
	classes []class.Class
	notes   []string
	fix     string
	// missed are executions of prepared statements that no digest holds.
	missed    uint64
	missedSec float64
}

// between returns the classes of statements that completed between two pictures. own tells the keys of those to leave out.
func (d *digests) between(ctx context.Context, a, b picture, own map[string]bool) (g gathered, err error) {
	reset := len(b.rows) < len(a.rows)
	delta := map[digestKey]digestRow{}
	var digestCount uint64
	for k, now := range b.rows {
		old, was := a.rows[k]
		if was && (now.first != old.first || now.v[cCount] < old.v[cCount] || now.v[cTime] < old.v[cTime]) { // the row began anew
			reset, was = true, false
		}
		if !was {
			old = digestRow{}
		}
		if now.v[cCount] == old.v[cCount] {
			continue
		}
		x := now
		for i := range cMax {
			x.v[i] = now.v[i] - min(old.v[i], now.v[i])
		}
		if was { // the longest of the window is known when it is a new record, the quantile not at all
			if now.v[cMax] <= old.v[cMax] {
				x.v[cMax] = 0
			}
			x.v[cP95] = 0
		}
		digestCount += x.v[cCount]
		if k.digest == "" {
			g.notes = append(g.notes, fmt.Sprintf("%d statements (%.3g s) found no room in the table of digests and are in no class", x.v[cCount], float64(x.v[cTime])*picosecond))
			g.fix = "a larger performance_schema_digests_size in the server's configuration, or TRUNCATE TABLE performance_schema.events_statements_summary_by_digest when no other tool needs its totals"
			continue
		}
		delta[k] = x
	}
	if reset {
		g.notes = append(g.notes, "the table of digests was emptied during the window, or the server restarted: what was counted before that is lost")
	}
	texts, err := d.texts(ctx, delta)
	if err != nil {
		return g, err
	}
	cut := 0
	var prepared uint64
	merged := map[[2]string]*class.Class{}
	parts := map[[2]string]int{}
	for k, x := range delta {
		t, ok := texts[k]
		if !ok { // pushed out since
			continue
		}
		statement, execute := cutExecute(t.digest)
		if execute {
			prepared += x.v[cCount]
		}
		fp := sqltext.FromDigestText(statement)
		id := sqltext.ID(fp)
		if own[key(fp)] || setup(fp) || sqltext.Own(t.sample) {
			continue
		}
		if d.mayBeCut(t.digest) {
			cut++
		}
		c := d.class(x)
		c.ID, c.Fingerprint, c.Schema = id, fp, k.schema
		if !execute {
			c.Example = t.sample
		}
		mk := [2]string{k.schema, id}
		parts[mk]++
		if m, ok := merged[mk]; ok {
			merge(m, c)
		} else {
			merged[mk] = &c
		}
	}
	for k, c := range merged {
		if parts[k] > 1 {
			c.P95Sec = known.None[float64]()
		}
		g.classes = append(g.classes, *c)
	}
	if cut > 0 {
		g.notes = append(g.notes, fmt.Sprintf("the texts of %d classes reach the server's limit and may be cut off: different statements then share a class, and what follows the cut is not seen", cut))
		if g.fix == "" {
			g.fix = "larger max_digest_length and performance_schema_max_digest_length in the server's configuration"
		}
	}
	if a.events && b.events && b.executes > a.executes {
		g.missed = b.executes - a.executes - min(prepared, b.executes-a.executes)
		// Other versions count them under the text of the statement: then nothing is missing from the total.
		if b.statements < a.statements || 2*(b.statements-a.statements) < 2*digestCount+g.missed {
			g.missed = 0
		}
		if g.missed > 0 {
			g.missedSec = float64(b.executeTime-min(a.executeTime, b.executeTime)) * picosecond
			g.notes = append(g.notes, fmt.Sprintf("this server's digests leave out prepared statements: %d executions (%.3g s) are not counted here, their classes are sampled from the processlist", g.missed, g.missedSec))
		}
	}
	return g, nil
}

// mayBeCut reports whether the server may have dropped the end of a digest. It keeps two bytes for each token, and a name's length
// and text on top, stops before the first token that finds no room, and leaves no sign of that in the text.
func (d *digests) mayBeCut(text string) bool {
	if d.limit == 0 {
		return false
	}
	const longestName = 64 // characters, and four bytes around it
	kept := 0
	for t := range strings.FieldsSeq(text) {
		kept += 2
		if t[0] == '`' {
			kept += len(t)
		}
	}
	return kept+longestName+4 > max(d.limit, 2*longestName) || strings.HasSuffix(strings.TrimRight(text, " "), "...")
}

type digestText struct{ digest, sample string }

// texts asks for the texts of the digests that grew, a few hundred at a time.
func (d *digests) texts(ctx context.Context, delta map[digestKey]digestRow) (map[digestKey]digestText, error) {
	ids := map[string]bool{}
	for k := range delta {
		ids[k.digest] = true
	}
	var list []string
	for id := range ids {
		if strings.Trim(id, "0123456789abcdefABCDEF") == "" {
			list = append(list, "'"+id+"'")
		}
	}
	slices.Sort(list)
	cols := "SCHEMA_NAME, DIGEST, DIGEST_TEXT"
	if d.sample {
		cols += ", QUERY_SAMPLE_TEXT"
	}
	out := map[digestKey]digestText{}
	for part := range slices.Chunk(list, 200) {
		err := d.ask.query(ctx, "SELECT "+cols+" FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IN ("+strings.Join(part, ",")+")", func(row []driver.Value) {
			t := digestText{digest: text(row[2])}
			if d.sample {
				t.sample = text(row[3])
			}
			out[digestKey{text(row[0]), text(row[1])}] = t
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cutExecute takes off the word that MySQL 9 puts before the text of a prepared statement, so that it meets the class of the same
// statement sent as text. EXECUTE name, which is a statement of its own, stays.
func cutExecute(t string) (string, bool) {
	rest, ok := strings.CutPrefix(t, "EXECUTE ")
	if !ok {
		return t, false
	}
	word, _, _ := strings.Cut(rest, " ")
	switch word {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "CALL", "(", "SET", "DO", "TABLE", "VALUES", "COMMIT", "BEGIN", "START", "ROLLBACK":
		return rest, true
	}
	return t, false
}

// class turns the growth of a row into figures.
func (d *digests) class(x digestRow) class.Class {
	n := func(i int) known.Value[uint64] {
		if !d.have[i] {
			return known.None[uint64]()
		}
		return known.Of(x.v[i])
	}
	sec := func(i int, ok bool) known.Value[float64] {
		if !d.have[i] || !ok {
			return known.None[float64]()
		}
		return known.Of(float64(x.v[i]) * picosecond)
	}
	return class.Class{
		Origin: class.PerformanceSchema, Count: x.v[cCount], TimeSec: float64(x.v[cTime]) * picosecond,
		MaxSec: sec(cMax, x.v[cMax] > 0), P95Sec: sec(cP95, x.v[cP95] > 0), LockSec: sec(cLock, true), CPUSec: sec(cCPU, d.cpu),
		Errors: n(cErrors), RowsSent: n(cSent), Examined: n(cExamined), Affected: n(cAffected), FullScans: n(cScan), FullJoins: n(cFullJoin),
		NoIndex: n(cNoIndex), SortRows: n(cSortRows), TmpTables: n(cTmp), TmpDisk: n(cTmpDisk),
		FirstSeen: moment(x.first), LastSeen: moment(x.last),
	}
}

// merge adds the figures of c to m, of the same fingerprint and source.
func merge(m *class.Class, c class.Class) {
	m.Count += c.Count
	m.TimeSec += c.TimeSec
	sum := func(a *known.Value[uint64], b known.Value[uint64]) {
		x, ok1 := a.Get()
		y, ok2 := b.Get()
		if *a = known.None[uint64](); ok1 && ok2 {
			*a = known.Of(x + y)
		}
	}
	for _, p := range []struct {
		a *known.Value[uint64]
		b known.Value[uint64]
	}{
		{&m.Errors, c.Errors},
		{&m.RowsSent, c.RowsSent},
		{&m.Examined, c.Examined},
		{&m.Affected, c.Affected},
		{&m.FullScans, c.FullScans},
		{&m.FullJoins, c.FullJoins},
		{&m.NoIndex, c.NoIndex},
		{&m.SortRows, c.SortRows},
		{&m.TmpTables, c.TmpTables},
		{&m.TmpDisk, c.TmpDisk},
	} {
		sum(p.a, p.b)
	}
	for _, p := range []struct {
		a *known.Value[float64]
		b known.Value[float64]
	}{{&m.LockSec, c.LockSec}, {&m.CPUSec, c.CPUSec}} {
		x, ok1 := p.a.Get()
		y, ok2 := p.b.Get()
		if *p.a = known.None[float64](); ok1 && ok2 {
			*p.a = known.Of(x + y)
		}
	}
	x, ok1 := m.MaxSec.Get()
	y, ok2 := c.MaxSec.Get()
	if m.MaxSec = known.None[float64](); ok1 && ok2 {
		m.MaxSec = known.Of(max(x, y))
	}
	if m.FirstSeen.IsZero() || !c.FirstSeen.IsZero() && c.FirstSeen.Before(m.FirstSeen) {
		m.FirstSeen = c.FirstSeen
	}
	if c.LastSeen.After(m.LastSeen) {
		m.LastSeen = c.LastSeen
	}
	if m.Example == "" {
		m.Example = c.Example
	}
}

// moment reads a time of the server's, which the session made UTC; the zero time when it is none.
func moment(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.999999", s)
	if err != nil {
		return time.Time{}
	}
	return t
}
