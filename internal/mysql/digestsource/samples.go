package digestsource

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/state"
)

// maxText bounds the part of a statement that is read, characters.
const maxText = 64 << 10

// maxClasses bounds what one window holds in memory.
const maxClasses = 5000

// mostRunning bounds the statements that one look sees running.
const mostRunning = 20_000

// mostTexts bounds what the texts of statements that run take, and those of the classes of a
// window, bytes.
const mostTexts = 64 << 20

// maxWords bounds the users and the hosts that are counted for a class.
const maxWords = 20

// samples looks at the processlist and sums up what it sees.
//
// The time of a class is the number of looks that saw it running × the time between looks, so a window of n looks sees
// a class with a share p of one connection's time with a relative error of about 1/√(n·p). Its executions are those
// that were seen: by QUERY_ID where the server shows it (MariaDB), else by connection, text and age, which takes
// several quick ones in a row for one. The rows examined are the most that each execution was seen with, where the
// server shows any. Both are lower bounds.
type samples struct {
	ask      *asker
	brief    string // without the texts, "" when one question gives all
	full     string
	queryID  bool
	examined bool

	classes map[[2]string]*sampled
	kept    int                   // bytes of their texts
	running map[uint64]*execution // by QUERY_ID, or by connection where there is none
	texts   int                   // bytes of theirs
	own     map[string]bool       // keys of statements that were seen in sessions of a Dyno that is not known
	redact  bool                  // classes are told by what reads the same in every sql_mode
	last    time.Time             // of the last look
	looks   int
	took    time.Duration
	dropped int
	err     error
}

type sampled struct {
	class.Class
	execute     bool    // some came as prepared statements
	examined    uint64  // of executions that ended
	executeSec  float64 // time of prepared executions
	executions  uint64  // prepared ones
	runningLast bool    // the last look saw it
	running     uint64  // executions that the last look saw; of end's answer only
	killed      uint64  // executions that were seen after KILL had hit them and before they ended

	users, hosts map[string]uint64 // executions
	worst        execution         // the one that was seen with the highest age
}

type execution struct {
	c          *sampled // nil for Dyno's own
	id         uint64   // connection
	text       string
	user, host string
	at         time.Time // when it was seen last
	age        float64   // seconds
	examined   uint64
	seen       int // number of the look
	killed     bool
}

func newSamples(a *asker, redact bool) *samples {
	return &samples{ask: a, own: map[string]bool{}, redact: redact}
}

// prepare decides what to read; like every source it selects the columns that exist.
func (s *samples) prepare(ctx context.Context, pfs bool) error {
	cols := map[string]bool{}
	table := false
	err := s.ask.query(ctx, "SELECT TABLE_SCHEMA, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA IN "+
		"('information_schema','performance_schema') AND TABLE_NAME IN ('PROCESSLIST','processlist')",
		func(row []driver.Value) {
			if strings.EqualFold(text(row[0]), "performance_schema") {
				table = true
			} else {
				cols[strings.ToUpper(text(row[1]))] = true
			}
		})
	if err != nil {
		return err
	}
	const where = " WHERE COMMAND IN ('Query','Execute','Killed') AND ID<>CONNECTION_ID() AND INFO IS NOT NULL"
	if table && pfs { // without a lock that connects wait for; empty when performance_schema is off
		s.full = "SELECT ID, COMMAND, TIME, 0, 0, `USER`, HOST, DB, LEFT(INFO," + itoa(maxText) +
			") FROM performance_schema.processlist" + where
		s.brief, s.queryID, s.examined = "", false, false
		return nil
	}
	age, examined, query := "TIME", "0", "0"
	if cols["TIME_MS"] {
		age = "TIME_MS/1000"
	}
	for _, c := range []string{"EXAMINED_ROWS", "ROWS_EXAMINED"} {
		if cols[c] {
			examined, s.examined = c, true
		}
	}
	if cols["QUERY_ID"] {
		query, s.queryID = "QUERY_ID", true
	}
	list := "ID, COMMAND, " + age + ", " + examined + ", " + query
	from := " FROM information_schema.PROCESSLIST"
	// Unquoted, USER stands in a digest as SYSTEM_USER.
	s.full = "SELECT " + list + ", `USER`, HOST, DB, LEFT(INFO," + itoa(maxText) + ")" + from + where
	if s.queryID {
		// Texts make the server put the answer in a temporary table on disk: they are asked for when there are new ones
		// only.
		s.brief = "SELECT " + list + from + " WHERE COMMAND IN ('Query','Execute','Killed') AND ID<>CONNECTION_ID()"
	}
	return nil
}

