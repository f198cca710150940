package target

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestGrantsAreEnoughAndNoMore gives real accounts the grants of each task and tries what they allow.
func TestGrantsAreEnoughAndNoMore(t *testing.T) {
	const odd = "my_shop `x`%"
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			q := "`my_shop ``x``%`"
			s.Exec(t, "CREATE DATABASE "+q, "CREATE DATABASE `myAshop ``x``%`", "CREATE TABLE "+q+".t (a INT)",
				"CREATE TABLE `myAshop ``x``%`.t (a INT)",
				"CREATE DATABASE secret", "CREATE TABLE secret.t (a INT)")
			can := func(task string, yes bool, statements ...string) {
				t.Helper()
				x := open(t, s, task)
				for _, st := range statements {
					rows, err := x.DB().Query(st)
					if err == nil {
						for rows.Next() {
						}
						err = rows.Err()
						rows.Close()
					}
					if (err == nil) != yes {
						t.Errorf("%s: %s: %v", task, st, err)
					}
					if err != nil && KindOf(err) != endpoint.Denied {
						if n, _ := ServerErrorNumber(err); n != 1146 {
							t.Errorf("%s: %s fails otherwise: %v", task, st, err)
						}
					}
				}
			}
			for _, task := range tasks {
				s.Exec(t, "CREATE USER '"+task+"'@'localhost'")
				gs, err := Grants(dbms.Flavor(flavor), task, task+"@localhost", []string{odd})
				if err != nil {
					t.Fatal(err)
				}
				s.Exec(t, gs...)
				can(task, false, "SELECT a FROM secret.t", "SELECT a FROM `myAshop ``x``%`.t",
					"CREATE TABLE secret.u (a INT)", "SET GLOBAL max_connections=50", "FLUSH LOGS",
					"SELECT * FROM mysql.user")
			}
			watch := []string{
				"SHOW ENGINE INNODB STATUS", "SELECT * FROM information_schema.INNODB_METRICS LIMIT 1",
				"SELECT * FROM performance_schema.events_statements_summary_by_digest LIMIT 1",
				"SELECT * FROM information_schema.INNODB_TRX",
			}
			if flavor == "mariadb" {
				watch = append(watch, "SHOW ALL SLAVES STATUS")
			} else {
				watch = append(watch, "SHOW REPLICA STATUS")
			}
			can("watch", true, watch...)
			can("watch", false, "SELECT a FROM "+q+".t")
			can("explain", true, append(watch, "EXPLAIN SELECT a FROM "+q+".t", "SHOW CREATE TABLE "+q+".t")...)
			can("explain", false, "INSERT INTO "+q+".t VALUES (1)", "ALTER TABLE "+q+".t ADD INDEX k (a)")
			can("change", true, "ALTER TABLE "+q+".t ADD INDEX k (a), ALGORITHM=INPLACE, LOCK=NONE",
				"SELECT * FROM information_schema.INNODB_TRX",
				"ALTER TABLE "+q+".t DROP INDEX k, ALGORITHM=INPLACE, LOCK=NONE")
			can("change", false, "SELECT a FROM "+q+".t", "DROP TABLE "+q+".t", "DELETE FROM "+q+".t",
				"UPDATE "+q+".t SET a=1")
			can("load", true, "CREATE TABLE "+q+".sbtest1 (a INT)", "INSERT INTO "+q+".sbtest1 VALUES (1)",
				"UPDATE "+q+".sbtest1 SET a=2",
				"DELETE FROM "+q+".sbtest1", "ALTER TABLE "+q+".sbtest1 ADD INDEX k (a)", "DROP TABLE "+q+".sbtest1")
			can("load", false, "SHOW ENGINE INNODB STATUS")

			x := open(t, s, "watch")
			for _, c := range []Capability{HasPerformanceSchema, HasStatementDigests, HasInnodbMetrics} {
				if !x.Has(c) {
					t.Errorf("watch: %s: %+v", c, x.Answer(c))
				}
			}
			if !x.Facts().ReplicaKnown.OK() {
				t.Error("watch: does not know whether this is a replica")
			}
		})
	}
}

func TestGrantsQuote(t *testing.T) {
	f := func(user, want string) {
		t.Helper()
		g, err := Grants("mysql", "load", user, []string{"a_b%c`d"})
		if err != nil {
			t.Errorf("%s: %v", user, err)
			return
		}
		want = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER ON `a\\_b\\%c``d`.* TO " + want
		if len(g) != 1 || g[0] != want {
			t.Errorf("got  %q\nwant %s", g, want)
		}
	}
	f("dyno", "'dyno'@'localhost'")
	f("dyno@10.0.0.%", "'dyno'@'10.0.0.%'")
	f("'dyno'@'%'", "'dyno'@'%'")
	f("`dy``no`@\"h\"", "'dy`no'@'h'")
	f("o'neill", "'o''neill'@'localhost'")
	f("'o''neill'@'h'", "'o''neill'@'h'")
	f(`a\`, `'a\\'@'localhost'`)
	f("a@b@h", "'a@b'@'h'")

	bad := func(flavor, task, user string, schemas ...string) {
		t.Helper()
		if g, err := Grants(dbms.Flavor(flavor), task, user, schemas); err == nil ||
			!strings.HasPrefix(err.Error(), "write grants: ") {
			t.Errorf("%s %s %s %v: %v, %v", flavor, task, user, schemas, g, err)
		}
	}
	bad("oracle", "watch", "u")
	bad("mysql", "everything", "u", "d")
	bad("mysql", "load", "u")
	bad("mysql", "load", "u", "mysql")
	bad("mysql", "load", "u", "")
	bad("mysql", "load", "", "d")
	bad("mysql", "load", "'u", "d")
	bad("mysql", "load", "'u'x", "d")
	bad("mysql", "load", "@h", "d")
}

// TestNamesInHints: a tenant chooses the name of a schema, and somebody else runs the command or the GRANT that holds
// it.
func TestNamesInHints(t *testing.T) {
	f := func(want string, schemas ...string) {
		t.Helper()
		if got := ExplainCommand(schemas); got != "dyno target grants --task explain --schema "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("shop,b_1", "shop", "b_1")
	f("'x;reboot'", "x;reboot")
	f(`'"it'\''s $(reboot)
`+"`reboot`"+`",shop'`, "it's $(reboot)\n`reboot`", "shop")
	f(`'"x,payroll",shop'`, "x,payroll", "shop")
	f(`'"a""b"'`, `a"b`)
	if got := TrustParameter([]string{"x,payroll", "a&b", "shop"}); got != "explain-schemas=a%26b,shop" {
		t.Error(got)
	}
	facts := Facts{Flavor: "mysql", User: "dyno@%"}
	if got := facts.ExplainFix([]string{"a_b%"}); got != "GRANT SELECT ON `a\\_b\\%`.* TO 'dyno'@'%'" {
		t.Errorf("grants of more than one schema: %s", got)
	}
	err := &mysql.MySQLError{Number: 1044, Message: "Access denied for user 'dyno'@'%' to database 'a_b%'"}
	if got := HintOf(err); !strings.Contains(got, "GRANT SELECT ON `a\\_b\\%`.* TO the account") {
		t.Errorf("grants of more than one schema: %s", got)
	}
}
