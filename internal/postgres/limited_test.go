package postgres

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/test/pgserver"
)

func TestLimited(t *testing.T) {
	for _, version := range pgserver.Versions {
		t.Run(version, func(t *testing.T) {
			s := pgserver.Start(t, version)
			s.Exec(t, "postgres", "CREATE ROLE dyno LOGIN IN ROLE pg_monitor", "CREATE SCHEMA apart",
				"CREATE TABLE apart.t (a int)", "CREATE TABLE public.u (a int)")
			open := func(user, trusted string) family.Limited {
				t.Helper()
				x, err := Family{}.Open(t.Context(), endpoint.Spec{
					Scheme: "postgres", Network: "unix", Address: s.Socket, User: user, Database: "postgres",
					ExplainSchemas: trusted,
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { x.Close() })
				l, ok := x.(family.Limited)
				if !ok {
					t.Fatalf("%T", x)
				}
				return l
			}
			reason, fix := open(pgserver.Superuser, "").TooMighty(t.Context())
			if !strings.HasPrefix(reason, "Dyno is logged in as postgres: this account is a superuser") ||
				!strings.Contains(fix, "dyno target grants --flavor postgres --task explain") {
				t.Errorf("%s; %s", reason, fix)
			}
			if reason, _ := open(pgserver.Superuser, endpoint.AllSchemas).TooMighty(t.Context()); reason != "" {
				t.Error(reason)
			}
			x := open("dyno", "")
			if reason, _ := x.TooMighty(t.Context()); reason != "" {
				t.Error(reason)
			}
			had := []string{"USAGE on schema information_schema", "USAGE on schema public"}
			step := func(grant, more string) {
				t.Helper()
				s.Exec(t, "postgres", grant)
				has, err := x.Privileges(t.Context())
				if err != nil || slices.Equal(has, had) || !slices.Contains(has, more) {
					t.Errorf("after %s: %v, %v", grant, has, err)
				}
				had = has
			}
			step("SELECT 1", "member of pg_monitor")
			step("GRANT USAGE ON SCHEMA apart TO dyno", "USAGE on schema apart")
			step("GRANT SELECT ON ALL TABLES IN SCHEMA apart TO dyno", "SELECT in schema apart")
			step("ALTER ROLE dyno NOINHERIT; GRANT pg_signal_backend TO dyno",
				"member of pg_signal_backend, without use")
			if reason, _ := x.TooMighty(t.Context()); !strings.Contains(reason, "a member of pg_signal_backend") {
				t.Error(reason)
			}
			step("ALTER ROLE dyno SUPERUSER", "superuser")
			s.Exec(t, "postgres", "CREATE TABLE apart.more (a int)")
			if has, err := x.Privileges(t.Context()); err != nil || !slices.Equal(has, had) {
				t.Errorf("after another table: %v, %v", has, err)
			}
			if x, ok := x.Unseen(t.Context(), nil); ok {
				t.Errorf("%+v", x)
			}
		})
	}
}