func (s *samples) begin(now time.Time) {
	s.classes, s.running = map[[2]string]*sampled{}, map[uint64]*execution{}
	s.kept, s.texts = 0, 0
	s.last, s.looks, s.took, s.dropped, s.err = now, 0, 0, 0, nil
}

// look reads the processlist once. Each statement seen is taken to have run since the look before.
func (s *samples) look(ctx context.Context) error {
	began := time.Now()
	weight := began.Sub(s.last).Seconds()
	var list []seen
	if s.brief != "" {
		unheard := false
		err := s.ask.query(ctx, s.brief, func(row []driver.Value) {
			x := brief(row)
			if len(list) < mostRunning {
				list = append(list, x)
			}
			if _, ok := s.running[x.query]; !ok {
				unheard = true
			}
		})
		if err != nil {
			return err
		}
		if !unheard {
			for _, x := range list {
				s.count(s.running[x.query], x.age, x.examined, x.execute, x.killed, weight)
			}
			s.done(began)
			return nil
		}
	}
	err := s.ask.query(ctx, s.full, func(row []driver.Value) { s.row(row, weight) })
	if err != nil {
		return err
	}
	s.done(began)
	return nil
}

// seen is what a look tells of a statement without its text.
type seen struct {
	conn, query, examined uint64
	execute, killed       bool
	age                   float64
}

func brief(row []driver.Value) seen {
	return seen{
		conn: whole(row[0]), execute: text(row[1]) == "Execute", killed: text(row[1]) == "Killed",
		age: decimal(row[2]), examined: whole(row[3]), query: whole(row[4]),
	}
}

// row takes a statement that a look sees.
func (s *samples) row(row []driver.Value, weight float64) {
	x, user, host, schema, sql := brief(row), text(row[5]), text(row[6]), text(row[7]), text(row[8])
	if max(len(user), len(host), len(schema)) > longestName { // no server's
		s.dropped++
		return
	}
	if len(sql) > utf8.UTFMax*maxText { // more than was asked for
		sql = clipped(sql, utf8.UTFMax*maxText)
	}
	k := x.conn
	if s.queryID {
		k = x.query
	}
	e := s.running[k]
	if e == nil || !s.queryID && !goesOn(e, sql, x.age, s.looks) {
		if e == nil && len(s.running) >= mostRunning || s.texts+len(sql) > mostTexts {
			s.dropped++
			return
		}
		e = &execution{id: x.conn, text: sql, user: user, host: host}
		if i := strings.LastIndexByte(e.host, ':'); i > 0 {
			e.host = e.host[:i]
		}
		if e.c = s.class(e, schema, x.execute); e.c != nil {
			e.c.Count++
			tally(&e.c.users, e.user)
			tally(&e.c.hosts, e.host)
			if x.execute {
				e.c.executions++
			}
		}
		s.forget(k)
		s.running[k] = e
		s.texts += len(e.text)
	}
	s.count(e, x.age, x.examined, x.execute, x.killed, weight)
}

// goesOn reports whether what a connection runs now is still what the look before saw.
func goesOn(e *execution, text string, age float64, looks int) bool {
	return e.seen == looks && e.text == text && age >= e.age
}

func (s *samples) count(e *execution, age float64, examined uint64, execute, killed bool, weight float64) {
	e.at = time.Now()
	e.seen, e.age, e.examined = s.looks+1, max(e.age, age), max(e.examined, examined)
	if e.c == nil {
		return
	}
	e.c.TimeSec += weight
	if execute {
		e.c.executeSec += weight
	}
	if age > e.c.MaxSec.Or(0) {
		e.c.MaxSec = known.Of(age)
	}
	e.c.LastSeen = e.at
	if killed && !e.killed {
		e.killed = true
		e.c.killed++
	}
	if more := len(e.text) - len(e.c.worst.text); e.age >= e.c.worst.age && s.kept+max(more, 0) <= mostTexts {
		s.kept += more
		e.c.worst = *e
	}
}

