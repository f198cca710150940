package change

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/progress"
)

// setting changes a setting that a reload puts into effect: ALTER SYSTEM writes it to postgresql.auto.conf, which is
// read after all other files. https://www.postgresql.org/docs/current/sql-altersystem.html
type setting struct {
	t *conn.Target
	a finding.Action // Was is what postgresql.auto.conf had; the value that was in effect where it had none
}

// reloadTime is how long a server may take to read its files again.
const reloadTime = 30 * time.Second

const reload = "SELECT pg_reload_conf()"

var (
	settingName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)
	// tuning are the settings that are changed, for speed and for what is logged and counted: others run programs, load
	// code, say who may log in or what is durable. log_[a-eg-z] leaves out log_file_mode.
	tuning = lazyregexp.New(`^(archive_timeout|auto_explain\.|autovacuum|backend_flush_after|bgwriter_|checkpoint_|` +
		`client_connection_check|commit_|compute_query_id|constraint_exclusion|cpu_|cursor_tuple|deadlock_timeout|` +
		`default_statistics|default_toast|effective_|enable_|file_(copy|extend)_method|from_collapse|geqo|gin_|hash_|` +
		`hot_standby_feedback|idle_|io_|jit|join_collapse|lock_timeout|log_[a-eg-z]|logical_decoding_work|maintenance_|` +
		`max_(parallel|pred|slot|stack|standby|sync|wal)_|min_(parallel|wal)_|parallel_|pg_stat_statements\.|plan_cache|` +
		`random_page|recovery_prefetch|recursive_worktable|seq_page|statement_timeout|stats_|summarize_wal|` +
		`synchronize_seqscans|synchronous_commit|tcp_|temp_|track_|transaction_timeout|update_process_title|vacuum_|` +
		`wal_|work_mem)`)
	// texts are those of them whose value may be a text: ALTER SYSTEM takes each name of a list as a value of its own,
	// and texts of extensions can mean anything.
	texts = []string{"log_connections", "log_line_prefix"}
)

func (k *setting) set(value string) string {
	return "ALTER SYSTEM SET " + conn.Quote(k.a.Variable) + " = '" + strings.ReplaceAll(value, "'", "''") + "'"
}

func (k *setting) reset() string { return "ALTER SYSTEM RESET " + conn.Quote(k.a.Variable) }

// resets reports whether an undo removes the setting from postgresql.auto.conf, which had none before.
func (k *setting) resets() bool { return strings.HasPrefix(k.a.Undo, k.reset()) }

// value is a setting as it is now.
type value struct {
	name, kind, unit, context string
	effective                 string // of a new session that nothing else overrides, in the unit of the setting
	shown                     string // the same for people
	source                    string
	auto                      *string // what postgresql.auto.conf says; nil when it does not name the setting
	// hidden is set when the account or its database has a value of its own, so its sessions do not see the server's,
	// and overridden when any has.
	hidden, overridden bool
}

func (s session) setting(ctx context.Context, name string) (v value, found bool, err error) {
	op := "read the setting " + name
	// Dyno's sessions set some for themselves; reset_val is what they would have without that.
	const q = `SELECT name, vartype, coalesce(unit, ''), context, coalesce(reset_val, ''),
 CASE WHEN source = 'session' THEN coalesce(reset_val, '') || coalesce(unit, '') ELSE current_setting(name) END, source
 FROM pg_settings WHERE lower(name) = lower($1)`
	found, err = s.ask(ctx, op, q, []any{name}, &v.name, &v.kind, &v.unit, &v.context, &v.effective, &v.shown,
		&v.source)
	if err != nil || !found {
		return v, false, err
	}
	const others = `SELECT coalesce(bool_or(setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = session_user)) AND
 setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))), false), count(*) > 0
 FROM pg_db_role_setting, unnest(setconfig) c WHERE starts_with(lower(c), lower($1) || '=')`
	_, err = s.ask(ctx, op, others, []any{name}, &v.hidden, &v.overridden)
	return v, true, err
}

// auto reads what postgresql.auto.conf says of a setting, in effect or not; nil when it does not name it.
func (s session) auto(ctx context.Context, name string) (auto *string, err error) {
	const q = `SELECT setting FROM pg_file_settings WHERE lower(name) = lower($1) AND
 sourcefile LIKE '%postgresql.auto.conf' ORDER BY seqno DESC LIMIT 1`
	_, err = s.ask(ctx, "read postgresql.auto.conf", q, []any{name}, &auto)
	return auto, err
}

