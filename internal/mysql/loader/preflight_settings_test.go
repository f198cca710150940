package loader

import (
	"maps"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
)

// quiet are settings under which nothing is to be said.
var quietSettings = map[string]string{
	"version": "10.11.19-MariaDB-log", "innodb_flush_log_at_trx_commit": "1", "log_bin": "ON", "sync_binlog": "1",
	"innodb_doublewrite": "ON", "innodb_flush_method": "O_DIRECT",
	"innodb_force_recovery": "0", "query_cache_size": "1048576", "query_cache_type": "OFF", "general_log": "OFF",
	"slow_query_log": "ON", "long_query_time": "1.000000", "log_output": "FILE",
	"max_statement_time": "0.000000", "max_execution_time": "0", "autocommit": "ON", "read_only": "OFF",
	"super_read_only": "OFF", "innodb_read_only": "OFF", "transaction_read_only": "OFF",
}

func TestPreflightSettings(t *testing.T) {
	f := func(reads, writes bool, name, value string, severity load.Severity, text string) {
		t.Helper()
		p := &preflight{
			reads: reads, writes: writes, vars: maps.Clone(quietSettings),
			grants: []string{"GRANT USAGE ON *.* TO `u`@`%`"},
		}
		if name != "" {
			p.vars[name] = value
		}
		for _, look := range []func(){
			p.debug, p.durability, p.recovery, p.queryCache, p.logs, p.limits,
			p.autocommit, p.readOnly,
		} {
			look()
		}
		said(t, p, severity, text)
	}
	f(true, true, "", "", "", "")
	f(true, true, "innodb_flush_log_at_trx_commit", "2", load.Note, "(innodb_flush_log_at_trx_commit=2)")
	f(true, false, "innodb_flush_log_at_trx_commit", "2", "", "")
	f(true, true, "sync_binlog", "0", load.Note, "sync_binlog=0")
	f(true, true, "innodb_doublewrite", "OFF", load.Note, "innodb_doublewrite=OFF")
	f(true, true, "innodb_doublewrite", "DETECT_ONLY", load.Note, "innodb_doublewrite=DETECT_ONLY")
	f(true, true, "innodb_doublewrite", "fast", "", "")
	f(true, true, "innodb_flush_method", "nosync", load.Note, "innodb_flush_method=nosync")
	f(true, true, "innodb_force_recovery", "3", load.Warn, "innodb_force_recovery=3")
	f(true, true, "version", "9.7.4-debug", load.Warn, "9.7.4-debug is a build for debugging")
	f(true, true, "debug", "", load.Warn, "for debugging")
	f(true, true, "query_cache_type", "ON", load.Warn, "query cache")
	f(true, true, "query_cache_type", "DEMAND", "", "")
	f(false, true, "query_cache_type", "ON", "", "")
	f(true, true, "general_log", "ON", load.Warn, "log_output=FILE")
	f(true, true, "long_query_time", "0.000000", load.Warn, "slow log")
	f(true, true, "max_statement_time", "0.500000", load.Warn, "after 0.500000 s (max_statement_time)")
	f(true, true, "max_execution_time", "100", load.Warn, "after 100 ms (max_execution_time)")
	f(true, true, "autocommit", "OFF", load.Warn, "never committed")
	f(true, false, "autocommit", "OFF", "", "")
	f(true, true, "read_only", "ON", load.Refuse, "read_only is on")
	f(true, false, "read_only", "ON", "", "")
	f(true, true, "read_only", "NO_LOCK_NO_ADMIN", load.Refuse, "read_only is on")
	f(true, true, "super_read_only", "ON", load.Refuse, "super_read_only")
	f(true, true, "innodb_read_only", "ON", load.Refuse, "innodb_read_only")
	f(true, true, "transaction_read_only", "ON", load.Refuse, "may only read")
}

func TestPreflightExempt(t *testing.T) {
	f := func(want exemption, grants ...string) {
		t.Helper()
		if got := (&preflight{grants: grants}).exempt(); got != want {
			t.Errorf("%q: %d, want %d", grants, got, want)
		}
	}
	f(maybeExempt)
	f(notExempt, "GRANT USAGE ON *.* TO `u`@`%`", "GRANT ALL PRIVILEGES ON `sbtest`.* TO `u`@`%`")
	f(isExempt, "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION")
	f(isExempt, "GRANT SELECT, SUPER ON *.* TO `u`@`%`", "GRANT CONNECTION_ADMIN,CLONE_ADMIN ON *.* TO `u`@`%`")
	f(isExempt, "GRANT READ_ONLY ADMIN ON *.* TO `u`@`%`")
	f(maybeExempt, "GRANT SELECT, SUPER ON *.* TO `u`@`%`")
	f(maybeExempt, "GRANT USAGE ON *.* TO `u`@`%`", "GRANT `admin` TO `u`@`%`")
}
