// Package tenant_test has one tenant of a shared server attack whoever reads that server: with stored functions of
// every name that Dyno lets through, with views in the place of tables, and with statements that call them. What became
// of it is asked of the server.
package tenant_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/mysql/capture"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

// The tenant's schemas: one has functions that run with the rights of who calls them, one with those of the tenant.
var schemas = map[string]string{"tenant": "INVOKER", "tenant_d": "DEFINER"}

const unchanged = 99 // max_connect_errors

// attack is a server with its tenant, as seen by the tests.
type attack struct {
	*servers.Server
	root   *sql.DB
	tenant *sql.DB
	file   string // which a function of the tenant writes, when it may
}

func plant(t *testing.T, flavor string) *attack {
	t.Helper()
	s := servers.Start(t, flavor, "log_bin_trust_function_creators=ON", "performance_schema=ON",
		fmt.Sprintf("max_connect_errors=%d", unchanged))
	a := &attack{Server: s, root: s.DB(t, ""), file: filepath.Join(s.Dir, "tmp", "stolen")}
	s.Exec(t, "CREATE DATABASE other", "CREATE TABLE other.salary (name VARCHAR(20) PRIMARY KEY, pay INT)",
		"INSERT INTO other.salary VALUES ('anna', 7777)",
		"CREATE USER tenant@localhost", "CREATE USER dyno@localhost")
	kind := strings.TrimSuffix(flavor, "80")
	names := []string{"other"}
	for name := range schemas {
		s.Exec(t, "CREATE DATABASE "+name, "GRANT ALL ON `"+strings.ReplaceAll(name, "_", "\\_")+
			"`.* TO tenant@localhost")
		names = append(names, name)
	}
	grants, err := target.Grants(dbms.Flavor(kind), "explain", "dyno@localhost", names)
	if err != nil {
		t.Fatal(err)
	}
	s.Exec(t, grants...)

	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.Logger = "tenant", "unix", s.Socket, &mysql.NopLogger{}
	k, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	a.tenant = sql.OpenDB(k)
	t.Cleanup(func() { a.tenant.Close() })
	for name, rights := range schemas {
		a.plantIn(t, name, rights)
	}
	return a
}

func (a *attack) do(t *testing.T, q string) {
	t.Helper()
	if _, err := a.tenant.Exec(q); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
}

// plantIn fills a schema as the tenant. Whatever is called outside of the tenant's own sessions calls caught, which
// does what harm it can that a READ ONLY transaction does not stop.
func (a *attack) plantIn(t *testing.T, in, rights string) {
	t.Helper()
	a.do(t, "CREATE TABLE "+in+".log (what TEXT)")
	a.do(t, "CREATE FUNCTION "+in+".caught() RETURNS VARCHAR(9) DETERMINISTIC SQL SECURITY "+rights+` BEGIN
		DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
		SET SESSION sort_buffer_size = 65536;
		SET GLOBAL max_connect_errors = 4711;
		SELECT * FROM other.salary INTO OUTFILE '`+a.file+`';
		RETURN '1';
	END`)
	for _, name := range planted() {
		a.do(t, "CREATE FUNCTION "+in+".`"+name+"`(a TEXT, b TEXT) RETURNS VARCHAR(9) DETERMINISTIC SQL SECURITY "+
			rights+
			" BEGIN IF USER() LIKE 'tenant@%' THEN RETURN '1'; END IF; RETURN "+in+".caught(); END")
	}
	a.do(t, "CREATE TABLE "+in+".big (id INT PRIMARY KEY, n INT, c VARCHAR(20), g INT AS (n + 1), KEY n (n))")
	a.do(t, "INSERT INTO "+in+".big (id, n, c) WITH RECURSIVE r AS (SELECT 1 i UNION ALL SELECT i + 1 FROM r WHERE i "+
		"< 300) SELECT i, i, i FROM r")
	for _, what := range []string{"UPDATE", "DELETE"} {
		a.do(t, "CREATE TRIGGER "+in+".on_"+strings.ToLower(what)+" BEFORE "+what+" ON "+in+
			".big FOR EACH ROW INSERT INTO "+in+".log VALUES ('"+what+"')")
	}
	a.do(t, "CREATE VIEW "+in+".fine AS SELECT id, n FROM "+in+".big")
	a.do(t, "CREATE VIEW "+in+".defined AS SELECT id, n FROM "+in+".big WHERE id = "+in+".evil('a', 'b')")
	a.do(t, "CREATE SQL SECURITY INVOKER VIEW "+in+".invoked AS SELECT id, n FROM "+in+
		".big WHERE id = "+in+".evil('a', 'b')")
	a.do(t, "CREATE VIEW "+in+".above AS SELECT id, n FROM "+in+".defined")
	a.do(t, "CREATE TABLE "+in+".swap (id INT PRIMARY KEY, n INT)")
	a.do(t, "INSERT INTO "+in+".swap SELECT id, n FROM "+in+".big")
	// Servers without a data dictionary evaluate these where they describe a view.
	for name, of := range map[string]string{
		"rounded": "ROUND(n / 3, %s)", "cut": "SUBSTR(c, %s)",
		"escaped": "c LIKE 'x' ESCAPE %s", "hashed": "SHA2(c, %s)",
	} {
		a.do(t, "CREATE SQL SECURITY INVOKER VIEW "+in+"."+name+" AS SELECT id, "+fmt.Sprintf(of, in+".evil('a', 'b')")+
			" AS n FROM "+in+".big")
	}
	// By the dictionary's collation this view bears the name of a table.
	a.do(t, "CREATE TABLE "+in+".e1 (id INT PRIMARY KEY)")
	a.do(t, "CREATE SQL SECURITY INVOKER VIEW "+in+".`é1` AS SELECT id, ROUND(n / 3, "+in+
		".evil('a', 'b')) AS n FROM "+in+".big")
	a.do(t, "CREATE SQL SECURITY INVOKER VIEW "+in+".other_swap AS SELECT id, ROUND(n / 3, "+in+
		".evil('a', 'b')) AS n FROM "+in+".big WHERE id = "+in+".evil('a', 'b')")
}

