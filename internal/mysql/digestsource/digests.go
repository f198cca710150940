package digestsource

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// The columns of events_statements_summary_by_digest that Dyno reads; a server has those of its version.
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
	cWarnings
	cFullRangeJoin
	cRange
	cRangeCheck
	cSortMerge
	cSortRange
	cSortScan
	cNoGoodIndex
	cMax // not a sum, nor are those below: the longest since the row began
	cMin
	cP95
	cSampleTime
	columns
)

// digestColumns are their names; a report wants all of them, judgement those without detail.
var digestColumns = [columns]struct {
	name   string
	detail bool
}{
	cCount:         {"COUNT_STAR", false},
	cTime:          {"SUM_TIMER_WAIT", false},
	cLock:          {"SUM_LOCK_TIME", false},
	cErrors:        {"SUM_ERRORS", false},
	cAffected:      {"SUM_ROWS_AFFECTED", false},
	cSent:          {"SUM_ROWS_SENT", false},
	cExamined:      {"SUM_ROWS_EXAMINED", false},
	cTmpDisk:       {"SUM_CREATED_TMP_DISK_TABLES", false},
	cTmp:           {"SUM_CREATED_TMP_TABLES", false},
	cFullJoin:      {"SUM_SELECT_FULL_JOIN", false},
	cScan:          {"SUM_SELECT_SCAN", false},
	cSortRows:      {"SUM_SORT_ROWS", false},
	cNoIndex:       {"SUM_NO_INDEX_USED", false},
	cCPU:           {"SUM_CPU_TIME", false},
	cWarnings:      {"SUM_WARNINGS", true},
	cFullRangeJoin: {"SUM_SELECT_FULL_RANGE_JOIN", true},
	cRange:         {"SUM_SELECT_RANGE", true},
	cRangeCheck:    {"SUM_SELECT_RANGE_CHECK", true},
	cSortMerge:     {"SUM_SORT_MERGE_PASSES", true},
	cSortRange:     {"SUM_SORT_RANGE", true},
	cSortScan:      {"SUM_SORT_SCAN", true},
	cNoGoodIndex:   {"SUM_NO_GOOD_INDEX_USED", true},
	cMax:           {"MAX_TIMER_WAIT", false},
	cMin:           {"MIN_TIMER_WAIT", true},
	cP95:           {"QUANTILE_95", false},
	cSampleTime:    {"QUERY_SAMPLE_TIMER_WAIT", true},
}

const digestTable = "performance_schema.events_statements_summary_by_digest"

// picosecond is the unit of performance_schema's timers.
const picosecond = 1e-12

// digests reads performance_schema.
type digests struct {
	ask    *asker
	detail bool // all that a report needs
	have   [columns]bool
	sample bool // QUERY_SAMPLE_TEXT is there: MySQL 8.0
	cpu    bool // the consumer that fills SUM_CPU_TIME is on
	limit  int  // bytes of a digest that the server keeps
	before picture
}

type digestKey struct{ schema, digest string }

type digestRow struct {
	v            [columns]uint64
	first, last  string
	text         string // with a picture that was taken for it only, as are those below
	sample, seen string // a statement as it was sent, and when it ended
}

// mostDigests bounds the rows of statement digests that are read at a time, of which several pictures are held: servers
// keep 10 000 unless performance_schema_digests_size says otherwise.
const mostDigests = 200_000

// longestTime bounds a row's times as the server writes them, bytes; longestName bounds names,
// which have 64 characters, those of users 128 and of hosts 255 bytes with a port.
const (
	longestTime = 32
	longestName = 512
)

// mostPictureBytes bounds what the names and times of a picture take that grows from window to
// window.
const mostPictureBytes = 64 << 20

// picture is what the counters were at one moment.
type picture struct {
	rows  map[digestKey]digestRow
	bytes int // of the names and times of rows
	// part tells that rows without news were left out.
	part bool
	at   moments
	// Statements by kind, of events_statements_summary_global_by_event_name: digests leave some out.
	statements, statementTime uint64 // all
	executes, executeTime     uint64 // of prepared statements in the binary protocol
	events                    bool
}

