package sources

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/state"
)

// processlist reads who is connected and with what, its own left out, in one statement:
//
//	mysql_info_schema_processlist_threads{command,state}   connections now
//	mysql_info_schema_processlist_longest_seconds age of the oldest statement that runs for a client, 0 for none
//
// Without PROCESS a server shows an account its own connections only, which would look like an idle server: that is
// reported as denied. performance_schema.threads is read where its statements can be joined by an index (MySQL 8.0.22),
// for information_schema.processlist holds a lock that connects wait for and is deprecated there.
//
// Texts of statements are cut by the server, so that ten megabytes of one never travel; a statement that may have been
// cut has no class. One that names a password or a key is shown without its literals.
type processlist struct {
	q     owner
	acc   account
	seen  *moment
	read  string // all
	few   string // those that sleep outside of a transaction left out
	count string // these counted
	limit int    // bytes, or characters, that a text is cut at
	gen   int
	wide  bool // there were too many that sleep
	cells map[[2]string]*cell
	mine  map[uint64]bool // connections that were seen with a statement of Dyno's
	total int
	inner int // of these the server's own threads
	left  int // of these neither kept nor idle
	ddl   ddlWatch
	ids   map[string]string // class by statement, of the last round
}

// owner is a querier that knows Dyno's own sessions.
type owner interface {
	querier
	Owns(id uint64, user, host string) bool
	Asks(id uint64) bool
}

type cell struct {
	labels metric.Labels
	count  float64
}

// mostSessions bounds the sessions that are kept of one reading; the others are counted. Not more than half of those
// that are kept sleep.
const mostSessions = 5000

// manySleep is from how many sleeping connections on they are counted instead of read.
const manySleep = 500

func newProcesslist(q owner, acc account, seen *moment) *processlist {
	return &processlist{q: q, acc: acc, seen: seen, cells: map[[2]string]*cell{}}
}

func (s *processlist) Name() source.Name { return source.Processlist }

func (s *processlist) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	err := s.scrape(ctx, at, emit)
	s.seen.denied = nil
	if p := (*scrape.Problem)(nil); errors.As(err, &p) && p.State == source.Denied {
		s.seen.denied = err
	}
	return err
}

func (s *processlist) scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	const privilege = "PROCESS ON *.*"
	if s.read == "" || s.gen != s.q.Generation() {
		if err := s.learn(ctx); err != nil {
			s.read = ""
			return classify(s.acc, err, privilege)
		}
		s.gen, s.mine = s.q.Generation(), nil
	}
	asleep := 0
	stmt := s.read
	if s.wide {
		stmt = s.few
		if _, err := s.q.Query(ctx, s.count, func(row []driver.Value) {
			n, _ := number(row[0])
			asleep = int(n)
		}); err != nil {
			return classify(s.acc, err, privilege)
		}
	}
	for _, c := range s.cells {
		c.count = 0
	}
	list := make([]state.Session, 0, len(s.seen.sessions)+16)
	mine, ids := map[uint64]bool{}, map[string]string{}
	longest, shown, left, dozing, inner := 0.0, 0, 0, 0, 0 // dozing are left out
	if _, err := s.q.Query(ctx, stmt, func(row []driver.Value) {
		if len(row) != 12 {
			return
		}
		command, phase := clean(row[4]), clean(row[5])
		s.add(strings.ToLower(strings.ReplaceAll(command, " ", "_")), stateClass(phase), 1)
		if command == "Sleep" {
			shown++
		}
		if background(clean(row[1]), clean(row[2]), command) {
			inner++
		}
		if len(list) >= mostSessions || command == "Sleep" && shown > mostSessions/2 {
			if command == "Sleep" && !s.wide {
				dozing++
				return
			}
			left++
			if clientCommand(command) {
				longest = max(longest, age(row[6]))
			}
			return
		}
		x := s.session(row, ids)
		if x.SQL == "" && s.q.Asks(x.ID) || (sqltext.Own(x.SQL) || s.mine[x.ID] && x.Command == "Sleep") &&
			s.q.Owns(x.ID, x.User, x.Host) {
			mine[x.ID] = true
			return
		}
		if clientCommand(x.Command) {
			longest = max(longest, x.Seconds)
		}
		list = append(list, x)
	}); err != nil {
		return classify(s.acc, err, privilege)
	}
	// Those counted and those read are not of one instant, so the sum is as good as the two of them.
	rest := max(0, asleep-shown)
	if s.wide && rest > 0 {
		s.add("sleep", stateClass(""), float64(rest))
	}
	s.wide = shown+rest > manySleep
	s.mine, s.ids = mine, ids
	s.total, s.left, s.inner = len(list)+rest+dozing+left, left, inner
	s.seen.sessions, s.seen.sessionsAt = list, at
	s.ddl.look(time.UnixMilli(at), list)
	for _, c := range s.cells {
		emit(metric.Sample{Name: "mysql_info_schema_processlist_threads", Labels: c.labels, At: at, Value: c.count})
	}
	emit(metric.Sample{Name: "mysql_info_schema_processlist_longest_seconds", At: at, Value: longest})
	return nil
}

