package capture_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/postgres/capture"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestMightyAccount has a statement call a function that whoever wrote it declared immutable: the planner calls it, and
// with an account that may do much it writes a file, which READ ONLY does not prevent.
func TestMightyAccount(t *testing.T) {
	s := start(t, "17")
	s.Exec(t, database, "CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)",
		`CREATE FUNCTION helper() RETURNS void LANGUAGE plpgsql VOLATILE AS $$ BEGIN
			IF current_setting('application_name') = 'dyno' THEN
				BEGIN
					SET LOCAL role = pg_write_server_files;
				EXCEPTION WHEN others THEN
				END;
				COPY (SELECT session_user) TO '`+s.Data+`/owned';
			END IF;
		EXCEPTION WHEN others THEN END $$`,
		`CREATE FUNCTION evil() RETURNS int LANGUAGE plpgsql IMMUTABLE AS
			'BEGIN PERFORM public.helper(); RETURN 1; END'`,
		"GRANT SELECT ON t TO public", "CREATE ROLE plain LOGIN IN ROLE pg_monitor",
		"CREATE ROLE deputy LOGIN NOINHERIT IN ROLE pg_monitor, pg_write_server_files",
		"CREATE ROLE dba LOGIN IN ROLE postgres, pg_monitor")
	query := each("SELECT a FROM t WHERE a = public.evil()", func(int) []any { return nil })
	owned := func() bool {
		_, err := os.Stat(s.Data + "/owned")
		return err == nil
	}
	look := func(user, trusted string) (denied string, plans int) {
		t.Helper()
		spec := specOf(s, user)
		spec.ExplainSchemas = trusted
		snap := underBy(t, s, openSpec(t, spec), capture.Options{}, query)
		for _, p := range snap.Plans {
			if p.Error == "" {
				plans++
			} else if !p.Denied {
				t.Errorf("%s: %+v", user, p)
			}
		}
		if x := snap.Source(source.Plans); x.State == source.Denied {
			denied = x.Reason + "; Fix: " + x.Fix
		}
		return denied, plans
	}
	for user, why := range map[string]string{
		pgserver.Superuser: "is a superuser", "deputy": "a member of pg_write_server_files",
		"dba": "a member of postgres, a superuser",
	} {
		denied, plans := look(user, "public") // a statement may name functions of any other schema
		if !strings.Contains(denied, why) || !strings.Contains(denied, "--task explain") || plans > 0 || owned() {
			t.Errorf("%s: %q, %d plans, file written: %v", user, denied, plans, owned())
		}
	}
	if denied, plans := look("plain", ""); denied != "" || plans != 1 || owned() {
		t.Errorf("plain: %q, %d plans, file written: %v", denied, plans, owned())
	}
	repeatedly(t, s, func() {
		r, _, err := capture.Digest(t.Context(), openSpec(t, specOf(s, pgserver.Superuser)),
			capture.DigestOptions{Window: time.Second, Explain: true})
		if err != nil || len(r.Classes) == 0 || !strings.Contains(strings.Join(r.Classes[0].Plan, " "), "not run: ") ||
			owned() {
			t.Errorf("%+v, %v, file written: %v", r.Classes, err, owned())
		}
	}, query)
	// The same account on a server of Dyno's own: the function is as evil as it was meant.
	if denied, plans := look(pgserver.Superuser, endpoint.AllSchemas); denied != "" || plans != 1 || !owned() {
		t.Errorf("trusted: %q, %d plans, file written: %v", denied, plans, owned())
	}
}
