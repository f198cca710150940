package target

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/effort"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestExecutes(t *testing.T) {
	f := func(schema string, want bool, lines ...string) {
		t.Helper()
		if why := executes(lines, schema); (why != "") != want {
			t.Errorf("%s with %q: %q", schema, lines, why)
		}
	}
	f("app", false)
	f("app", false, "GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'")
	f("app", true, "GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost' WITH GRANT OPTION")
	f("app", true, "GRANT SELECT, EXECUTE, PROCESS ON *.* TO `u`@`%`")
	f("app", true, "GRANT SELECT, SUPER ON *.* TO `u`@`%`")
	f("app", true, "GRANT EXECUTE ON `app`.* TO `u`@`%`")
	f("app", false, "GRANT EXECUTE ON `other`.* TO `u`@`%`")
	f("app", true, "GRANT ALL PRIVILEGES ON `a%`.* TO `u`@`%`")
	f("app_x", true, "GRANT EXECUTE ON `app\\_%`.* TO `u`@`%`")
	f("appx", false, "GRANT EXECUTE ON `app\\_%`.* TO `u`@`%`")
	f("appx1", true, "GRANT EXECUTE ON `app_1`.* TO `u`@`%`")
	f("APP", true, "GRANT EXECUTE ON `app`.* TO `u`@`%`")
	f("app", true, "GRANT EXECUTE ON FUNCTION `app`.`f` TO `u`@`%`")
	f("app", true, "GRANT EXECUTE, ALTER ROUTINE ON PACKAGE BODY `app`.`f` TO `u`@`%`")
	f("apx", false, "GRANT EXECUTE ON PROCEDURE `ap_`.`f` TO `u`@`%`")
	f("a`b", true, "GRANT EXECUTE ON `a``b`.* TO `u`@`%`")
	f("app", true, "GRANT EXECUTE ON app.* TO u@localhost")
	f("app", false, "GRANT SELECT (`x`, ` ON ``EXECUTE, `) ON `app`.`t` TO `u`@`%`")
	f("app", false, "GRANT `EXECUTE ON *.*`@`%` TO `u`@`%`", "GRANT ` ON ` TO `u`@`%`",
		"SET DEFAULT ROLE `r` FOR `u`@`%`")
	f("app", false, "GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION",
		"GRANT PROXY ON 'EXECUTE'@'%' TO 'u'@'%'")
	f("app", false, "GRANT SELECT, EXECUTE ON *.* TO `u`@`%`", "REVOKE EXECUTE ON `app`.* FROM `u`@`%`")
	f("other", true, "GRANT SELECT, EXECUTE ON *.* TO `u`@`%`", "REVOKE EXECUTE ON `app`.* FROM `u`@`%`")
	f("app", true, "GRANT SELECT, EXECUTE ON *.* TO `u`@`%`", "REVOKE SELECT ON `app`.* FROM `u`@`%`")
	f("app", true, "GRANT EXECUTE ON `app`.* TO `u`@`%`", "REVOKE EXECUTE ON `app`.* FROM `u`@`%`")
	f("app", true, "something new")
	f("app", true, "GRANT SELECT ON `app TO `u`@`%`")
	f("app", false, "GRANT APPLICATION_PASSWORD_ADMIN,SYSTEM_USER ON *.* TO `u`@`%`")
	// What might be read in two ways is not understood.
	f("app", false, "GRANT SELECT (`a\\`), INSERT (`b`) ON `app`.`t` TO `u`@`%`") // a backslash hides no backtick
	f("app", false, "GRANT SELECT (`-- x`, `/*! y`) ON `app`.`t /* 1` TO 'o'brien'@'%'")
	f("app", true, "GRANT SELECT /* x */ ON `app`.`t` TO `u`@`%`")
	f("app", true, "GRANT SELECT (it's) ON `app`.`t` TO `u`@`%`")
	f("app", true, "GRANT SELECT (x)) ON `app`.`t` TO `u`@`%`")
	f("app", true, "GRANT `SELECT` ON `app`.* TO `u`@`%`")
	f("app", true, "GRANT SELECT, ON `app`.* TO `u`@`%`")
	f("app", true, `GRANT EXECUTE ON "other\".".x" TO "u"@"%"`) // it depends on the sql_mode whether the name ends
	f("app", true, "GRANT SELECT ON `app` TO `u`@`%`")
	f("app", true, "GRANT SELECT ON `app`.*, `other`.* TO `u`@`%`")
	f("app", true, "GRANT SELECT ON `app`.``TO `u`@`%`")
	f("app", true, "GRANT PROXY, EXECUTE ON ''@'%' TO 'u'@'%'")
	f("app", true, "GRANT SELECT ON `"+strings.Repeat("a", 1025)+"`.* TO `u`@`%`")
	f(strings.Repeat("€", 64), false, "GRANT EXECUTE ON `x%`.* TO `u`@`%`")
	f(strings.Repeat("a", 257), true) // no schema is called that: nothing is compared with it
	f("app", true, "REVOKE `r` FROM `u`@`%`")
	f("app", true, "")
}

