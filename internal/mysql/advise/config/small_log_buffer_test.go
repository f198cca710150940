package config

import (
	"testing"

	"github.com/dyno-perf/dyno/test/snap"
)

func waiting(more ...func(*snap.Made)) *snap.Made {
	m := writing()
	m.Set("innodb_log_buffer_size", "2097152").Status("Innodb_log_waits", 12).Status("Innodb_os_log_written", 20*mib)
	for _, f := range more {
		f(m)
	}
	return m
}

func TestSmallLogBuffer(t *testing.T) {
	f := one(t, smallLogBuffer, waiting())
	has(t, f, "innodb_log_buffer_size = 40M") // two seconds of 20 MiB
	if f.Action != nil || !f.Restart {
		t.Errorf("MariaDB takes it at its start only: %+v", f.Action)
	}
	f = one(t, smallLogBuffer, waiting(func(m *snap.Made) { m.MySQL("8.0.33") }))
	if f.Action == nil || f.Action.Value != "41943040" || f.Restart {
		t.Errorf("MySQL changes it while it runs: %+v", f.Action)
	}
	f = one(t, smallLogBuffer, waiting(replace("mysql_global_status_innodb_os_log_written", 100_000)))
	has(t, f, "innodb_log_buffer_size = 16M") // the least
}

func TestSmallLogBufferSilent(t *testing.T) {
	silent(t, smallLogBuffer, "nothing is seen", snap.Build())
	silent(t, smallLogBuffer, "a wait now and then", waiting(replace("mysql_global_status_innodb_log_waits", 0.05)))
	silent(t, smallLogBuffer, "much log and no waits", waiting(replace("mysql_global_status_innodb_log_waits", 0)))
	silent(t, smallLogBuffer, "a buffer that is large already: the disk is too slow",
		waiting(func(m *snap.Made) { m.Set("innodb_log_buffer_size", "268435456") }))
	silent(t, smallLogBuffer, "the size is not known", waiting(func(m *snap.Made) {
		m.Set("innodb_log_buffer_size", "")
	}))
}