// session reads a row.
func (s *processlist) session(row []driver.Value, ids map[string]string) state.Session {
	x := state.Session{
		ID: id(row[0]), User: clean(row[1]), Host: clean(row[2]), DB: clean(row[3]),
		Command: clean(row[4]), Phase: clean(row[5]),
		Examined: whole(row[8]), Sent: whole(row[9]), Memory: whole(row[10]), Seconds: age(row[6]),
	}
	if p, ok := number(row[11]); ok && p > 0 {
		x.Progress = known.Of(min(1, p))
	}
	if x.Command == "Sleep" || x.Command == "Daemon" {
		return x
	}
	raw := text(row[7])
	if len(raw) == 0 {
		return x
	}
	cut := utf8.RuneCount(raw) >= s.limit || len(raw) >= s.limit && s.limit <= pfsText
	x.SQL = state.Clip(string(raw), state.MaxText)
	if !cut && len(raw) <= state.MaxText && clientCommand(x.Command) && !mytext.CutOff(x.SQL) {
		id, ok := s.ids[x.SQL]
		if !ok {
			id = class.ID(mytext.Fingerprint(x.SQL))
		}
		ids[x.SQL] = id
		x.ClassID = id
	}
	x.SQL = mytext.WithoutSecrets(x.SQL)
	return x
}

// age reads for how long a session has been at what it does.
func age(v driver.Value) float64 {
	sec, _ := number(v)
	if sec < 0 || sec > 1<<31 { // before a connection's first statement, and when the clock was set
		return 0
	}
	return sec
}

// clean returns a column as valid UTF-8 of bounded length.
func clean(v driver.Value) string { return state.Clip(string(text(v)), 256) }

// Fill adds the sessions and how many there are. Those that sleep outside of a transaction are counted as idle where
// all of them were read or counted and the transactions are known; Cap leaves them out.
func (s *processlist) Fill(st *state.State) {
	st.Sessions, st.Connections = s.seen.sessions, known.Of(s.total-s.inner)
	st.Left.Sessions += s.left
	if s.seen.trxAt != s.seen.sessionsAt {
		return
	}
	open := map[uint64]bool{}
	for _, x := range s.seen.trx {
		open[x.Session] = true
	}
	kept := make([]state.Session, 0, len(s.seen.sessions))
	for _, x := range s.seen.sessions {
		if x.Command != "Sleep" || open[x.ID] {
			kept = append(kept, x)
		}
	}
	st.Idle = known.Of(s.total - s.left - len(kept))
	st.Sessions = kept
}

// Events returns the schema changes that began or ended since the last call.
func (s *processlist) Events() []event.Event { return s.ddl.take() }

// add counts connections. A combination that was seen once is shown with 0 later, so that it does not seem to go on.
func (s *processlist) add(command, state string, n float64) {
	k := [2]string{command, state}
	c, ok := s.cells[k]
	if !ok {
		if len(s.cells) >= 500 {
			return
		}
		c = &cell{labels: metric.L("command", command, "state", state)}
		s.cells[k] = c
	}
	c.count += n
}

