package conn

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestGrants: with what a task is granted an account can do it, and before it could not.
func TestGrants(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", `CREATE SCHEMA "a ""b"`, `CREATE ROLE owner`, `CREATE TABLE "a ""b".t (a int)`,
		`ALTER TABLE "a ""b".t OWNER TO owner`)
	for task, probe := range map[string]string{
		"watch":   "SELECT 1/count(*) FROM pg_stat_activity WHERE backend_type = 'checkpointer'",
		"explain": `EXPLAIN SELECT * FROM "a ""b".t`,
		"change":  `CREATE INDEX ON "a ""b".t (a)`,
		"load":    `CREATE TABLE "a ""b".u (a int)`,
	} {
		user := `dyno "` + task
		create, unlock, err := CreateAccount(user)
		if err != nil {
			t.Fatal(err)
		}
		s.Exec(t, "postgres", create)
		if _, err := pgx.Connect(t.Context(), s.DSN(`'dyno "`+task+`'`, "postgres")); err == nil {
			t.Errorf("%s logs in before it is opened", user)
		}
		s.Exec(t, "postgres", unlock)
		c, err := pgx.Connect(t.Context(), s.DSN(`'dyno "`+task+`'`, "postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		if _, err := c.Exec(t.Context(), probe); err == nil {
			t.Errorf("%s works without a grant", task)
		}
		grants, err := Grants(task, user, []string{`a "b`})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range grants {
			s.Exec(t, "postgres", strings.ReplaceAll(g, "<owner of the tables>", "owner"))
		}
		if _, err := c.Exec(t.Context(), probe); err != nil {
			t.Errorf("%s with its grants: %v", task, err)
		}
	}
}

func TestGrantsRefuses(t *testing.T) {
	f := func(task, user, want string, schemas ...string) {
		t.Helper()
		if g, err := Grants(task, user, schemas); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s %v: %v, %v", task, user, schemas, g, err)
		}
	}
	f("watch", "", "is empty")
	f("wach", "u", "it is one of watch, explain")
	f("explain", "u", "--schema NAME")
	f("explain", "u", "the server's own", "pg_catalog")
	f("load", "u", "maximum is 63", strings.Repeat("x", 64))
	if _, _, err := CreateAccount("a\x00b"); err == nil {
		t.Error("a NUL in a name")
	}
}