// put adds a row or takes its new figures.
func (p *picture) put(k digestKey, r digestRow) {
	if old, ok := p.rows[k]; ok {
		p.bytes -= len(k.schema) + len(k.digest) + len(old.first) + len(old.last)
	}
	p.bytes += len(k.schema) + len(k.digest) + len(r.first) + len(r.last)
	p.rows[k] = r
}

// grow adds what came later, unless that is more than a server can have: then p is to be read anew.
func (p *picture) grow(later picture) bool {
	if len(p.rows)+len(later.rows) > 2*mostDigests || p.bytes+later.bytes > mostPictureBytes {
		return false
	}
	for k, row := range later.rows {
		row.text, row.sample, row.seen = "", "", ""
		p.put(k, row)
	}
	later.rows, later.bytes, later.part = p.rows, p.bytes, false
	*p = later
	return true
}

// moments is the time of a picture, by the server's clock and by ours, with counters that tell whether the server lost
// its totals since.
type moments struct {
	server time.Time // zero when it did not say
	here   time.Time
	counts map[string]uint64 // of SHOW GLOBAL STATUS; nil when they could not be read
}

// The counters of moments.
const (
	uptime     = "uptime"
	truncates  = "com_truncate"
	kills      = "com_kill"
	timeouts   = "max_execution_time_exceeded" // MySQL
	timeoutsMD = "max_statement_time_exceeded" // MariaDB
)

// prepare asks which columns there are. MariaDB before 10.3 shows 0 rows examined, whatever was examined.
func (d *digests) prepare(ctx context.Context, f target.Facts) error {
	d.have, d.sample = [columns]bool{}, false
	seen := false
	err := d.ask.query(ctx, "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE "+
		"TABLE_SCHEMA='performance_schema' AND TABLE_NAME='events_statements_summary_by_digest'",
		func(row []driver.Value) {
			name := strings.ToUpper(text(row[0]))
			for i, c := range digestColumns {
				if c.name == name {
					d.have[i] = d.detail || !c.detail
				}
			}
			d.sample = d.sample || name == "QUERY_SAMPLE_TEXT"
			seen = seen || name == "QUERY_SAMPLE_SEEN"
		})
	if err != nil {
		return err
	}
	d.sample = d.sample && seen
	d.have[cExamined] = d.have[cExamined] && (!f.Flavor.IsMariaDB() || f.Version.AtLeast(10, 3, 0))
	if !d.have[cCount] || !d.have[cTime] {
		return fmt.Errorf("read digests: the table has no columns COUNT_STAR and SUM_TIMER_WAIT that this account " +
			"may read")
	}
	d.limit = 0
	err = d.ask.query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN "+
		"('max_digest_length','performance_schema_max_digest_length')", func(row []driver.Value) {
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
		_ = d.ask.query(ctx,
			"SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME='events_statements_cpu'",
			func(row []driver.Value) { d.cpu = text(row[0]) == "YES" })
	}
	return nil
}

// now asks for the server's time and the counters that tell what happened to its totals. What it does not answer stays
// unknown.
func (d *digests) now(ctx context.Context) moments {
	m := moments{here: time.Now()}
	err := d.ask.query(ctx, "SELECT UTC_TIMESTAMP(6)", func(row []driver.Value) { m.server = moment(text(row[0])) })
	if err != nil {
		return m
	}
	counts := map[string]uint64{}
	err = d.ask.query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN "+
		"('Uptime','Com_truncate','Com_kill','Max_execution_time_exceeded','Max_statement_time_exceeded')",
		func(row []driver.Value) {
			switch name := strings.ToLower(text(row[0])); name {
			case uptime, truncates, kills, timeouts, timeoutsMD:
				counts[name] = whole(row[1])
			}
		})
	if err == nil {
		m.counts = counts
	}
	return m
}

// grown returns how much a counter grew between two moments.
func grown(a, b moments, name string) (n uint64, ok bool) {
	x, had := a.counts[name]
	y, has := b.counts[name]
	if !had || !has || y < x {
		return 0, false
	}
	return y - x, true
}

