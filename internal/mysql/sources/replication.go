package sources

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/source"
)

// replication reads what a replica says of its channels (MariaDB: connections), with the applier's workers. It needs
// REPLICATION CLIENT, on MariaDB from 10.5 on SLAVE MONITOR. In the server's own words, as mysqld_exporter names them,
// there is mysql_slave_status_<column>{channel_name,connection_name,master_host,master_uuid} for columns that are
// numbers, switches or names of numbered logs. In words that both flavors share there are, by channel ("" for the only
// one):
//
//	dyno_replica_channels                     how many there are
//	dyno_replica_lag_seconds{channel} as the server tells it; missing while it does not know, that is when a thread
//	stands
//	dyno_replica_running{channel,thread} 1 or 0, of the threads io and sql; not of channels that a group starts and
//	stops itself
//	dyno_replica_error{channel,thread}        number of the error that stopped it, 0 for none
//	dyno_replica_unapplied_bytes{channel} read from the source and not applied, while both are in the same of its logs
//	dyno_replica_workers{channel,state}       appliers: idle, busy, stopped
//	dyno_replica_apply_seconds{channel} age of the oldest transaction being applied, since its commit on the source, 0
//	for none
//
// A server that is no replica has none of these and is asked every ten seconds.
type replication struct {
	q      namer
	acc    account
	gen    int
	sql    string // SHOW …
	worker string // workers, "" when the server does not tell
	shared bool   // the workers belong to no channel
	labels map[string]metric.Labels
	next   int64 // not before, Unix milliseconds
}

// namer is a querier that also names the columns of the result being read.
type namer interface {
	querier
	Columns() []string
}

// idleAsk is how long a server that is no replica, member or the like is left alone, milliseconds.
const idleAsk = 10_000

func newReplication(q namer, acc account) *replication {
	return &replication{q: q, acc: acc, labels: map[string]metric.Labels{}}
}

func (s *replication) Name() source.Name { return source.Replication }

func (s *replication) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if s.gen != s.q.Generation() {
		s.sql, s.next = "", 0
	}
	if at < s.next {
		return nil
	}
	privilege := "REPLICATION CLIENT ON *.*"
	if f := s.acc.Facts(); f.Flavor.IsMariaDB() && f.Version.AtLeast(10, 5, 0) {
		privilege = "SLAVE MONITOR ON *.*"
	}
	var channels []channel
	n := 0
	err := s.show(ctx, func(row []driver.Value) {
		if n++; n <= mostChannels {
			channels = append(channels, readChannel(s.q.Columns(), row))
		}
	})
	if err != nil {
		return classify(s.acc, err, privilege)
	}
	if len(channels) == 0 {
		s.next = at + idleAsk
		return nil
	}
	emit(metric.Sample{Name: "dyno_replica_channels", At: at, Value: float64(n)})
	for _, c := range channels {
		for _, f := range c.figures {
			emit(metric.Sample{Name: f.name, Labels: s.label(c, f.extra), Kind: f.kind, At: at, Value: f.value})
		}
	}
	return classify(s.acc, s.workers(ctx, at, emit), "PROCESS ON *.*")
}

// show asks for the channels. Which statement a server understands is found out with each new connection: MariaDB has
// one that lists them all; MySQL has given up the old word in 8.4, and as long as it knows both the old one has the
// names that dashboards know.
func (s *replication) show(ctx context.Context, row func([]driver.Value)) error {
	if s.sql != "" {
		_, err := s.q.Query(ctx, s.sql, row)
		return err
	}
	var err error
	for _, sql := range []string{"SHOW ALL SLAVES STATUS", "SHOW SLAVE STATUS", "SHOW REPLICA STATUS"} {
		sql = tagged(s.Name(), sql)
		if _, err = s.q.Query(ctx, sql, row); err == nil {
			s.sql = sql
			break
		}
		if n, ok := target.ServerErrorNumber(err); !ok || n != 1064 {
			return err
		}
	}
	if err != nil {
		return err
	}
	if err := s.learn(ctx); err != nil {
		s.sql = ""
		return err
	}
	s.gen = s.q.Generation()
	return nil
}

// learn decides where the workers are told of.
func (s *replication) learn(ctx context.Context) error {
	const view = "replication_applier_status_by_worker"
	have, err := columnsOf(ctx, s.q, s.Name(), []table{
		{schema: "performance_schema", name: view},
		{schema: "information_schema", name: "PROCESSLIST"},
	})
	if err != nil {
		return err
	}
	pfs := pfsOn(ctx, s.q, s.Name()) == nil
	cols := have["performance_schema."+view]
	s.worker, s.shared = "", false
	switch {
	case pfs && cols["APPLYING_TRANSACTION"]:
		busy, age := "APPLYING_TRANSACTION<>''", "NULL"
		if cols["APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP"] { // zero when the source does not tell
			age = "MAX(IF(" + busy + " AND APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP>0," +
				"TIMESTAMPDIFF(MICROSECOND,APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP,NOW(6)),0))"
		}
		s.worker = "SELECT CHANNEL_NAME, SUM(SERVICE_STATE='ON' AND NOT " + busy + "), SUM(SERVICE_STATE='ON' AND " +
			busy + "), SUM(SERVICE_STATE<>'ON'), " +
			age + " FROM performance_schema." + view + " GROUP BY CHANNEL_NAME"
	case pfs && cols["WORKER_ID"]: // MySQL 5.7 does not tell what they do
		s.worker = "SELECT CHANNEL_NAME, NULL, NULL, SUM(SERVICE_STATE<>'ON'), NULL FROM performance_schema." + view +
			" GROUP BY CHANNEL_NAME"
	case s.acc.Facts().Flavor.IsMariaDB() || cols == nil: // the pool of MariaDB's workers serves all connections
		s.shared = true
		s.worker = "SELECT '', SUM(STATE LIKE 'Waiting for work%'), SUM(STATE NOT LIKE 'Waiting for work%'), NULL, " +
			"NULL FROM information_schema.PROCESSLIST WHERE COMMAND='Slave_worker'"
	}
	if s.worker != "" {
		s.worker = tagged(s.Name(), s.worker)
	}
	return nil
}

