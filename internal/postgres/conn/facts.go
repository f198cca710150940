package conn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Oldest is the oldest major version that Dyno works with.
const Oldest = 15

// Facts is what a server says about itself and the account. Text that it does not show is empty.
type Facts struct {
	Version string `json:"version"` // "17.10"
	Major   int    `json:"major"`   // 17
	Raw     string `json:"raw"`     // version()
	// Server tells this server from any other: the system identifier of its data, the role, the port and the data
	// directory. A standby that is promoted has another one afterwards; two standbys of one primary that have the same
	// port, directory and cluster_name on two machines are not told apart.
	Server  string `json:"server"`
	Cluster string `json:"cluster,omitzero"` // cluster_name
	Datadir string `json:"datadir,omitzero"` // shown to superusers and members of pg_read_all_settings
	PidFile string `json:"pid_file,omitzero"`
	Port    int    `json:"port"`
	// ReadOnly is true when new transactions are read-only: on a standby, or by default_transaction_read_only.
	ReadOnly bool `json:"read_only,omitzero"`
	Replica  bool `json:"replica,omitzero"` // pg_is_in_recovery(): a standby
	// StartedAt is pg_postmaster_start_time(), by the server's clock. Uptime is by that clock, too.
	StartedAt time.Time     `json:"started_at"`
	Uptime    time.Duration `json:"uptime_ns"`
	User      string        `json:"user"` // current_user
	Database  string        `json:"database"`
	Superuser bool          `json:"superuser,omitzero"`
	// Monitor is true when the account sees the sessions and statements of others: it is a superuser or has the rights
	// of pg_read_all_stats, which pg_monitor includes.
	Monitor bool `json:"monitor,omitzero"`
	// Settings is true when the account sees all settings: pg_read_all_settings, which pg_monitor includes.
	Settings   bool       `json:"settings,omitzero"`
	Statements Statements `json:"statements"`
	TLS        bool       `json:"tls,omitzero"`
	// Trust says what is known of who is at the other end of a connection over a network; empty for a Unix socket.
	Trust endpoint.Trust `json:"trust,omitzero"`
}

// Statements is the state of the extension pg_stat_statements in the database that the target names.
type Statements struct {
	Schema  string `json:"schema,omitzero"`  // where its views are; empty when it is not installed there
	Version string `json:"version,omitzero"` // "1.11"
	// Missing says why it cannot be read, empty when it can, and Fix what to do.
	Missing string `json:"missing,omitzero"`
	Fix     string `json:"fix,omitzero"`
}

// Usable reports whether its views can be read.
func (s Statements) Usable() bool { return s.Missing == "" && s.Schema != "" }

// AtLeast reports whether the server is of a major version or a later one.
func (f Facts) AtLeast(major int) bool { return f.Major >= major }

// Quote quotes a name for SQL.
func Quote(name ...string) string { return pgx.Identifier(name).Sanitize() }

// mostSettings is several times what any server has, extensions and all.
const mostSettings = 5000

// longestFact bounds what a server says of itself, bytes: it is kept and shown in many places.
const longestFact = 4 << 10

const askFacts = `SELECT version(), current_setting('server_version'),
 current_setting('server_version_num')::int, current_user::text, current_database()::text,
 current_setting('is_superuser') = 'on', pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
 pg_has_role(current_user, 'pg_read_all_settings', 'USAGE'), pg_is_in_recovery(), pg_postmaster_start_time(),
 extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8,
 coalesce(host(inet_client_addr()), '')`

func (t *Target) learn(ctx context.Context, c *pgx.Conn) error {
	f := &t.facts
	var num int
	var uptime float64
	err := c.QueryRow(ctx, askFacts).Scan(&f.Raw, &f.Version, &num, &f.User, &f.Database, &f.Superuser, &f.Monitor,
		&f.Settings, &f.Replica, &f.StartedAt, &uptime, &t.client)
	if err != nil {
		return err
	}
	for _, s := range []string{f.Raw, f.Version, f.User, f.Database} {
		if len(s) > longestFact {
			return fmt.Errorf("%w: more than %d bytes of what it is", errTooLong, longestFact)
		}
	}
	f.Version, _, _ = strings.Cut(f.Version, " ") // 17.10 (Debian 17.10-1)
	f.Major, f.Uptime = num/10000, time.Duration(uptime*float64(time.Second))
	if !strings.HasPrefix(f.Raw, "PostgreSQL ") || f.Major < Oldest {
		return &endpoint.Error{
			Op: "connect to", Kind: endpoint.Unsupported, Target: t.spec.Where(),
			Err: fmt.Errorf("the server is %.60s", f.Raw),
			Fix: fmt.Sprintf("dyno works with PostgreSQL %d and later", Oldest),
		}
	}
	if t.settings, err = readSettings(ctx, c); err != nil {
		return err
	}
	f.Cluster, f.Datadir = t.settings["cluster_name"], t.settings["data_directory"]
	if f.PidFile = t.settings["external_pid_file"]; f.PidFile == "" && f.Datadir != "" {
		f.PidFile = f.Datadir + "/postmaster.pid"
	}
	f.Port, _ = strconv.Atoi(t.settings["port"])
	// of this session it is Dyno's own setting: what the server would give others is the boot or configured value
	var readOnly string
	err = c.QueryRow(ctx, "SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only'").
		Scan(&readOnly)
	if err != nil {
		return err
	}
	f.ReadOnly = f.Replica || readOnly == "on"
	if f.Server, err = t.identity(ctx, c); err != nil {
		return err
	}
	f.Statements, err = t.statements(ctx, c)
	return err
}