// margin is how long before a window the last statement of a row may have ended for the row to be left out of the
// window's end: the server writes LAST_SEEN, in whole seconds on some, before it counts.
const margin = 3 * time.Second

// since returns the time before which rows have nothing new at b, as the server writes it; "" when that is not sure:
// the server started anew, something was emptied, or the clock was set.
func since(a, b moments) string {
	if a.server.IsZero() || b.server.IsZero() {
		return ""
	}
	if n, ok := grown(a, b, truncates); !ok || n > 0 {
		return ""
	}
	if _, ok := grown(a, b, uptime); !ok {
		return ""
	}
	if apart := b.server.Sub(a.server) - b.here.Sub(a.here); apart.Abs() > margin/2 {
		return ""
	}
	return a.server.Add(-margin).Format(time.DateTime)
}

// look reads the counters. With since it leaves out the rows whose last statement ended before and reads the texts of
// the others.
func (d *digests) look(ctx context.Context, at moments, texts bool, since string) (picture, error) {
	var list []int
	cols := "SCHEMA_NAME, DIGEST, FIRST_SEEN, LAST_SEEN"
	if texts {
		cols += ", DIGEST_TEXT"
		if d.sample {
			cols += ", QUERY_SAMPLE_TEXT, QUERY_SAMPLE_SEEN"
		}
	}
	for i, has := range d.have {
		if has && (texts || i != cP95 && i != cSampleTime) { // those are of a window when it ends
			list = append(list, i)
			cols += ", " + digestColumns[i].name
		}
	}
	q := "SELECT " + cols + " FROM " + digestTable
	if since != "" {
		q += " WHERE LAST_SEEN >= '" + since + "'"
	}
	p := picture{rows: map[digestKey]digestRow{}, part: since != "", at: at}
	rows := 0
	err := d.ask.query(ctx, q, func(row []driver.Value) {
		if rows++; rows > mostDigests {
			return
		}
		if key, r, ok := d.row(row, list, texts); ok {
			p.put(key, r)
		}
	})
	if err == nil && rows > mostDigests {
		err = fmt.Errorf("the server keeps %d statement digests; more than %d are not read", rows, mostDigests)
	}
	if err != nil {
		return p, err
	}
	p.events = d.ask.query(ctx, "SELECT EVENT_NAME='statement/com/Execute', SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) "+
		"FROM performance_schema.events_statements_summary_global_by_event_name"+
		" WHERE EVENT_NAME LIKE 'statement/sql/%' OR EVENT_NAME='statement/com/Execute' GROUP BY 1",
		func(row []driver.Value) {
			n, t := whole(row[1]), whole(row[2])
			p.statements, p.statementTime = p.statements+n, p.statementTime+t
			if whole(row[0]) == 1 {
				p.executes, p.executeTime = n, t
			}
		}) == nil
	return p, nil
}

// row reads a row, the last columns of which are those of list; not ok: no server has such names
// and times, which are kept.
func (d *digests) row(row []driver.Value, list []int, texts bool) (k digestKey, r digestRow, ok bool) {
	k, r = digestKey{text(row[0]), text(row[1])}, digestRow{first: text(row[2]), last: text(row[3])}
	if len(k.schema) > longestName || len(k.digest) > 128 || max(len(r.first), len(r.last)) > longestTime {
		return k, r, false
	}
	if texts {
		r.text = text(row[4])
		if d.sample {
			if r.sample, r.seen = text(row[5]), text(row[6]); len(r.sample) > maxText {
				r.sample = "" // longer than any that is read elsewhere
			}
		}
	}
	for i, c := range list {
		r.v[c] = whole(row[len(row)-len(list)+i])
	}
	return k, r, true
}

// growth is what one digest counted within a window.
type growth struct {
	digestKey
	row             digestRow // the sums are the growth; cMax, cMin, cP95 and cSampleTime are as the server has them
	fresh           bool      // the row began within the window: cMax, cMin and cP95 are the window's own
	longer, shorter bool      // cMax, cMin are of this window
	fingerprint, id string
	spelled         bool // as the statement was written
	execute         bool // came as a prepared statement
	cut             bool // the text may be cut off
	mixed           bool // Dyno sent it too: only the sums are without that
}