func (k *setting) check(ctx context.Context, s session, p *change.Preview, _ change.Reader) error {
	name := k.a.Variable
	k.a.Was, k.a.Now, k.a.SQL, k.a.Undo = "", "", "", ""
	p.Action = k.a
	p.Words = fmt.Sprintf("Set %s on %s to %s.", name, k.t, k.a.Value)
	if !settingName.MatchString(name) || k.a.Value == "" || strings.ContainsAny(k.a.Value, "\n\r\x00") {
		p.Block("the action does not name a setting and a value of one line")
		return nil
	}
	v, found, err := s.setting(ctx, name)
	if err != nil {
		return err
	}
	if !found {
		p.Block("this server has no setting %s", name)
		return nil
	}
	k.a.Variable = v.name
	if err := k.checkMay(ctx, s, p); err != nil {
		return err
	}
	switch {
	case v.context == "internal":
		p.Block("%s cannot be changed: the server was built or initialised with it", v.name)
	case v.context == "postmaster":
		p.Block("%s takes a restart of the server, which Dyno does not make: %s, then restart it", v.name,
			k.set(k.a.Value))
	case !tuning.MatchString(v.name) || v.kind == "string" && !slices.Contains(texts, v.name):
		p.Block("%s is not one of the settings that Dyno changes", v.name)
	case v.source == "command line":
		p.Block("%s is set on the server's command line, which overrides its files", v.name)
	case !v.hidden && v.equal(v.effective, k.a.Value):
		p.Block("%s is already %s", v.name, v.shown)
	}
	if !p.OK() {
		return nil
	}
	if v.auto, err = s.auto(ctx, name); err != nil {
		return err
	}
	k.a.SQL = k.set(k.a.Value) + "; " + reload
	if v.auto == nil {
		k.a.Was, k.a.Undo = v.shown, k.reset()+"; "+reload
	} else {
		k.a.Was, k.a.Undo = *v.auto, k.set(*v.auto)+"; "+reload
	}
	p.Action = k.a
	p.Words = fmt.Sprintf("Set %s on %s from %s to %s in postgresql.auto.conf, and reload the server's settings.",
		v.name, k.t, cmp.Or(v.shown, "nothing"), k.a.Value)
	if v.context == "backend" || v.context == "superuser-backend" {
		p.Warn("open sessions keep their value: pooled connections get the new one when they are reopened")
	}
	if v.overridden {
		p.Warn("ALTER ROLE or ALTER DATABASE sets %s for some sessions, and overrides this: see \\drds in psql", v.name)
	}
	return k.checkFiles(ctx, s, p)
}

// checkMay looks for what the account lacks to set the setting and to see that it is set.
func (k *setting) checkMay(ctx context.Context, s session, p *change.Preview) error {
	var set, load, see bool
	if _, err := s.ask(ctx, "ask for privileges", "SELECT has_parameter_privilege($1, 'ALTER SYSTEM'), "+
		"has_function_privilege('pg_reload_conf()', 'EXECUTE'), has_table_privilege('pg_file_settings', 'SELECT') AND "+
		"has_function_privilege('pg_show_all_file_settings()', 'EXECUTE')", []any{k.a.Variable}, &set, &load,
		&see); err != nil {
		return err
	}
	to := " TO " + conn.Quote(k.t.Facts().User)
	if !set {
		p.Block("a privilege is missing: GRANT ALTER SYSTEM ON PARAMETER %s%s", conn.Quote(k.a.Variable), to)
	}
	if !load {
		p.Block("a privilege is missing: GRANT EXECUTE ON FUNCTION pg_reload_conf()%s", to)
	}
	if !see {
		p.Block("a privilege is missing: GRANT SELECT ON pg_file_settings%s; GRANT EXECUTE ON FUNCTION "+
			"pg_show_all_file_settings()%[1]s", to)
	}
	if on, has := k.t.Setting("allow_alter_system"); has && on == "off" {
		p.Block("allow_alter_system is off: the server's settings are managed elsewhere, set %s there", k.a.Variable)
	}
	return nil
}

