package sources

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/pgserver"
)

func TestSettings(t *testing.T) {
	s := pgserver.Start(t, "17", "shared_buffers=24MB", "statement_timeout=90s")
	sc := scraper(t, open(t, s, "postgres"), "variables", "processlist")
	r := sc.Once(t.Context())
	for name, want := range map[string]float64{
		"pg_settings_shared_buffers_bytes": 24 << 20, "pg_settings_statement_timeout_seconds": 90,
		"pg_settings_fsync": 1, "pg_settings_max_connections": 100,
		"pg_settings_log_min_duration_statement_seconds": -1,
		"pg_settings_autovacuum_vacuum_scale_factor":     0.2, "pg_settings_checkpoint_timeout_seconds": 300,
		"dyno_settings_pending_restart": 0, "pg_settings_default_transaction_read_only": 0,
		"pg_settings_pg_stat_statements_max": 5000, "pg_settings_lock_timeout_seconds": 0,
	} {
		if v := value(t, r, name); v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if v := value(t, r, "pg_static", "short_version", s.Version); v != 1 {
		t.Errorf("%v", v)
	}
	if len(r.Events) > 0 {
		t.Errorf("events of the first reading: %+v", r.Events)
	}
	s.Exec(t, "postgres", "ALTER SYSTEM SET work_mem = '5MB'", "ALTER SYSTEM SET max_connections = 50",
		"ALTER SYSTEM SET archive_command = 'secret'", "SELECT pg_reload_conf()")
	var all []event.Event
	until(t, sc, "three events", func(r reading.Reading) bool {
		all = append(all, r.Events...)
		pending, _ := find(r, "dyno_settings_pending_restart")
		return len(all) >= 2 && pending >= 1 // also what the command line overrides counts
	})
	text := ""
	for _, e := range all {
		text += e.Text + "\n"
		if e.Kind != event.Config || e.At.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if !strings.Contains(text, "work_mem 4096 → 5120") || strings.Contains(text, "secret") ||
		!strings.Contains(text, "archive_command changed") || len(all) != 2 {
		t.Error(text)
	}
}

// TestSettingsWithoutTheIdentifier: hosted servers may keep pg_control_system to themselves.
func TestSettingsWithoutTheIdentifier(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE ROLE watcher LOGIN IN ROLE pg_monitor")
	sc := scraper(t, open(t, s, "watcher"), "variables", "processlist")
	sc.Once(t.Context())
	s.Exec(t, "postgres", "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC, pg_monitor")
	r := sc.Once(t.Context())
	if x := sourceOf(t, r, source.Variables); x.State != source.OK || len(r.Events) > 0 ||
		value(t, r, "pg_settings_max_connections") != 100 {
		t.Errorf("%+v, %+v", x, r.Events)
	}
	s.Exec(t, "postgres", "ALTER SYSTEM SET work_mem = '5MB'", "SELECT pg_reload_conf()")
	until(t, sc, "an event", func(r reading.Reading) bool {
		return len(r.Events) == 1 && strings.Contains(r.Events[0].Text, "work_mem")
	})
	s.Stop(t)
	sc.Once(t.Context())
	s.Launch(t)
	for _, e := range sc.Once(t.Context()).Events {
		if strings.Contains(e.Text, "another server") {
			t.Errorf("after a restart: %+v", e)
		}
	}
}

func TestBaseUnit(t *testing.T) {
	f := func(text, unit, kind, base string, want float64, ok bool) {
		t.Helper()
		if v, b, is := settingValue(text, unit, kind); v != want || b != base || is != ok {
			t.Errorf("%s %s: %v %s, %v", text, unit, v, b, is)
		}
	}
	f("2", "8kB", "integer", "bytes", 16384, true)
	f("16", "MB", "integer", "bytes", 16<<20, true)
	f("-1", "ms", "integer", "seconds", -1, true)
	f("1500", "ms", "integer", "seconds", 1.5, true)
	f("5", "min", "integer", "seconds", 300, true)
	f("0.5", "", "real", "", 0.5, true)
	f("on", "", "bool", "", 1, true)
	f("text", "", "string", "", 0, false)
	f("x", "", "integer", "", 0, false)
}

func TestAnotherServerIsAnEvent(t *testing.T) {
	was, is := "17.10 on port 5432, 1", "17.10 on port 5432, 2"
	e := changes(map[string]string{"a": "1"}, map[string]string{"a": "2"}, was, is, testTime)
	if len(e) != 1 || e[0].Kind != event.Restart || !strings.Contains(e[0].Text, "another server") {
		t.Errorf("%+v", e)
	}
	if e := changes(map[string]string{"a": "1"}, map[string]string{"a": "1"}, was, was, testTime); len(e) > 0 {
		t.Errorf("%+v", e)
	}
}