// gathered is what the digests say about a window.
type gathered struct {
	kills uint64 // that Dyno itself sent, for questions it gave up
	rows  []growth
	notes []string
	fix   string
	own   uint64 // statements of Dyno itself, left out
	// missed are executions of prepared statements that no digest holds.
	missed    uint64
	missedSec float64
	from, to  moments
	reset     bool          // the table was emptied within the window
	lost      time.Duration // how much of the window was over by then: nothing of it is in rows
}

// between returns what completed between two pictures, but for Dyno's own statements.
func (d *digests) between(a, b picture, own *own) (g gathered) {
	g.from, g.to = a.at, b.at
	reset := !b.part && len(b.rows) < len(a.rows)
	cut := 0
	var digestCount, prepared, nameless uint64
	namelessSec := 0.0
	for k, now := range b.rows {
		old, was := a.rows[k]
		if was && (now.first != old.first || now.v[cCount] < old.v[cCount] || now.v[cTime] < old.v[cTime]) {
			// the row began anew
			reset, was = true, false
		}
		if !was {
			old = digestRow{}
		}
		if now.v[cCount] == old.v[cCount] {
			continue
		}
		x := growth{digestKey: k, row: now, fresh: !was, longer: !was || now.v[cMax] > old.v[cMax], shorter: !was ||
			now.v[cMin] < old.v[cMin]}
		for i := range cMax {
			x.row.v[i] = now.v[i] - min(old.v[i], now.v[i])
		}
		digestCount += x.row.v[cCount]
		if k.digest == "" {
			nameless += x.row.v[cCount]
			namelessSec += float64(x.row.v[cTime]) * picosecond
			g.fix = "a larger performance_schema_digests_size in the server's configuration, or TRUNCATE TABLE " +
				"performance_schema.events_statements_summary_by_digest when no other tool needs its totals"
			continue
		}
		statement, execute := cutExecute(now.text)
		if execute {
			prepared += x.row.v[cCount]
		}
		x.execute = execute
		if x.fingerprint = command(now.text); x.fingerprint != "" {
			x.execute = true // so that the statement is not shown for it
		} else {
			x.fingerprint = mytext.FromDigestText(statement)
		}
		x.cut = d.mayBeCut(now.text)
		if g.own += own.take(&x); x.row.v[cCount] == 0 {
			continue
		}
		x.id = class.ID(x.fingerprint)
		if x.cut {
			cut++
		}
		g.rows = append(g.rows, x)
	}
	if nameless > 0 {
		g.notes = append(g.notes, fmt.Sprintf("%d statements (%.3g s) did not fit into the table of digests and are "+
			"in no class", nameless, namelessSec))
	}
	if own.n > 0 {
		g.notes = append(g.notes, fmt.Sprintf("%d executions (%.3g s) came from sessions of another dyno of the same "+
			"account, and are in no class", own.n, own.sec))
	}
	if _, ok := grown(a.at, b.at, uptime); !ok && a.at.counts != nil && b.at.counts != nil {
		reset = true
	}
	if g.reset = reset; reset {
		g.lost = lost(a, b)
		g.notes = append(g.notes, "the table of digests was emptied during the window, or the server restarted: what "+
			"was counted before that is lost")
	}
	if cut > 0 {
		g.notes = append(g.notes, fmt.Sprintf("the texts of %d classes reach the server's limit and may be cut off: "+
			"different statements then share a class, and the rest of the text is unknown", cut))
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
			g.notes = append(g.notes, fmt.Sprintf("this server's digests leave out prepared statements: %d "+
				"executions (%.3g s) are not counted here, their classes are sampled from the processlist",
				g.missed, g.missedSec))
		}
	}
	return g
}

// lost returns how much of the time between two pictures was over when the table was emptied: b tells of the rest. It
// is all of it where that cannot be told.
func lost(a, b picture) time.Duration {
	all := b.at.here.Sub(a.at.here)
	kept := time.Duration(0)
	if up, ok := b.at.counts[uptime]; ok && time.Duration(up)*time.Second < all {
		kept = time.Duration(up) * time.Second
	} else if !b.at.server.IsZero() {
		for _, row := range b.rows {
			if first := moment(row.first); !first.IsZero() {
				kept = max(kept, b.at.server.Sub(first))
			}
		}
	}
	return min(max(all-kept, 0), all)
}