// checkFiles looks for what else a reload would do.
func (k *setting) checkFiles(ctx context.Context, s session, p *change.Preview) error {
	var broken string
	found, err := s.ask(ctx, "read the files of settings", "SELECT format('%s, line %s: %s', sourcefile, sourceline, "+
		"error) FROM pg_file_settings WHERE name IS NULL AND error IS NOT NULL LIMIT 1", nil, &broken)
	if err != nil {
		return err
	}
	if found {
		p.Block("the server would not read its files: %s", broken)
	}
	var may bool
	if _, err := s.ask(ctx, "ask for privileges", "SELECT has_function_privilege('pg_stat_file(text)', 'EXECUTE')", nil,
		&may); err != nil || !may {
		return err
	}
	const q = `SELECT f FROM (SELECT DISTINCT sourcefile f FROM pg_file_settings) x
 WHERE (pg_stat_file(f)).modification > pg_conf_load_time()`
	return s.each(ctx, "look for changed files", q, nil, func(r pgx.Rows) error {
		var file string
		err := r.Scan(&file)
		p.Warn("%s was changed after the server read it: the reload puts that into effect as well", file)
		return err
	})
}

func (k *setting) step() change.Step {
	return change.Step{
		Subject: "setting " + k.a.Variable,
		Apply: func(ctx context.Context, _ progress.Sink, _ func(string)) error {
			return k.send(ctx, k.set(k.a.Value))
		},
		Revert: func(ctx context.Context, _ progress.Sink, _ func(string)) error {
			if k.resets() {
				return k.send(ctx, k.reset())
			}
			return k.send(ctx, k.set(k.a.Was))
		},
		Compare: k.compare,
		CheckRevert: func(ctx context.Context, _ change.Reader, _ journal.Entry, p *change.Preview) error {
			return looking(ctx, k.t, func(s session) error {
				if err := k.checkMay(ctx, s, p); err != nil || !p.OK() {
					return err
				}
				return k.checkFiles(ctx, s, p)
			})
		},
	}
}

// send changes postgresql.auto.conf and waits until the server has read it.
func (k *setting) send(ctx context.Context, sql string) error {
	s, err := open(ctx, k.t, conn.ForChanges)
	if err != nil {
		return err
	}
	defer s.end()
	if err := s.exec(ctx, "change postgresql.auto.conf", sql); err != nil {
		return err
	}
	return s.reload(ctx)
}

// reload has the server read its files and waits until this session, which is told like any other, has done so.
func (s session) reload(ctx context.Context) error {
	var before, now time.Time
	if _, err := s.ask(ctx, "ask when files were read", "SELECT pg_conf_load_time()", nil, &before); err != nil {
		return err
	}
	if err := s.exec(ctx, "reload the settings", reload); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	for {
		if _, err := s.ask(ctx, "ask when files were read", "SELECT pg_conf_load_time()", nil, &now); err != nil {
			return err
		}
		if now.After(before) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("reload the settings: postgresql.auto.conf is changed, and the server has not read it: "+
				"%w; its log says why", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (k *setting) compare(ctx context.Context) (is change.Standing, now string, err error) {
	err = looking(ctx, k.t, func(s session) error {
		v, found, err := s.setting(ctx, k.a.Variable)
		if err != nil || !found {
			is = change.Missing
			return err
		}
		if v.auto, err = s.auto(ctx, k.a.Variable); err != nil {
			return err
		}
		is, now = k.standing(v)
		return nil
	})
	return is, now, err
}

// standing judges what postgresql.auto.conf says and what is in effect.
func (k *setting) standing(v value) (is change.Standing, now string) {
	before := v.auto == nil && k.resets() || v.auto != nil && !k.resets() && *v.auto == k.a.Was
	new := v.hidden || v.equal(v.effective, k.a.Value)
	switch {
	case v.auto != nil && *v.auto == k.a.Value && new:
		return change.InEffect, ""
	case v.auto != nil && *v.auto == k.a.Value:
		return change.HalfDone, "in postgresql.auto.conf and not in effect, where it is " + v.shown
	case before && !v.hidden && new && !v.equal(k.a.Value, k.a.Was):
		return change.HalfDone, "as before in postgresql.auto.conf and still in effect"
	case before:
		return change.AsBefore, ""
	case v.auto == nil:
		return change.Different, "no longer in postgresql.auto.conf, and " + v.shown + " is in effect"
	}
	return change.Different, *v.auto
}