// toggle puts views in the place of tables and back until the returned function is called. It does so a few times at
// least.
func (a *attack) toggle(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var g sync.WaitGroup
	var swaps atomic.Int64
	for in := range schemas {
		g.Go(func() {
			for n := 0; n < 1_000_000 && (ctx.Err() == nil || swaps.Load() < 10); n++ {
				from, to := "other_swap", "swap_kept"
				if n%2 == 1 {
					from, to = to, from
				}
				// A reader may hold the name for a while: then the next one gets it.
				if _, err := a.tenant.ExecContext(context.WithoutCancel(ctx),
					fmt.Sprintf("RENAME TABLE %[1]s.swap TO %[1]s.%[3]s, %[1]s.%[2]s TO %[1]s.swap", in,
						from, to)); err == nil {
					swaps.Add(1)
				} else {
					n--
					if ctx.Err() != nil {
						return
					}
				}
				time.Sleep(time.Millisecond) // else nobody else ever gets the name
			}
		})
	}
	return func() {
		t.Helper()
		cancel()
		g.Wait()
		if swaps.Load() < 10 {
			t.Errorf("the names changed hands only %d times", swaps.Load())
		}
	}
}

// planted are the names of the functions that the tenant makes: those that are let through, and such as the parser
// alone knows.
func planted() []string {
	return append(sqlshape.Functions(), "evil", "insert_func", "char_func", "approx_count_distinct", "count", "max")
}

// statements are what the tenant runs in a schema, so that Dyno sees it. Each is to be asked for its plan.
func statements() (list []string) {
	for _, name := range planted() {
		for _, call := range []string{"%s('a', 'b')", "%s ('a', 'b')"} {
			list = append(list, "SELECT n FROM big WHERE id = "+fmt.Sprintf(call, name))
		}
	}
	for _, call := range []string{
		"now/**/('a', 'b')", "`now`('a', 'b')", "tenant.now('a', 'b')",
		"tenant_d . `evil` ('a', 'b')", "EVIL('a', 'b')", "MAX ('a', 'b')",
	} {
		list = append(list, "SELECT n FROM big WHERE id = "+call)
	}
	return append(list, "SELECT n FROM defined", "SELECT n FROM invoked WHERE id = 1", "SELECT n FROM above",
		"SELECT * FROM big WHERE id IN (SELECT id FROM above)",
		"SELECT n FROM tenant_d.above", "WITH x AS (SELECT id FROM above) SELECT id FROM x",
		"UPDATE big SET n = 1 WHERE id = evil('a', 'b')",
		"UPDATE defined SET n = 1", "DELETE FROM invoked", "UPDATE big SET n = 1 WHERE id = 1",
		"DELETE FROM big WHERE id = 1", "SELECT g FROM big WHERE g = 3",
		"SELECT n FROM swap WHERE id = 1", "UPDATE swap SET n = 1 WHERE id = 1",
		"WITH defined AS (SELECT 1 AS id, 1 AS n) DELETE FROM defined WHERE id = 1",
		"WITH invoked AS (SELECT 1 AS id, 1 AS n) DELETE FROM invoked WHERE id = 1",
		"WITH defined AS (SELECT 1 AS id, 1 AS n) UPDATE defined SET n = 1", "WITH defined AS (SELECT 1 AS id, 1 AS "+
			"n) DELETE defined FROM defined",
		"WITH defined AS (SELECT 1 AS id, 1 AS n) DELETE FROM b USING defined AS d, big AS b WHERE d.id = b.id",
		"WITH RECURSIVE defined AS (SELECT id, n FROM defined) SELECT n FROM defined",
		"WITH RECURSIVE a AS (SELECT n FROM defined), defined AS (SELECT 1 AS n) SELECT n FROM a",
		"WITH defined AS (SELECT 1 AS n) SELECT n FROM (SELECT n FROM defined) AS x WHERE n IN (SELECT n FROM "+
			"tenant_d.defined)")
}