func (s *replication) workers(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if s.worker == "" {
		return nil
	}
	n := 0
	_, err := s.q.Query(ctx, s.worker, func(row []driver.Value) {
		if n++; n > mostChannels {
			return
		}
		c := channel{name: strings.ToValidUTF8(string(text(row[0])), "?")}
		for i, state := range []string{"idle", "busy", "stopped"} {
			if v, ok := number(row[1+i]); ok {
				emit(metric.Sample{Name: "dyno_replica_workers", Labels: s.label(c, "state="+state), At: at, Value: v})
			}
		}
		if v, ok := number(row[4]); ok {
			emit(metric.Sample{
				Name: "dyno_replica_apply_seconds", Labels: s.label(c, ""), At: at,
				Value: max(0, v) / 1e6,
			})
		}
	})
	return err
}

// label returns the labels of a figure of a channel: "own" for those of the server's words, else "name=value" besides
// the channel.
func (s *replication) label(c channel, extra string) metric.Labels {
	key := c.name + "\x00" + c.host + "\x00" + c.uuid + "\x00" + c.connection + "\x00" + extra
	if l, ok := s.labels[key]; ok {
		return l
	}
	if len(s.labels) > 5000 {
		clear(s.labels)
	}
	var l metric.Labels
	name, value, pair := strings.Cut(extra, "=")
	switch {
	case extra == "own":
		l = metric.L("channel_name", c.channel, "connection_name", c.connection, "master_host",
			c.host, "master_uuid", c.uuid)
	case pair:
		l = metric.L("channel", c.name, name, value)
	default:
		l = metric.L("channel", c.name)
	}
	s.labels[key] = l
	return l
}

// channel is what a replica says of one source that it follows.
type channel struct {
	name                string // either of the next two
	channel, connection string
	host, uuid          string
	figures             []figure
}

// mostChannels bounds the channels that are told of, four times what MySQL can have, and mostColumns the columns of
// one, three times what any server tells.
const (
	mostChannels = 1024
	mostColumns  = 256
)

// readChannel reads a row of SHOW REPLICA STATUS or its elder sisters by the names of its columns.
func readChannel(cols []string, row []driver.Value) (c channel) {
	word := map[string]string{} // by MySQL's old names
	for i, n := range cols[:min(len(cols), mostColumns)] {
		if i >= len(row) || row[i] == nil {
			continue
		}
		val := strings.ToValidUTF8(string(text(row[i])), "?")
		word[oldWord(n)] = val
		if v, ok := replicaValue(val); ok {
			f := gauge("mysql_slave_status_"+strings.ToLower(metricName("", []byte(n))), "own")
			f.value = v
			c.figures = append(c.figures, f)
		}
	}
	c.channel, c.connection, c.host, c.uuid = word["channel_name"], word["connection_name"],
		word["master_host"], word["master_uuid"]
	c.name = c.channel + c.connection
	add := func(name, extra string, v float64, ok bool) {
		if ok {
			c.figures = append(c.figures, figure{name: name, extra: extra, value: v})
		}
	}
	num := func(n string) (float64, bool) { return parseNumber([]byte(word[n])) }
	lag, ok := num("seconds_behind_master")
	add("dyno_replica_lag_seconds", "", lag, ok)
	for _, thread := range []string{"io", "sql"} {
		if strings.HasPrefix(c.name, "group_replication_") {
			break // a group starts and stops them itself
		}
		if state, ok := word["slave_"+thread+"_running"]; ok {
			v := 0.0
			if state == "Yes" {
				v = 1
			}
			add("dyno_replica_running", "thread="+thread, v, true)
		}
		n, ok := num("last_" + thread + "_errno")
		add("dyno_replica_error", "thread="+thread, n, ok)
	}
	if word["master_log_file"] != "" && word["master_log_file"] == word["relay_master_log_file"] {
		read, ok1 := num("read_master_log_pos")
		done, ok2 := num("exec_master_log_pos")
		add("dyno_replica_unapplied_bytes", "", max(0, read-done), ok1 && ok2)
	}
	return c
}

// oldWord turns the name of a column into MySQL's old one, in small letters.
func oldWord(n string) string {
	n = strings.ToLower(n)
	n = strings.ReplaceAll(n, "source", "master")
	return strings.ReplaceAll(n, "replica", "slave")
}

// replicaValue reads what is a number, a switch or the name of a numbered log.
func replicaValue(s string) (v float64, ok bool) {
	if v, ok := parseNumber([]byte(s)); ok {
		return v, true
	}
	switch s {
	case "Yes":
		return 1, true
	case "No", "Connecting", "Preparing":
		return 0, true
	}
	if _, n, dot := cutLast(s, "."); dot && len(n) >= 6 && strings.Trim(n, "0123456789") == "" {
		return parseNumber([]byte(n))
	}
	return 0, false
}