func TestTrusts(t *testing.T) {
	f := func(list, schema string, want bool) {
		t.Helper()
		if got := (endpoint.Spec{ExplainSchemas: list}).Trusts(schema); got != want {
			t.Errorf("%q trusts %q: %v", list, schema, got)
		}
	}
	f("", "", false)
	f("", "app", false)
	f("app", "", false)
	f("app,shop", "shop", true)
	f("app,shop", "sho", false)
	f("app", "APP", false)
	f(endpoint.AllSchemas, "app", true)
}

// TestMayExecute asks real servers about accounts that got the privilege in every way that there is.
func TestMayExecute(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			settings := []string{"log_bin_trust_function_creators=ON"}
			if flavor == "mysql" {
				settings = append(settings, "partial_revokes=OFF")
			}
			s := servers.Start(t, flavor, settings...)
			s.Exec(t, "CREATE DATABASE app", "CREATE DATABASE app_x", "CREATE FUNCTION app.f() RETURNS INT "+
				"DETERMINISTIC RETURN 1")
			f := func(want string, grants ...string) {
				t.Helper()
				s.Exec(t, "DROP USER IF EXISTS u@localhost", "CREATE USER u@localhost",
					"GRANT SELECT ON app.* TO u@localhost")
				s.Exec(t, grants...)
				x, err := Open(context.Background(), endpoint.Spec{Network: "unix", Address: s.Socket, User: "u"})
				if err != nil {
					t.Fatal(err)
				}
				defer x.Close()
				conn, err := x.Conn(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				why, err := MayExecute(context.Background(), x, conn, []string{"app"})
				if err != nil || !strings.Contains(why, want) || want == "" && why != "" {
					t.Errorf("%q: %q, %v", grants, why, err)
				}
			}
			f("")
			f("", "GRANT EXECUTE ON `app\\_%`.* TO u@localhost")
			f("in schema app", "GRANT EXECUTE ON `ap%`.* TO u@localhost")
			f("in schema app", "GRANT EXECUTE ON FUNCTION app.f TO u@localhost")
			f("every schema", "GRANT EXECUTE ON *.* TO u@localhost")
			f("this account", "GRANT ALL ON *.* TO u@localhost")
			// By a role of a role, in effect from the login on.
			s.Exec(t, "CREATE ROLE inner_r", "CREATE ROLE outer_r", "GRANT EXECUTE ON app.* TO inner_r",
				"GRANT inner_r TO outer_r")
			if flavor == "mariadb" {
				f("in schema app", "GRANT outer_r TO u@localhost", "SET DEFAULT ROLE outer_r FOR u@localhost")
				f("", "GRANT outer_r TO u@localhost") // not in effect
				s.Exec(t, "GRANT EXECUTE ON app.* TO PUBLIC")
				f("in schema app")
				return
			}
			f("in schema app", "GRANT outer_r TO u@localhost", "SET DEFAULT ROLE outer_r TO u@localhost")
			f("", "GRANT outer_r TO u@localhost")
			s.Exec(t, "SET GLOBAL mandatory_roles = 'outer_r'", "SET GLOBAL activate_all_roles_on_login = ON")
			f("in schema app")
			s.Exec(t, "SET GLOBAL mandatory_roles = ''", "SET GLOBAL partial_revokes = ON")
			f("", "GRANT EXECUTE ON *.* TO u@localhost", "REVOKE EXECUTE ON app.* FROM u@localhost")
		})
	}
}

// TestGrantsOfALongName: the name of a schema may come from a statement that a server claims to run, the grants from
// the same server; every grant is compared with every name.
func TestGrantsOfALongName(t *testing.T) {
	g, ok := ReadGrant("GRANT ALTER ON `" + strings.Repeat("%a", 120) + "b`.* TO `u`@`%`")
	if !ok || !g.On("ALTER", schema.Ref{Schema: strings.Repeat("a", 200) + "b", Table: "t"}) ||
		g.On("ALTER", schema.Ref{Schema: strings.Repeat("a", 60_000) + "b", Table: "t"}) {
		t.Errorf("%+v, %v", g, ok)
	}
	effort.Linear(t, "grants", 100, func(n int) func() {
		lines := slices.Repeat([]string{"GRANT EXECUTE ON `" + strings.Repeat("%a", 120) + "b`.* TO `u`@`%`"}, n)
		name := strings.Repeat("a", 60*n)
		return func() { executes(lines, name) }
	})
}