// hidden name a view in what the parser takes for a string.
var hidden = []string{
	"SELECT 1 /*T! , ' */ FROM tenant.defined WHERE 1 OR ' , ' /* ' */",
	"SELECT 1 /*T![auto_rand] , ' */ FROM tenant.defined WHERE 1 OR ' , ' /* ' */",
}

// ran asks the server how often a trap was sprung.
func (a *attack) ran(t *testing.T) (n int) {
	t.Helper()
	err := a.root.QueryRow("SELECT COALESCE(SUM(COUNT_STAR), 0) FROM " +
		"performance_schema.events_statements_summary_by_program WHERE OBJECT_NAME = 'caught'").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// harmless fails the test when anything of the tenant ran, wrote or read.
func (a *attack) harmless(t *testing.T, after string) {
	t.Helper()
	if n := a.ran(t); n != 0 {
		t.Errorf("after %s: functions of the tenant ran %d times in sessions of others", after, n)
	}
	var errs int
	if err := a.root.QueryRow("SELECT @@global.max_connect_errors").Scan(&errs); err != nil || errs != unchanged {
		t.Errorf("after %s: max_connect_errors is %d: %v", after, errs, err)
	}
	if _, err := os.Stat(a.file); err == nil {
		t.Errorf("after %s: the tenant has a file of other's rows", after)
	}
	for in := range schemas {
		var logged sql.NullString
		var sum int
		err := a.root.QueryRow("SELECT (SELECT GROUP_CONCAT(DISTINCT what) FROM "+in+".log), (SELECT SUM(n) FROM "+in+
			".big)").Scan(&logged, &sum)
		if err != nil || logged.Valid || sum != 300*301/2 {
			t.Errorf("after %s: the log of %s has %q, the sum of its rows is %d: %v", after, in,
				logged.String, sum, err)
		}
	}
}

// reset takes back what the tenant's functions do.
func (a *attack) reset(t *testing.T) {
	t.Helper()
	a.Exec(t, fmt.Sprintf("SET GLOBAL max_connect_errors = %d", unchanged),
		"TRUNCATE TABLE performance_schema.events_statements_summary_by_program",
		"DELETE FROM tenant.log", "DELETE FROM tenant_d.log")
	os.Remove(a.file)
}

func (a *attack) open(t *testing.T, user, trusted string) *target.Target {
	t.Helper()
	x, err := target.Open(t.Context(), endpoint.Spec{
		Name: "shared", Scheme: "mysql", Network: "unix", Address: a.Socket,
		User: user, ExplainSchemas: trusted,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// TestHostileTenant reads a server as root, and as an account with the grants that Dyno itself advises, while its
// tenant attacks.
func TestHostileTenant(t *testing.T) {
	for _, flavor := range []string{"mariadb", "mysql", "mysql80"} {
		t.Run(flavor, func(t *testing.T) {
			a := plant(t, flavor)
			// The traps work: this is what EXPLAIN and SELECT do as root, unguarded.
			for in := range schemas {
				for _, q := range []string{
					"EXPLAIN FORMAT=TRADITIONAL SELECT n FROM " + in +
						".big WHERE id = (SELECT " + in + ".evil(c, 'b') FROM " + in + ".big WHERE id = 1)",
					"SELECT n FROM " + in + ".defined",
				} {
					a.reset(t)
					rows, err := a.root.Query(q)
					if err != nil {
						t.Fatalf("%s: %v", q, err)
					}
					for rows.Next() {
					}
					_ = rows.Err() // of what it wrote
					rows.Close()
					if a.ran(t) == 0 {
						t.Errorf("%s ran nothing: this test cannot fail", q)
					}
				}
			}
			a.reset(t)
			a.harmless(t, "nothing")

			plans := map[string]int{}
			for _, user := range []string{"root", "dyno"} {
				x, err := capture.NewExplainer(t.Context(), a.open(t, user, ""))
				if err != nil {
					t.Fatal(err)
				}
				defer x.Close()
				for in := range schemas {
					for _, q := range statements() {
						p, err := x.Explain(t.Context(), "X", in, q)
						if err != nil {
							t.Fatalf("%s: %s: %v", user, q, err)
						}
						if p.Error == "" {
							plans[user]++
						}
					}
				}
				a.harmless(t, "plans as "+user)
				// What is a comment to servers is code to the parser.
				for _, q := range hidden {
					if p, err := x.Explain(t.Context(), "X", "information_schema", q); err != nil ||
						!strings.HasPrefix(p.Error, "not run") {
						t.Errorf("%s: %s: %q, %v", user, q, p.Error, err)
					}
					a.harmless(t, "a plan as "+user+" of "+q)
					a.reset(t)
				}
			}
			if plans["root"] != 0 || plans["dyno"] < 20 { // some names are functions of any server's own
				t.Errorf("plans: %v", plans)
			}

			t.Run("toggled", func(t *testing.T) {
				a.Exec(t, "GRANT SHOW VIEW ON tenant.* TO dyno@localhost") // worse than what is advised
				stop := a.toggle(t)
				x, err := capture.NewExplainer(t.Context(), a.open(t, "dyno", ""))
				if err != nil {
					t.Fatal(err)
				}
				defer x.Close()
				seen := map[string]int{}
				for range 60 {
					for in := range schemas {
						p, err := x.Explain(t.Context(), "X", in, "SELECT n FROM swap WHERE id = 1")
						if err != nil {
							t.Fatal(err)
						}
						switch {
						case p.Error == "":
							seen["plan"]++
						case strings.Contains(p.Error, "names a view"):
							seen["view"]++
						default:
							seen[p.Error]++
						}
					}
				}
				a.harmless(t, "plans of a name that changes hands")
				t.Logf("%v", seen)
				users := []string{"dyno"}
				if flavor == "mariadb" { // a look takes seconds
					users = append(users, "root")
				}
				for _, user := range users {
					a.look(t, user)
					a.harmless(t, "a look as "+user)
				}
				stop()
			})

			// With the schema trusted by name the same account gets plans, of views too. What runs is then the tenant's
			// own word.
			x, err := capture.NewExplainer(t.Context(), a.open(t, "root", "tenant"))
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			f := func(db, sql, want string) {
				t.Helper()
				p, err := x.Explain(t.Context(), "X", db, sql)
				if err != nil || !strings.Contains(p.Error, want) || want == "" && p.Error != "" {
					t.Errorf("%s: %q, %v; want %q", sql, p.Error, err, want)
				}
			}
			f("tenant", "SELECT n FROM big WHERE id = 1", "")
			f("tenant", "SELECT n FROM fine WHERE id = 1", "")
			f("tenant", "UPDATE big SET n = 1 WHERE id = abs(1)", "")
			f("tenant", "SELECT n FROM defined", "the view defined")
			f("tenant", "SELECT n FROM big WHERE id = now ('a', 'b')", "not a built-in function")
			f("tenant_d", "SELECT n FROM big WHERE id = 1", "not run: this account")
			f("tenant", "SELECT n FROM tenant_d.fine", "not run: this account")
			f("", "SELECT 1", "")
			a.harmless(t, "trusting a schema")
		})
	}
}

// look takes a snapshot as a diagnosis does while the tenant's statements run, until one has them.
func (a *attack) look(t *testing.T, user string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var g sync.WaitGroup
	defer g.Wait()
	defer cancel()
	for _, q := range []string{
		"SELECT COUNT(*) FROM big a JOIN big b WHERE a.n < b.n AND a.id > insert_func('a', 'b')",
		"SELECT COUNT(*) FROM big a JOIN big b WHERE a.n < b.n AND a.id > now ('a', 'b')",
		"SELECT COUNT(*) FROM swap a JOIN swap b WHERE a.n < b.n AND a.id > 3",
	} {
		for in := range schemas {
			g.Go(func() {
				conn, err := a.tenant.Conn(ctx)
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = conn.ExecContext(ctx, "USE "+in)
				for ctx.Err() == nil {
					_, _ = conn.ExecContext(ctx, q) // a name that is just given away fails
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
	x := a.open(t, user, "")
	var plans []explain.Plan
	for range 10 { // a busy machine may leave no time for the statements, or for the questions
		snap, err := capture.Take(ctx, x, capture.Options{Window: capture.MinWindow})
		if err != nil {
			t.Logf("a look as %s: %v", user, err)
			continue
		}
		plans = snap.Plans
		if slices.ContainsFunc(plans, func(p explain.Plan) bool {
			return strings.HasPrefix(p.Error, "not run: it calls ") ||
				strings.HasPrefix(p.Error, "not run: explain statement: it calls ")
		}) {
			return
		}
	}
	t.Errorf("as %s no plan was refused: %+v", user, plans)
}