// tally counts a word, of at most maxWords.
func tally(m *map[string]uint64, w string) {
	if w == "" {
		return
	}
	if *m == nil {
		*m = map[string]uint64{}
	}
	if _, ok := (*m)[w]; ok || len(*m) < maxWords {
		(*m)[w]++
	}
}

// done ends a look: what it did not see has ended.
func (s *samples) done(began time.Time) {
	s.looks++
	for k, e := range s.running {
		if e.c != nil {
			e.c.runningLast = false
		}
		if e.seen != s.looks {
			s.forget(k)
		}
	}
	for _, e := range s.running {
		if e.c != nil {
			e.c.runningLast = true
		}
	}
	s.last = began
	s.took += time.Since(began)
}

func (s *samples) forget(k uint64) {
	if e := s.running[k]; e != nil {
		if e.c != nil {
			e.c.examined += e.examined
			e.c.runningLast = false
		}
		s.texts -= len(e.text)
		delete(s.running, k)
	}
}

// Bounds of what is kept: statements of Dyno's own that others' are told from, and bytes of a fingerprint.
const (
	mostOwn      = 5000
	longestPrint = 16 << 10
)

// clipped is state.Clip that does not hold on to the rest.
func clipped(s string, n int) string {
	c := state.Clip(s, n)
	if len(s) > n {
		c = strings.Clone(c)
	}
	return c
}

// class finds the class of a statement; nil for Dyno's own and when there is no room for another one.
func (s *samples) class(e *execution, schema string, execute bool) *sampled {
	sql := e.text
	fp := mytext.Fingerprint(sql)
	if s.redact {
		fp = mytext.Fingerprint(mytext.Certain(sql))
	}
	id := class.ID(fp)
	if sqltext.Own(sql) && s.ask.Owns(e.id, e.user, e.host) {
		// How often a known session sends it is known. Of the others it is a server's word that they are Dyno's.
		if !s.ask.Asks(e.id) && len(s.own) < mostOwn && len(fp) <= longestPrint {
			s.own[class.Key(fp)] = true
		}
		return nil
	}
	room := s.kept < mostTexts
	if !room { // a class that there is counts it all the same
		e.user, e.host = "", ""
	}
	k := [2]string{schema, id}
	c := s.classes[k]
	if c == nil {
		if len(s.classes) >= maxClasses || !room {
			s.dropped++
			return nil
		}
		fp = clipped(fp, longestPrint)
		s.kept += len(fp) + len(schema)
		c = &sampled{Class: class.Class{
			ID: id, Fingerprint: fp, Schema: schema, Origin: class.Processlist,
			Sampled: true, FirstSeen: time.Now(),
		}}
		s.classes[k] = c
	}
	c.execute = c.execute || execute
	if room && c.Example == "" && !(execute && strings.Contains(sql, "?")) { // parameters not filled in: no example
		c.Example = clipped(mytext.WithoutSecrets(sql), maxText)
		s.kept += len(c.Example)
	}
	names := len(c.Users) + len(c.Hosts)
	if c.Users, c.Hosts = include(c.Users, e.user), include(c.Hosts, e.host); len(c.Users)+len(c.Hosts) > names {
		s.kept += len(e.user) + len(e.host)
	}
	return c
}

// include adds a word to a short sorted list.
func include(list []string, w string) []string {
	i, found := slices.BinarySearch(list, w)
	if found || w == "" || len(list) >= maxWords {
		return list
	}
	return slices.Insert(list, i, w)
}

// end returns what was seen, and which of it was still running at the last look.
func (s *samples) end() (list []*sampled) {
	live, running := map[*sampled]uint64{}, map[*sampled]uint64{}
	for _, e := range s.running {
		if e.c != nil {
			live[e.c] += e.examined
			running[e.c]++
		}
	}
	for _, c := range s.classes {
		x := *c
		x.running = running[c]
		// Many kinds of statement show the rows only when they end: nothing seen is nothing known.
		if n := c.examined + live[c]; s.examined && n > 0 {
			x.Examined = known.Of(n)
		}
		list = append(list, &x)
	}
	return list
}

// sees reports whether the account sees statements of others, and if not what would mend it.
func sees(t *target.Target) (reason string, ok bool) {
	if a := t.Answer(target.HasInnodbMetrics); !a.Has && a.Fix != "" {
		// it needs the same privilege and says so when that is missing
		return "without PROCESS the server shows an account its own connections only", false
	}
	return "", true
}
