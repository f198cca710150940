package loader

import (
	"context"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// debug tells a server that was built to be debugged: the variable of that name exists in no other.
func (p *preflight) debug() {
	version := strings.ToLower(p.vars["version"])
	_, found := p.vars["debug"]
	for _, s := range []string{"-debug", "-asan", "-ubsan", "-msan", "-tsan", "-valgrind"} {
		found = found || strings.Contains(version, s)
	}
	if found {
		p.add(load.Warn, "",
			"the server %s is a build for debugging, several times slower than the others: its figures "+
				"say nothing about those", p.vars["version"])
	}
}

// durability lists what lets a commit be lost, for a load that commits something.
func (p *preflight) durability() {
	if !p.writes {
		return
	}
	var relaxed []string
	if v, ok := p.vars["innodb_flush_log_at_trx_commit"]; ok && v != "1" {
		relaxed = append(relaxed, "innodb_flush_log_at_trx_commit="+v)
	}
	if v, ok := p.vars["sync_binlog"]; ok && v != "1" && p.on("log_bin") {
		relaxed = append(relaxed, "sync_binlog="+v)
	}
	if v, ok := p.vars["innodb_doublewrite"]; ok && (!p.on("innodb_doublewrite") ||
		strings.EqualFold(v, "DETECT_ONLY")) {
		relaxed = append(relaxed, "innodb_doublewrite="+v)
	}
	if v := p.vars["innodb_flush_method"]; strings.EqualFold(v, "nosync") || strings.EqualFold(v, "littlesync") {
		relaxed = append(relaxed, "innodb_flush_method="+v)
	}
	if len(relaxed) > 0 {
		p.add(load.Note, "compare with runs of the same settings only",
			"a crash may lose commits or pages (%s), which "+
				"makes writes faster", strings.Join(relaxed, ", "))
	}
}

// recovery tells of a server that was started to rescue data.
func (p *preflight) recovery() {
	if v, ok := wholeNumber(p.vars, "innodb_force_recovery"); ok && v > 0 {
		p.add(load.Warn, "start the server without it",
			"the server runs with innodb_force_recovery=%d: parts of InnoDB "+
				"are switched off", v)
	}
}

// queryCache tells of a cache that answers in place of the engine.
func (p *preflight) queryCache() {
	size, ok := wholeNumber(p.vars, "query_cache_size")
	if v := p.vars["query_cache_type"]; ok && size > 0 && (v == "ON" || v == "1") && p.reads {
		p.add(load.Warn, "SET GLOBAL query_cache_type=OFF, query_cache_size=0",
			"the query cache is on: statements that "+
				"repeat are answered without being run, and all sessions wait for its lock")
	}
}

// everyStatement is the longest threshold of the slow log, in seconds, that still takes every other statement of a
// load.
const everyStatement = 0.001

// logs tells of logs that hold every statement.
func (p *preflight) logs() {
	if p.on("general_log") {
		p.add(load.Warn, "SET GLOBAL general_log=OFF", "the general log is on: the server writes down every statement "+
			"(log_output=%s)", p.vars["log_output"])
	}
	limit, err := strconv.ParseFloat(p.vars["long_query_time"], 64)
	if p.on("slow_query_log") && err == nil && limit < everyStatement {
		p.add(load.Warn, "SET GLOBAL long_query_time=1, or slow_query_log=OFF",
			"the slow log is on with long_query_time=%s: the server writes down every statement (log_output=%s)",
			p.vars["long_query_time"], p.vars["log_output"])
	}
}

// limits tells of a time after which the server cuts statements off.
func (p *preflight) limits() {
	for name, unit := range map[string]string{"max_statement_time": " s", "max_execution_time": " ms"} {
		if v, err := strconv.ParseFloat(p.vars[name], 64); err == nil && v > 0 {
			p.add(load.Warn, "SET GLOBAL "+name+"=0",
				"the server ends statements after %s%s (%s): the slowest of them "+
					"would be errors", p.vars[name], unit, name)
		}
	}
}

// autocommit tells of sessions that never commit what stands outside of a transaction.
func (p *preflight) autocommit() {
	if v, ok := p.vars["autocommit"]; ok && v != "" && !p.on("autocommit") && p.writes {
		p.add(load.Warn, "SET GLOBAL autocommit=ON",
			"autocommit is off: statements outside of a transaction are never "+
				"committed, and keep their locks")
	}
}

// readOnly tells that a load that writes cannot.
func (p *preflight) readOnly() {
	if !p.writes {
		return
	}
	for _, name := range []string{"super_read_only", "innodb_read_only"} {
		if p.on(name) {
			p.add(load.Refuse, "is this a replica? Load its source", "the server takes no writes: %s is on", name)
			return
		}
	}
	if p.on("read_only") {
		const hint = "is this a replica? Load its source, or SET GLOBAL read_only=OFF"
		switch p.exempt() {
		case isExempt:
			p.add(load.Warn, hint, "read_only is on, but not for this account: it would write anyway")
		case maybeExempt:
			p.add(load.Warn, hint, "read_only is on, which this account may not be exempt from")
		default:
			p.add(load.Refuse, hint, "the server takes no writes from this account: read_only is on")
		}
		return
	}
	for _, name := range []string{"transaction_read_only", "tx_read_only"} {
		if p.on(name) {
			p.add(load.Refuse, "SET GLOBAL "+name+"=OFF", "transactions of new sessions may only read: %s is on", name)
			return
		}
	}
}

// exemption is what can be said of a question whose answer may lie in a role or in the server's version.
type exemption uint8

const (
	notExempt exemption = iota
	maybeExempt
	isExempt
)

// exempt reports whether the account may write to a server that is read_only.
func (p *preflight) exempt() (a exemption) {
	for _, g := range p.grants {
		g = strings.ToUpper(g)
		privileges, scope, ok := strings.Cut(g, " ON ")
		switch {
		case !ok: // a role
			a = max(a, maybeExempt)
		case !strings.HasPrefix(scope, "*.*"):
		case strings.Contains(privileges, "ALL PRIVILEGES"), strings.Contains(privileges, "READ_ONLY ADMIN"),
			strings.Contains(privileges, "READ ONLY ADMIN"),
			strings.Contains(privileges, "CONNECTION_ADMIN"):
			return isExempt
		case strings.Contains(privileges, "SUPER"): // not from MariaDB 10.11 on
			a = max(a, maybeExempt)
		}
	}
	if len(p.grants) == 0 {
		return maybeExempt
	}
	return a
}

// instruments tells of a performance_schema that times what happens a million times a second.
func (p *preflight) instruments(ctx context.Context, t *target.Target) error {
	if !p.on("performance_schema") {
		return nil
	}
	var n int
	err := t.DB().QueryRowContext(ctx, sqltext.Tagged("load", "",
		"SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE ENABLED='YES' AND NAME LIKE 'wait/synch/%'")).
		Scan(&n)
	switch {
	case err == nil && n > 0:
		p.add(load.Warn, "UPDATE performance_schema.setup_instruments SET ENABLED='NO' WHERE NAME LIKE 'wait/synch/%'",
			"performance_schema measures %d kinds of mutexes and locks, which takes CPU time from every statement", n)
	case err != nil && !serverAnswered(err):
		return t.Wrap("ask", err)
	case err != nil:
		p.add(load.Note, "GRANT SELECT ON performance_schema.setup_instruments TO the account",
			"performance_schema is on, and what it measures is unknown: this account may not read it")
	}
	return nil
}
