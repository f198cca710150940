package scrape

import (
	"context"
	"database/sql/driver"
	"strings"

	"dyno/internal/metric"
	"dyno/internal/snapshot"
	"dyno/internal/sqltext"
	"dyno/internal/target"
)

// processlist counts connections by command and class of state, its own left out:
//
//	mysql_info_schema_processlist_threads{command,state}   connections now
//	mysql_info_schema_processlist_longest_seconds          age of the oldest statement that runs for a client, 0 for none
//
// Without PROCESS a server shows an account its own connections only, which would look like an idle server: that is reported
// as denied. performance_schema.processlist (MySQL 8.0.22) is read where there is one, for information_schema.processlist holds
// a lock that connects wait for and is deprecated there.
type processlist struct {
	q     querier
	acc   account
	read  string
	gen   int
	cells map[[2]string]*cell
}

type cell struct {
	labels metric.Labels
	count  float64
}

func newProcesslist(q querier, acc account) *processlist {
	return &processlist{q: q, acc: acc, cells: map[[2]string]*cell{}}
}

func (s *processlist) Name() string { return "processlist" }

func (s *processlist) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	const privilege = "PROCESS ON *.*"
	if s.read == "" || s.gen != s.q.Generation() {
		if err := s.learn(ctx); err != nil {
			s.read = ""
			return classify(s.acc, err, privilege)
		}
		s.gen = s.q.Generation()
	}
	for _, c := range s.cells {
		c.count = 0
	}
	longest := 0.0
	if _, err := s.q.Query(ctx, s.read, func(row []driver.Value) {
		if len(row) != 4 {
			return
		}
		command, n, sec := string(text(row[0])), 0.0, 0.0
		n, _ = number(row[2])
		sec, _ = number(row[3])
		s.add(strings.ToLower(strings.ReplaceAll(command, " ", "_")), stateClass(string(text(row[1]))), n)
		if clientCommand(command) && sec > longest {
			longest = sec
		}
	}); err != nil {
		return classify(s.acc, err, privilege)
	}
	for _, c := range s.cells {
		emit(metric.Sample{Name: "mysql_info_schema_processlist_threads", Labels: c.labels, At: at, Value: c.count})
	}
	emit(metric.Sample{Name: "mysql_info_schema_processlist_longest_seconds", At: at, Value: longest})
	return nil
}

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

// learn decides which table and columns to read, and whether the account sees all connections.
func (s *processlist) learn(ctx context.Context) error {
	if a := s.acc.Answer(target.HasInnodbMetrics); !a.Has && a.Fix != "" { // it needs the same privilege and says so when that is missing
		return &Problem{State: snapshot.Denied, Reason: "without PROCESS the server shows an account its own connections only", Fix: grant(s.acc, "PROCESS ON *.*")}
	}
	from, age := "information_schema.PROCESSLIST", "TIME"
	pfs := false
	_, err := s.q.Query(ctx, sqltext.Tagged("scrape", s.Name(), "SELECT TABLE_SCHEMA, COLUMN_NAME FROM information_schema.COLUMNS WHERE"+
		" TABLE_SCHEMA IN ('information_schema','performance_schema') AND TABLE_NAME IN ('PROCESSLIST','processlist')"), func(row []driver.Value) {
		switch schema, col := strings.ToLower(string(text(row[0]))), strings.ToUpper(string(text(row[1]))); {
		case schema == "performance_schema":
			pfs = true
		case col == "TIME_MS":
			age = "TIME_MS/1000"
		}
	})
	if err != nil {
		return err
	}
	if pfs && s.acc.Answer(target.HasPerformanceSchema).Has { // when it is off the table is there and empty
		from, age = "performance_schema.processlist", "TIME"
	}
	s.read = sqltext.Tagged("scrape", s.Name(), "SELECT COMMAND, STATE, COUNT(*), MAX("+age+") FROM "+from+" WHERE ID<>CONNECTION_ID() GROUP BY COMMAND, STATE")
	return nil
}

// clientCommand reports whether a connection with this command works on a statement of a client: not sleeping, not one of the
// server's own threads, not sending the binary log.
func clientCommand(c string) bool {
	switch c {
	case "Query", "Execute", "Prepare", "Init DB", "Field List", "Fetch", "Long Data", "Change user", "Create DB", "Drop DB":
		return true
	}
	return false
}

// stateClass sorts the hundred and more states of a connection into a few that mean something, by the words that the states of
// MySQL and MariaDB have in common ("General Thread States" in both manuals). What fits none is "other".
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
	{"replication", []string{"master", "source to send", "binlog to replica", "relay log", "slave", "replica", "binlog", "waiting for work from sql thread", "waiting for an event from coordinator", "gtid", "semi-sync"}},
	{"server", []string{"innodb", "event scheduler", "waiting on empty queue", "waiting for next activation", "daemon", "init for update"}},
	{"user_sleep", []string{"user sleep"}},
	{"lock", []string{"lock", "waiting for table", "waiting for row"}},
	{"flush", []string{"flush"}},
	{"commit", []string{"commit", "rolling back", "rollback"}},
	{"ddl", []string{"alter", "copy to tmp table", "creating table", "creating index", "repair", "enabling keys", "manage keys", "discard", "rename", "dropping", "removing"}},
	{"tmp_table", []string{"tmp table", "temporary", "heap to", "hash", "duplicates"}},
	{"sort", []string{"sort", "creating sort index", "filling schema"}},
	{"client", []string{"sending to client", "writing to net", "reading from net", "net"}},
	{"write", []string{"updat", "delet", "insert", "update", "end of update", "write"}},
	{"open_tables", []string{"opening table", "closing table", "open table", "checking table", "table definition"}},
	{"plan", []string{"statistics", "optimiz", "preparing", "init", "starting", "checking permissions", "checking query cache", "parsing"}},
	{"execute", []string{"executing", "sending data", "execution", "user lock", "reading", "search"}},
	{"end", []string{"end", "freeing", "cleaning", "logging", "closing", "reset"}},
}