// pfsText is the length at which performance_schema cuts the text of a statement, in bytes.
const pfsText = 1024 - 4 // it may end a character earlier

// learn decides which table and columns to read, and whether the account sees all connections.
func (s *processlist) learn(ctx context.Context) error {
	if a := s.acc.Answer(target.HasInnodbMetrics); !a.Has && a.Fix != "" {
		// it needs the same privilege and says so when that is missing
		return &scrape.Problem{State: source.Denied, Reason: "without PROCESS the server shows an account its own " +
			"connections only", Fix: grant(s.acc, "PROCESS ON *.*")}
	}
	has := map[string]bool{}
	if _, err := s.q.Query(ctx, tagged(s.Name(), "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME "+
		"FROM information_schema.COLUMNS WHERE"+
		" TABLE_SCHEMA IN ('information_schema','performance_schema') AND TABLE_NAME IN "+
		"('PROCESSLIST','processlist','threads','events_statements_current')"), func(row []driver.Value) {
		schema, table, col := strings.ToLower(string(text(row[0]))), strings.ToLower(string(text(row[1]))),
			strings.ToUpper(string(text(row[2])))
		has[schema[:1]+"."+table+"."+col], has[schema[:1]+"."+table] = true, true
	}); err != nil {
		return err
	}
	first := func(names ...string) string {
		for _, n := range names {
			if has["i.processlist."+n] {
				return n
			}
		}
		return "NULL"
	}
	var columns, from, sleeps, own string
	// When performance_schema is off its tables are there and empty.
	if has["p.processlist"] && has["p.events_statements_current"] && s.acc.Answer(target.HasPerformanceSchema).Has &&
		s.may(ctx) {
		memory := "NULL"
		if has["p.threads.TOTAL_MEMORY"] {
			memory = "t.TOTAL_MEMORY"
		}
		columns = "t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST, t.PROCESSLIST_DB, " +
			"t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE," +
			" IF(t.PROCESSLIST_COMMAND='Sleep' OR s.TIMER_WAIT IS NULL, t.PROCESSLIST_TIME, " +
			"ROUND(s.TIMER_WAIT/1000000000000, 3)), t.PROCESSLIST_INFO," +
			" s.ROWS_EXAMINED, s.ROWS_SENT, " + memory + ", NULL"
		from = " FROM performance_schema.threads t LEFT JOIN performance_schema.events_statements_current s" +
			" ON s.THREAD_ID=t.THREAD_ID AND s.END_EVENT_ID IS NULL AND s.NESTING_EVENT_LEVEL=0"
		sleeps, own = "t.PROCESSLIST_COMMAND='Sleep'", "t.PROCESSLIST_ID"
		s.limit = pfsText
	} else {
		age := "TIME"
		if has["i.processlist.TIME_MS"] {
			age = "TIME_MS/1000"
		}
		progress := "NULL"
		if has["i.processlist.PROGRESS"] && has["i.processlist.MAX_STAGE"] {
			progress = "IF(t.MAX_STAGE>0, (t.STAGE-1+t.PROGRESS/100)/t.MAX_STAGE, NULL)"
		}
		column := func(c string) string {
			if c == "NULL" {
				return c
			}
			return "t." + c
		}
		columns = "t.ID, t.USER, t.HOST, t.DB, t.COMMAND, t.STATE, t." + age + ", LEFT(t.INFO, 2048), " +
			column(first("EXAMINED_ROWS", "ROWS_EXAMINED")) + ", " +
			column(first("SENT_ROWS", "ROWS_SENT")) + ", " + column(first("MEMORY_USED")) + ", " + progress
		from = " FROM information_schema.PROCESSLIST t"
		sleeps, own = "t.COMMAND='Sleep'", "t.ID"
		s.limit = state.MaxText
	}
	others := own + "<>CONNECTION_ID()"
	s.read = tagged(s.Name(), "SELECT "+columns+from+" WHERE "+others)
	s.few = tagged(s.Name(), "SELECT "+columns+from+
		" LEFT JOIN (SELECT DISTINCT trx_mysql_thread_id AS trx FROM information_schema.INNODB_TRX) x ON x.trx="+own+
		" WHERE "+others+" AND (x.trx IS NOT NULL OR NOT "+sleeps+")")
	s.count = tagged(s.Name(), "SELECT COUNT(*)"+
		from[:strings.Index(from+" LEFT JOIN", " LEFT JOIN")]+" WHERE "+others+" AND "+sleeps)
	return nil
}

