package conn

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/servers"
)

// specOf is how a test's server is reached over TCP.
func specOf(s *pgserver.Server) endpoint.Spec {
	return endpoint.Spec{
		Scheme: "postgres", Network: "tcp", Address: fmt.Sprintf("127.0.0.1:%d", s.Port), User: s.User,
		Database: "postgres",
	}
}

// open opens a test's server.
func open(t *testing.T, s endpoint.Spec) *Target {
	t.Helper()
	x, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestOpenVersions(t *testing.T) {
	for _, v := range pgserver.Versions {
		t.Run(v, func(t *testing.T) {
			s := pgserver.Start(t, v)
			f := open(t, specOf(s)).Facts()
			if f.Version != s.Version || fmt.Sprint(f.Major) != v || f.Port != s.Port || f.Datadir != s.Data ||
				!f.Superuser || !f.Monitor || !f.Settings || f.Replica || f.ReadOnly || f.User != "postgres" ||
				f.Database != "postgres" || f.Trust != endpoint.TrustPlain {
				t.Errorf("%+v", f)
			}
			if since := time.Since(f.StartedAt); since < 0 || since > 10*time.Minute || f.Uptime <= 0 {
				t.Errorf("started %v ago, up %v", since, f.Uptime)
			}
			if f.Statements.Usable() || !strings.Contains(f.Statements.Fix, "CREATE EXTENSION") {
				t.Errorf("%+v", f.Statements)
			}
			s.Exec(t, "postgres", "CREATE SCHEMA \"a b\"", "CREATE EXTENSION pg_stat_statements SCHEMA \"a b\"",
				"ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
			unix := specOf(s)
			unix.Network, unix.Address = "unix", s.Socket
			x := open(t, unix)
			if f := x.Facts(); !f.Statements.Usable() || f.Statements.Schema != "a b" || f.Trust != "" || !f.ReadOnly {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestStatementsMissing(t *testing.T) {
	s := pgserver.Start(t, "17", "shared_preload_libraries=")
	f := open(t, specOf(s)).Facts().Statements
	if f.Usable() || !strings.Contains(f.Fix, "shared_preload_libraries") {
		t.Errorf("%+v", f)
	}
	s.Exec(t, "postgres", "CREATE EXTENSION pg_stat_statements", "CREATE ROLE nobody LOGIN")
	f = open(t, specOf(s)).Facts().Statements
	if f.Usable() || !strings.Contains(f.Fix, "restart") {
		t.Errorf("%+v", f)
	}
	plain := specOf(s)
	plain.User = "nobody"
	if f := open(t, plain).Facts(); f.Monitor || f.Settings || f.Superuser || f.Datadir != "" || f.Server == "" {
		t.Errorf("%+v", f)
	}
}

// TestStatementsOfAnother has an old version of the extension, in a schema whose owner made the view that it lacks.
func TestStatementsOfAnother(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE ROLE tenant", "CREATE SCHEMA theirs AUTHORIZATION tenant",
		"CREATE EXTENSION pg_stat_statements SCHEMA theirs VERSION '1.8'",
		"GRANT CREATE ON SCHEMA public TO tenant", "SET ROLE tenant; CREATE FUNCTION public.evil() RETURNS bigint "+
			"LANGUAGE plpgsql AS $$ BEGIN RAISE LOG 'evil ran'; "+
			"RETURN 1; END $$; CREATE VIEW theirs.pg_stat_statements_info AS SELECT public.evil() AS dealloc")
	f := open(t, specOf(s)).Facts().Statements
	if f.Usable() || f.Version != "1.8" || f.Fix != "ALTER EXTENSION pg_stat_statements UPDATE" {
		t.Errorf("%+v", f)
	}
	if strings.Contains(s.Log(), "evil ran") {
		t.Error("the view's function ran as the superuser")
	}
	s.Exec(t, "postgres", "DROP VIEW theirs.pg_stat_statements_info", "ALTER EXTENSION pg_stat_statements UPDATE")
	if f := open(t, specOf(s)).Facts().Statements; !f.Usable() {
		t.Errorf("%+v", f)
	}
}

func TestSessions(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE TABLE t (a int)", "CREATE FUNCTION public.version() RETURNS text LANGUAGE sql AS "+
		"$$ SELECT 'mine' $$", "ALTER ROLE postgres SET search_path = public, pg_catalog")
	x := open(t, specOf(s))
	c, err := x.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.End(c)
	if _, err := c.Exec(t.Context(), "INSERT INTO public.t VALUES (1)"); err == nil {
		t.Error("a session for reading changes data")
	}
	for name, want := range map[string]string{
		"statement_timeout": "10s", "lock_timeout": "1s", "idle_in_transaction_session_timeout": "1min",
		"application_name": "dyno", "search_path": "pg_catalog",
	} {
		var got string
		if err := c.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q: %v", name, got, err)
		}
	}
	if f := x.Facts(); !strings.HasPrefix(f.Raw, "PostgreSQL") {
		t.Errorf("a user's function answered: %s", f.Raw)
	}
	change, err := x.ConnFor(t.Context(), ForChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End(change)
	if _, err := change.Exec(t.Context(), "INSERT INTO public.t VALUES (1)"); err != nil {
		t.Error(err)
	}
	load, err := x.ConnFor(t.Context(), ForLoad)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End(load)
	var name, timeout string
	const ask = "SELECT current_setting('application_name'), current_setting('statement_timeout')"
	err = load.QueryRow(t.Context(), ask).Scan(&name, &timeout)
	if err != nil || name != LoadApplication || timeout != "0" {
		t.Errorf("%s, %s: %v", name, timeout, err)
	}
	if pid := change.PgConn().PID(); !x.Owns(pid, "", "", "") || x.Owns(load.PgConn().PID(), "", "", "") {
		t.Error("whose sessions they are is not known")
	}
	if !x.Owns(1, "dyno", "postgres", "127.0.0.1") || x.Owns(1, "dyno", "other", "127.0.0.1") ||
		x.Owns(1, "psql", "postgres", "127.0.0.1") || x.Owns(1, "dyno", "postgres", "10.0.0.1") {
		t.Error("the name alone decides")
	}
}

func TestKill(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, specOf(s))
	victim := s.Conn(t, "postgres")
	var began time.Time
	pid := int(victim.PgConn().PID())
	err := victim.QueryRow(t.Context(), "SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()").
		Scan(&began)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := x.Kill(t.Context(), pid, began.Add(-time.Second)); found || err != nil {
		t.Errorf("another session with the pid: %v, %v", found, err)
	}
	if err := victim.Ping(t.Context()); err != nil {
		t.Errorf("it was ended: %v", err)
	}
	if found, err := x.Kill(t.Context(), pid, began); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	err = victim.Ping(t.Context())
	if KindOf(err) != endpoint.Gone {
		t.Errorf("the ended session says %v", err)
	}
	for end := time.Now().Add(30 * time.Second); ; { // it leaves the list after its last word
		found, err := x.Kill(t.Context(), pid, began)
		if !found && err == nil {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("a session that is gone: %v, %v", found, err)
		}
	}
}

// TestOtherServers: what answers instead of PostgreSQL is named.
func TestOtherServers(t *testing.T) {
	my := servers.Start(t, "mariadb")
	for _, mode := range []endpoint.TLSMode{endpoint.TLSPreferred, endpoint.TLSDisabled, endpoint.TLSRequired} {
		s := endpoint.Spec{
			Scheme: "postgres", Network: "tcp", Address: fmt.Sprintf("127.0.0.1:%d", my.Port), User: "root",
			Database: "postgres", TLS: mode, ConnectTimeout: 20 * time.Second,
		}
		_, err := Open(context.Background(), s)
		if KindOf(err) != endpoint.NotAServer || !strings.Contains(err.Error(), "MySQL") ||
			!strings.Contains(HintOf(err), "mysql://root@127.0.0.1") {
			t.Errorf("%s: %v; %s", mode, err, HintOf(err))
		}
	}
}
