package change

import (
	"os"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
)

func sets(name, value string) finding.Action {
	return finding.Action{Kind: finding.SetVariable, Variable: name, Value: value, SQL: "DROP DATABASE shop"}
}

// auto returns postgresql.auto.conf without its remarks.
func (b *bench) auto() string {
	b.t.Helper()
	all, err := os.ReadFile(b.Data + "/postgresql.auto.conf")
	if err != nil {
		b.t.Fatal(err)
	}
	var lines []string
	for l := range strings.Lines(string(all)) {
		if !strings.HasPrefix(l, "#") {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	return strings.Join(lines, "\n")
}

// shows asks a new session for a setting.
func (b *bench) shows(name string) (is string) {
	b.t.Helper()
	c := b.Conn(b.t, "shop")
	if err := c.QueryRow(b.t.Context(), "SELECT current_setting($1)", name).Scan(&is); err != nil {
		b.t.Fatal(err)
	}
	return is
}

// TestSettings sets settings and puts them back, where postgresql.auto.conf had none and where it had one.
func TestSettings(t *testing.T) {
	b := start(t, "17")
	f := func(id, name, to, shown string) {
		t.Helper()
		auto, is := b.auto(), b.shows(name)
		a := sets(name, to)
		p := b.preview(a)
		if !p.OK() || b.auto() != auto || b.shows(name) != is {
			t.Fatalf("%s: %v; after a preview it is %s in %s", name, p.Blockers, b.shows(name), b.auto())
		}
		e, err := b.apply(id, a)
		if err != nil || e.State != journal.Done || b.shows(name) != shown || len(b.notes) > 0 {
			t.Fatalf("%s: %v, %+v, is %s, %q", name, err, e, b.shows(name), b.notes)
		}
		if p := b.preview(a); !has(p.Blockers, "is already") {
			t.Errorf("%s: %v", name, p.Blockers)
		}
		if instead, err := change.InForce(t.Context(), b.x, e.Action, change.Options{}); instead != "" || err != nil {
			t.Errorf("%s: %q %v", name, instead, err)
		}
		u, err := change.PreviewUndo(t.Context(), b.x, b.j, e, change.Options{})
		if err != nil || !u.OK() || b.shows(name) != shown {
			t.Errorf("%s: %+v %v", name, u, err)
		}
		if e, err = b.undo(id); err != nil || e.State != journal.Undone || b.shows(name) != is || b.auto() != auto {
			t.Errorf("%s: %v, %+v, is %s in %q", name, err, e, b.shows(name), b.auto())
		}
	}
	f("a-1", "work_mem", "65536kB", "64MB")
	f("a-2", "random_page_cost", "1.1", "1.1")
	f("a-3", "checkpoint_timeout", "15min", "15min")
	f("a-4", "log_line_prefix", "it's %m ", "it's %m ")
	f("a-5", "statement_timeout", "90s", "90s") // Dyno's own sessions set it
	f("a-6", "pg_stat_statements.track", "all", "all")
	f("a-7", "Autovacuum", "off", "off")
	b.Exec(t, "shop", "ALTER SYSTEM SET work_mem = '9MB'", "SELECT pg_reload_conf()")
	b.until("SELECT current_setting('work_mem') = '9MB'")
	f("a-8", "work_mem", "32MB", "32MB")

	refused := func(a finding.Action, want string) {
		t.Helper()
		auto := b.auto()
		if p := b.preview(a); !has(p.Blockers, want) || b.auto() != auto {
			t.Errorf("%s: %q, want %q", a.Variable, p.Blockers, want)
		}
	}
	refused(sets("shared_buffers", "1GB"), "takes a restart")
	refused(sets("block_size", "4096"), "cannot be changed")
	refused(sets("archive_command", "rm -r /"), "not one of the settings")
	for name, to := range map[string]string{
		"search_path": "a, b", "archive_library": "evil", "ssl": "on", "primary_conninfo": "host=evil",
		"krb_server_keyfile": "/tmp/k", "log_file_mode": "0666", "session_preload_libraries": "evil",
		"password_encryption": "md5", "fsync": "off", "dynamic_library_path": "/tmp",
	} {
		refused(sets(name, to), "not one of the settings")
	}
	refused(sets("track_io_timing", "off"), "command line")
	refused(sets("no_such", "1"), "has no setting no_such")
	refused(sets("work_mem; DROP TABLE x", "1"), "does not name a setting")
	if e, err := b.apply("a-9", sets("work_mem", "much")); err == nil || e.State != journal.Failed ||
		b.shows("work_mem") != "9MB" {
		t.Errorf("a value that is none: %v, %+v", err, e)
	}

	// Whoever changed it since is not overruled.
	if _, err := b.apply("b-1", sets("work_mem", "32MB")); err != nil {
		t.Fatal(err)
	}
	b.Exec(t, "shop", "ALTER SYSTEM SET work_mem = '33MB'", "SELECT pg_reload_conf()")
	b.until("SELECT current_setting('work_mem') = '33MB'")
	if _, err := b.undo("b-1"); err == nil || !strings.Contains(err.Error(), "changed since, it is now 33MB") {
		t.Errorf("%v", err)
	}
	// Killed between the file and the reload.
	e := journal.Entry{
		ID: "b-2", Server: b.x.Server().Key(), State: journal.Running,
		Action: b.preview(sets("work_mem", "34MB")).Action,
	}
	if err := b.j.PutEntry(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	b.Exec(t, "shop", "ALTER SYSTEM SET work_mem = '34MB'")
	e, err := change.Reconcile(t.Context(), b.x, e)
	if err != nil || e.State != journal.Done || !strings.Contains(e.Notes[0].Text, "not in effect, where it is 33MB") {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := b.undo("b-2"); err != nil || e.State != journal.Undone || b.shows("work_mem") != "33MB" {
		t.Errorf("%v, %+v, is %s", err, e, b.shows("work_mem"))
	}

	b.Exec(t, "shop", "CREATE ROLE app LOGIN", "ALTER ROLE app SET work_mem = '1MB'")
	if p := b.preview(sets("work_mem", "5MB")); !p.OK() || !has(p.Warnings, "ALTER ROLE or ALTER DATABASE sets") {
		t.Errorf("%+v", p)
	}
	b.x = b.as("app")
	refused(sets("work_mem", "5MB"), `GRANT ALTER SYSTEM ON PARAMETER "work_mem" TO "app"`)
	refused(sets("work_mem", "5MB"), `GRANT SELECT ON pg_file_settings TO "app"`)
}

func TestValuesOfSettings(t *testing.T) {
	f := func(kind, unit, a, b string, want bool) {
		t.Helper()
		v := value{kind: kind, unit: unit}
		if v.equal(a, b) != want {
			t.Errorf("%s %s: %q is %q, %q is %q", kind, unit, a, v.normal(a), b, v.normal(b))
		}
	}
	f("integer", "kB", "65536", "64MB", true)
	f("integer", "8kB", "16384", "128MB", true)
	f("integer", "8kB", "16385", "128MB", false)
	f("integer", "ms", "90000", "1.5min", true)
	f("integer", "s", "900", "15 min", true)
	f("integer", "", "100", "1e2", true)
	f("integer", "kB", "64MB", "64mb", false)
	f("real", "ms", "0.5", "500us", true)
	f("real", "", "1.10", "1.1", true)
	f("bool", "", "on", "TRUE", true)
	f("bool", "", "f", "off", true)
	f("bool", "", "o", "off", false)
	f("enum", "", "Replica", "replica", true)
	f("string", "", "a", "A", false)
	f("integer", "kB", "-1", "-1", true)
}