// classes sums rows up by schema and fingerprint.
func (d *digests) classes(rows []growth) (list []class.Class) {
	merged := map[[2]string]*class.Class{}
	parts := map[[2]string]int{}
	for _, x := range rows {
		c := d.class(x)
		k := [2]string{c.Schema, c.ID}
		parts[k]++
		if m, ok := merged[k]; ok {
			m.Add(c)
		} else {
			merged[k] = &c
		}
	}
	for k, c := range merged {
		if parts[k] > 1 {
			c.P95Sec = known.None[float64]()
		}
		list = append(list, *c)
	}
	return list
}

// mayBeCut reports whether the server may have dropped the end of a digest. It keeps two bytes for each token, and a
// name's length and text on top, stops before the first token that finds no room, and leaves no sign of that in the
// text.
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

// cutExecute takes off the word that MySQL 9 puts before the text of a prepared statement, so that it meets the class
// of the same statement sent as text. EXECUTE name, which is a statement of its own, stays.
func cutExecute(t string) (string, bool) {
	rest, ok := strings.CutPrefix(t, "EXECUTE ")
	if !ok || !begins(rest) {
		return t, false
	}
	return rest, true
}

// command returns the class of what MySQL 9 counts as PREPARE and DEALLOCATE with the text of the statement: to the
// slow log these are commands. It is "" for anything else.
func command(t string) string {
	for word, class := range map[string]string{
		"PREPARE ":    "administrator command: Prepare",
		"DEALLOCATE ": "administrator command: Close stmt",
	} {
		if rest, ok := strings.CutPrefix(t, word); ok && begins(rest) {
			return class
		}
	}
	return ""
}

// begins reports whether a digest text begins a statement that can be prepared, and not with the name of one.
func begins(t string) bool {
	word, _, _ := strings.Cut(t, " ")
	switch word {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "CALL", "(", "SET", "DO", "TABLE", "VALUES",
		"COMMIT", "BEGIN", "START", "ROLLBACK", "SHOW",
		"CREATE", "ALTER", "DROP", "TRUNCATE", "ANALYZE", "OPTIMIZE", "EXPLAIN":
		return true
	}
	return false
}

// class turns the growth of a row into figures.
func (d *digests) class(x growth) class.Class {
	v := &x.row.v
	n := func(i int) known.Value[uint64] {
		if !d.have[i] {
			return known.None[uint64]()
		}
		return known.Of(v[i])
	}
	sec := func(i int, ok bool) known.Value[float64] {
		if !d.have[i] || !ok {
			return known.None[float64]()
		}
		return known.Of(float64(v[i]) * picosecond)
	}
	c := class.Class{
		ID: x.id, Fingerprint: x.fingerprint, Digest: x.digest, Guessed: !x.spelled, Schema: x.schema,
		Origin: class.PerformanceSchema, Count: v[cCount], TimeSec: float64(v[cTime]) * picosecond,
		MaxSec: sec(cMax, x.longer), P95Sec: sec(cP95, x.fresh), LockSec: sec(cLock, true), CPUSec: sec(cCPU, d.cpu),
		Errors: n(cErrors), RowsSent: n(cSent), Examined: n(cExamined), Affected: n(cAffected), FullScans: n(cScan),
		FullJoins: n(cFullJoin),
		NoIndex:   n(cNoIndex), SortRows: n(cSortRows), TmpTables: n(cTmp), TmpDisk: n(cTmpDisk),
		FirstSeen: moment(x.row.first), LastSeen: moment(x.row.last),
	}
	if !x.execute {
		c.Example = mytext.WithoutSecrets(x.row.sample)
	}
	return c
}

// moment reads a time of the server's, which the session made UTC; the zero time when it is none.
func moment(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.999999", s)
	if err != nil {
		return time.Time{}
	}
	return t
}
