package digestsource

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestATagHidesNothing has another account put Dyno's tag before what it runs, passwords among it.
func TestATagHidesNothing(t *testing.T) {
	const (
		load   = "/* dyno:x */ SELECT COUNT(*), SLEEP(0.2) FROM t WHERE v=3"
		secret = "SELECT SLEEP(0.5), AES_ENCRYPT('x', 'hunter2')"
	)
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			f := func(s *servers.Server, origin class.Origin, o Options) {
				t.Helper()
				c := mysql.NewConfig()
				c.User, c.Net, c.Addr, c.DBName = "tenant", "unix", s.Socket, "d"
				k, err := mysql.NewConnector(c)
				if err != nil {
					t.Fatal(err)
				}
				db := sql.OpenDB(k)
				defer db.Close()
				cs, _ := window(t, open(t, s, "root", o), func() {
					for range 5 {
						if _, err := db.ExecContext(context.Background(), load); err != nil {
							t.Fatal(err)
						}
					}
					s.Exec(t, secret, "DROP USER IF EXISTS y", "CREATE USER y IDENTIFIED BY 'hunter2'")
					s.Exec(t, "/* dyno:x */ SELECT 'of the account that dyno uses', SLEEP(0.3)")
					settle(t, db)
				})
				for _, x := range cs {
					if strings.Contains(x.Example, "hunter2") {
						t.Errorf("%s: %s", origin, x.Example)
					}
				}
				if x, ok := of(cs, secret); origin != class.PerformanceSchema &&
					x.Example != "SELECT SLEEP(?), AES_ENCRYPT(?, ?)" {
					// a digest makes a list of the arguments
					t.Errorf("%s: %v %+v", origin, ok, x)
				}
				x, ok := of(cs, load)
				if !ok || x.Origin != origin || x.TimeSec < 0.4 {
					t.Errorf("%s: %v %+v", origin, ok, x)
				}
				if origin != class.PerformanceSchema || len(x.Users) > 0 { // whom it saw is a matter of luck there
					if len(x.Users) != 1 || x.Users[0] != "tenant" {
						t.Errorf("%s: users %q", origin, x.Users)
					}
				}
				if x, ok := of(cs, "SELECT 'of', SLEEP(0.3)"); ok && origin != class.PerformanceSchema {
					t.Errorf("%s: Dyno's own account: %+v", origin, x)
				}
			}
			start := func(settings ...string) *servers.Server {
				s := servers.Start(t, flavor, settings...)
				table(t, s)
				s.Exec(t, "CREATE USER tenant@localhost", "GRANT ALL ON d.* TO tenant@localhost")
				return s
			}
			f(start("performance_schema=ON"), class.PerformanceSchema, Options{NoSlowLog: true})
			s := start("performance_schema=OFF", "slow_query_log=ON", "long_query_time=0", "log_output=FILE")
			f(s, class.SlowLog, Options{})
			f(s, class.Processlist, Options{NoSlowLog: true})
		})
	}
}

// TestOwn: of a statement that Dyno sends, as much is left out as it has sent, and what is left is somebody else's.
func TestOwn(t *testing.T) {
	before := map[string]uint64{"selecta_rather_long_listfromt": 5, "select1": 9, "explainformat=traditionalselect1": 7}
	now := map[string]uint64{"selecta_rather_long_listfromt": 25, "select1": 9, "explainformat=traditionalselect1": 8}
	o := newOwn(before, now, 1, map[string]bool{"selectseenelsewhere": true})
	f := func(fp string, cut bool, count, left uint64) {
		t.Helper()
		x := growth{fingerprint: fp, cut: cut}
		x.row.v[cCount], x.row.v[cTime] = count, count*1e12
		n := o.take(&x)
		if x.row.v[cCount] != left || x.row.v[cTime] != left*1e12 || n != count-left || x.mixed != (n > 0) {
			t.Errorf("%s: %d are left, want %d, in %v s: %+v", fp, x.row.v[cCount], left,
				float64(x.row.v[cTime])*picosecond, x)
		}
	}
	f("select a_rather_long_list from t", false, 16, 0)
	f("select a_rather_long_list", false, 1, 1)
	f("select a_rather_long_list", true, 4, 0)
	f("select a", true, 1, 1) // too short to tell
	f("select b_rather_long_list", true, 1, 1)
	f("select ?", false, 2, 2)
	f("select 1", false, 2, 0)                         // the edges of a window are not sharp
	f("select a_rather_long_list from t", false, 3, 0) // nor here
	f("select a_rather_long_list from t", false, 1000, 999)
	f("select a_rather_long_list from t", false, 7, 7)
	f("explain format=traditional select 1", false, 2, 0)
	f("explain format=traditional select 1", false, 3, 3) // a user sends it, too
	if o.n != 0 {
		t.Errorf("%d of another dyno", o.n)
	}
	f("select seenelsewhere", false, 5, 0)
	if o.n != 5 || o.sec != 5 {
		t.Errorf("%d of another dyno in %v s", o.n, o.sec)
	}
	o = newOwn(nil, map[string]uint64{"select1": 100}, 1, nil)
	f("select 1", false, 1000, 900) // no load hides behind a statement of Dyno's

	// Several processes ask at the same seconds, and at an edge each may have one under way.
	three := map[string]uint64{"select1": 100}
	o = newOwn(three, three, 3, nil)
	f("select 1", false, 3, 0)
	o = newOwn(three, three, 1, nil)
	f("select 1", false, 3, 3)
	o = newOwn(three, three, 3, nil)
	f("select 1", false, 5, 5)
}
