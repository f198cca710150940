package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

// writing is a server that logs 4 MiB/s into a log of 16 MiB, which is full.
func writing(more ...func(*snap.Made)) *snap.Made {
	m := snap.Build().Set("innodb_buffer_pool_size", "1073741824").Set("innodb_log_file_size", "16777216").
		Exact("UPDATE papers SET body = 'x' WHERE id = 7", 10_000, 0.002, 1, 0).Exact("SELECT body FROM papers WHERE "+
		"id = 7", 5_000, 0.001, 1, 1)
	status(m, "Innodb_checkpoint_age", 12*mib)
	status(m, "Innodb_checkpoint_max_age", 13*mib)
	status(m, "Innodb_buffer_pool_pages_dirty", 2000)
	m.Status("Innodb_lsn_current", 4*mib).Status("Innodb_pages_written", 900)
	for _, f := range more {
		f(m)
	}
	return m
}

func TestSmallRedo(t *testing.T) {
	f := one(t, smallRedo, writing())
	has(t, f, "innodb_log_file_size = 1G") // an hour is 18 GiB, the pool is 1 GiB
	if f.Action == nil || f.Action.Variable != "innodb_log_file_size" || f.Action.Value != "1073741824" || f.Restart ||
		f.Severity != finding.Warning {
		t.Errorf("action %+v, restart %v, %s", f.Action, f.Restart, f.Severity)
	}
	if f.Share < 0.75 || f.Share > 0.85 || len(f.Subject.Classes) != 1 {
		t.Errorf("share %v of %v", f.Share, f.Subject.Classes)
	}
	f = one(t, smallRedo, writing(func(m *snap.Made) { m.S.Target.Version = "10.6.18" }))
	if f.Action != nil || !f.Restart {
		t.Errorf("10.6 changes it while it runs: %+v", f.Action)
	}
	mysql := func(m *snap.Made) {
		m.MySQL("9.7.4").Set("innodb_redo_log_capacity", "16777216").Set("innodb_log_file_size", "50331648")
		drop("mysql_global_status_innodb_checkpoint_age")(m)
		drop("mysql_global_status_innodb_checkpoint_max_age")(m)
		drop("mysql_global_status_innodb_lsn_current")(m)
		m.Status("Innodb_redo_log_current_lsn", 4*mib)
		changed(m, "Innodb_redo_log_checkpoint_lsn", 1000-11*mib, 1000+30*mib)
	}
	f = one(t, smallRedo, writing(mysql))
	has(t, f, "innodb_redo_log_capacity = 1G")
	old := func(m *snap.Made) { // two files, and nothing but the engine's own report tells the age
		mysql(m)
		m.MySQL("5.7.44").Set("innodb_redo_log_capacity", "").Set("innodb_log_file_size", "8388608").
			Set("innodb_log_files_in_group", "2")
		drop("mysql_global_status_innodb_redo_log_current_lsn")(m)
		m.Gauge("dyno_innodb_checkpoint_age_bytes", 11*mib).Status("Innodb_os_log_written", 4*mib)
	}
	f = one(t, smallRedo, writing(old))
	has(t, f, "innodb_log_file_size = 512M")
	if !f.Restart || !strings.Contains(f.Title, "16 MiB") {
		t.Errorf("%s, restart %v", f.Title, f.Restart)
	}
	// Minutes are worth a word only.
	if f = one(t, smallRedo, writing(replace("mysql_global_status_innodb_lsn_current", mib/8))); f.Severity !=
		finding.Notice {
		t.Errorf("a log for two minutes is a %s", f.Severity)
	}
	// The disk has no room for what is wanted.
	f = one(t, smallRedo, writing(func(m *snap.Made) {
		m.Gauge("node_filesystem_avail_bytes", 400*mib,
			"mountpoint", "/var/lib/mysql")
	}))
	if f.Setting[0] == "innodb_log_file_size = 1G" {
		t.Error("takes all of the free disk")
	}
}

// A full disk is not filled with log, and what the log really is counts.
func TestSmallRedoRoom(t *testing.T) {
	f := one(t, smallRedo, writing(func(m *snap.Made) {
		m.Set("innodb_log_file_size", "1073741824").Set("innodb_buffer_pool_size", "68719476736").
			Gauge("node_filesystem_avail_bytes", 100*mib, "mountpoint", "/var/lib/mysql")
		replace("mysql_global_status_innodb_checkpoint_max_age", 800*mib)(m)
		replace("mysql_global_status_innodb_checkpoint_age", 780*mib)(m)
	}))
	if len(f.Setting) != 0 || f.Action != nil {
		t.Errorf("100 MiB are free: %v", f.Setting)
	}
	f = one(t, smallRedo, writing(func(m *snap.Made) {
		m.MySQL("8.0.36").Set("innodb_redo_log_capacity", "104857600")
		status(m, "Innodb_redo_log_capacity_resized", 16*mib)
	}))
	if !strings.Contains(f.Title, "16 MiB") {
		t.Errorf("%s", f.Title)
	}
}

func TestSmallRedoSilent(t *testing.T) {
	silent(t, smallRedo, "nothing is seen", snap.Build())
	silent(t, smallRedo, "a log with room", writing(replace("mysql_global_status_innodb_checkpoint_age", 6*mib)))
	silent(t, smallRedo, "full, but it lasts", writing(replace("mysql_global_status_innodb_lsn_current", 20_000)))
	silent(t, smallRedo, "nothing is written", writing(replace("mysql_global_status_innodb_lsn_current", 0)))
	silent(t, smallRedo, "a large log under the same writes", writing(func(m *snap.Made) {
		m.Set("innodb_log_file_size", "8589934592")
		replace("mysql_global_status_innodb_checkpoint_max_age", 6*gib)(m)
	}))
	silent(t, smallRedo, "few pages", writing(replace("mysql_global_status_innodb_pages_written", 5)))
	silent(t, smallRedo, "the age was not seen", writing(drop("mysql_global_status_innodb_checkpoint_age")))
}