// may reports whether the account may read performance_schema, which it need not for the counts.
func (s *processlist) may(ctx context.Context) bool {
	_, err := s.q.Query(ctx, tagged(s.Name(), "SELECT 1 FROM performance_schema.threads t LEFT "+
		"JOIN performance_schema.events_statements_current s"+
		" ON s.THREAD_ID=t.THREAD_ID LIMIT 1"), func([]driver.Value) {})
	return err == nil
}

// background reports whether a row of the list is a thread of the server's own, such as event_scheduler or a replica's,
// which is no connection: Threads_connected does not count it.
func background(user, host, command string) bool {
	return command == "Daemon" || user == "system user" || user == "event_scheduler" || user == "" && host == ""
}

// clientCommand reports whether a connection with this command works on a statement of a client: not sleeping, not one
// of the server's own threads, not sending the binary log.
func clientCommand(c string) bool {
	switch c {
	case "Query", "Execute", "Prepare", "Init DB", "Field List", "Fetch", "Long Data", "Change user",
		"Create DB", "Drop DB":
		return true
	}
	return false
}

// stateClass sorts the hundred and more states of a connection into a few that mean something, by the words that the
// states of MySQL and MariaDB have in common ("General Thread States" in both manuals). What fits none is "other".
func stateClass(s string) string {
	if s == "" {
		return "none"
	}
	s = strings.ToLower(s)
	for _, c := range stateClasses {
		for _, w := range c.words {
			if strings.Contains(s, w) {
				return c.class
			}
		}
	}
	return "other"
}

// stateClasses are tried in this order.
var stateClasses = []struct {
	class string
	words []string
}{
	{"metadata_lock", []string{"metadata lock", "backup lock", "global read lock", "schema metadata"}},
	{"replication", []string{
		"master", "source to send", "binlog to replica", "relay log", "slave", "replica", "binlog",
		"waiting for work from sql thread", "waiting for an event from coordinator", "gtid", "semi-sync",
	}},
	{"server", []string{
		"innodb", "event scheduler", "waiting on empty queue", "waiting for next activation",
		"daemon", "init for update",
	}},
	{"user_sleep", []string{"user sleep"}},
	{"lock", []string{"lock", "waiting for table", "waiting for row"}},
	{"flush", []string{"flush"}},
	{"commit", []string{"commit", "rolling back", "rollback"}},
	{"ddl", []string{
		"alter", "copy to tmp table", "creating table", "creating index", "repair", "enabling keys",
		"manage keys", "discard", "rename", "dropping", "removing",
	}},
	{"tmp_table", []string{"tmp table", "temporary", "heap to", "hash", "duplicates"}},
	{"sort", []string{"sort", "creating sort index", "filling schema"}},
	{"client", []string{"sending to client", "writing to net", "reading from net", "net"}},
	{"write", []string{"updat", "delet", "insert", "update", "end of update", "write"}},
	{"open_tables", []string{"opening table", "closing table", "open table", "checking table", "table definition"}},
	{"plan", []string{
		"statistics", "optimiz", "preparing", "init", "starting", "checking permissions",
		"checking query cache", "parsing",
	}},
	{"execute", []string{"executing", "sending data", "execution", "user lock", "reading", "search"}},
	{"end", []string{"end", "freeing", "cleaning", "logging", "closing", "reset"}},
}