// readSettings reads the values that the session had before Dyno set any (reset_val): the server's, or those that the
// database or the account has of its own.
func readSettings(ctx context.Context, c *pgx.Conn) (map[string]string, error) {
	rows, err := c.Query(ctx, "SELECT lower(name), coalesce(reset_val, setting, '') FROM pg_settings")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	m := map[string]string{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return nil, err
		}
		if len(m) >= mostSettings {
			return nil, fmt.Errorf("%w: more than %d settings", errTooLong, mostSettings)
		}
		m[k] = v
	}
	return m, rows.Err()
}

// identity names the server, see Facts.Server. Where pg_control_system may not be called, as hosted servers may have
// it, the database's oid and the start stand in for the identifier.
func (t *Target) identity(ctx context.Context, c *pgx.Conn) (string, error) {
	var id string
	err := c.QueryRow(ctx, "SELECT system_identifier::text FROM pg_control_system()").Scan(&id)
	if _, denied := SQLState(err); denied {
		id = "started " + t.facts.StartedAt.UTC().Format(time.RFC3339Nano)
	} else if err != nil {
		return "", err
	}
	role := "primary"
	if t.facts.Replica {
		role = "standby"
	}
	return strings.Join([]string{id, role, strconv.Itoa(t.facts.Port), t.facts.Cluster, t.facts.Datadir}, ":"), nil
}

// statements finds the extension pg_stat_statements in the session's database.
// https://www.postgresql.org/docs/current/pgstatstatements.html
func (t *Target) statements(ctx context.Context, c *pgx.Conn) (s Statements, err error) {
	// A view of that name which is not the extension's is another's, and reading it would call what its owner wrote.
	var info bool
	err = c.QueryRow(ctx, `SELECT n.nspname::text, e.extversion, EXISTS (SELECT FROM pg_class v JOIN pg_depend d
		ON d.classid = 'pg_class'::regclass AND d.objid = v.oid WHERE v.relname = 'pg_stat_statements_info' AND
		v.relnamespace = n.oid AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e')
		FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'`).
		Scan(&s.Schema, &s.Version, &info)
	if errors.Is(err, pgx.ErrNoRows) {
		return t.notInstalled(ctx, c)
	}
	if err != nil {
		return s, err
	}
	if !info {
		s.Missing, s.Fix = "pg_stat_statements "+s.Version+" is too old", "ALTER EXTENSION pg_stat_statements UPDATE"
		return s, nil
	}
	var n int64
	err = c.QueryRow(ctx, "SELECT dealloc FROM "+Quote(s.Schema, "pg_stat_statements_info")).Scan(&n)
	state, answered := SQLState(err)
	switch {
	case err == nil:
	case !answered:
		return s, err
	case state == "55000": // object_not_in_prerequisite_state
		s.Missing, s.Fix = "the library of pg_stat_statements is not loaded", preload
	case state == "42501":
		s.Missing = "the account may not read pg_stat_statements"
		s.Fix = "GRANT USAGE ON SCHEMA " + Quote(s.Schema) + " TO " + Quote(t.facts.User) + "; GRANT pg_monitor TO " +
			Quote(t.facts.User)
	default:
		s.Missing = "pg_stat_statements cannot be read: " + err.Error()
	}
	return s, nil
}

const preload = "add pg_stat_statements to shared_preload_libraries in postgresql.conf and restart the server"

func (t *Target) notInstalled(ctx context.Context, c *pgx.Conn) (s Statements, err error) {
	var available bool
	err = c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements')").
		Scan(&available)
	if err != nil {
		return s, err
	}
	libs, seen := t.settings["shared_preload_libraries"]
	create := "in the database " + t.facts.Database + ": CREATE EXTENSION pg_stat_statements"
	switch {
	case !available:
		s.Missing = "the server has no extension pg_stat_statements"
		s.Fix = "install PostgreSQL's contrib modules on it, " + preload + ", then " + create
	case seen && !strings.Contains(libs, "pg_stat_statements"):
		s.Missing = "the library of pg_stat_statements is not loaded"
		s.Fix = preload + ", then " + create
	default:
		s.Missing = "the extension pg_stat_statements is not created in the database " + t.facts.Database
		s.Fix = create
	}
	return s, nil
}
