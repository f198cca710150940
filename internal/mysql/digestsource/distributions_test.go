package digestsource

import (
	"database/sql"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/sketch"
	"github.com/dyno-perf/dyno/test/servers"
)

// stretches turns windows until a stretch ends after the load, and merges what all of them said.
func stretches(t *testing.T, r *Reader, load func()) (all class.Distributions, reasons []string) {
	t.Helper()
	all.Server = new(sketch.Bins)
	by := map[class.Distribution]*sketch.Bins{}
	loaded := false
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, _, err := r.Turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		d := r.Distributions()
		if d.Read() {
			if d.Reason != "" {
				reasons = append(reasons, d.Reason)
			}
			if d.Server != nil {
				all.Server.Merge(d.Server)
			}
			for _, c := range d.Classes {
				k := class.Distribution{ID: c.ID, Schema: c.Schema}
				if by[k] == nil {
					by[k] = new(sketch.Bins)
				}
				by[k].Merge(c.Times)
			}
			all.Origin = d.Origin
			if loaded {
				break
			}
			load()
			loaded = true
		}
	}
	if !loaded {
		t.Error("no stretch was read")
	}
	for k, b := range by {
		k.Times = b
		all.Classes = append(all.Classes, k)
	}
	return all, reasons
}

// timesOfClass returns the distribution of the class of a statement.
func timesOfClass(t *testing.T, d class.Distributions, id string) *sketch.Bins {
	t.Helper()
	for _, c := range d.Classes {
		if c.ID == id {
			return c.Times
		}
	}
	t.Fatalf("no distribution of class %s in %d", id, len(d.Classes))
	return nil
}

// timesLogged returns the times of a statement in a slow log, seconds.
func timesLogged(t *testing.T, log, statement string) (all []float64) {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`# Query_time: ([0-9.]+)`)
	for entry := range strings.SplitSeq(string(b), "# User@Host") {
		if m := at.FindStringSubmatch(entry); m != nil && strings.Contains(entry, statement) {
			x, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, x)
		}
	}
	return all
}

// timesOfHistory returns the times of statements as performance_schema measured each, seconds.
func timesOfHistory(t *testing.T, db *sql.DB, like string) (all []float64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT TIMER_WAIT/1e12 FROM performance_schema."+
		"events_statements_history_long WHERE SQL_TEXT LIKE ? ORDER BY TIMER_START", like)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var x float64
		if err := rows.Scan(&x); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDistributions runs statements of one class that take about 2 ms or about 80 ms. By a slow log of all statements
// quantiles are the exact ones within the sketch's 1 %, by MySQL's histograms within a bucket, and both modes are seen.
func TestDistributions(t *testing.T) {
	for _, flavor := range servers.Flavors {
		log := filepath.Join(t.TempDir(), "all.log")
		if err := os.Chmod(filepath.Dir(log), 0o777); err != nil {
			t.Fatal(err)
		}
		s := servers.Start(t, flavor, "performance_schema=ON", "slow_query_log=ON", "long_query_time=0",
			"log_output=FILE", "slow_query_log_file="+log,
			"performance_schema_consumer_events_statements_history_long=ON")
		db := table(t, s)
		for _, way := range []class.Origin{class.SlowLog, class.PerformanceSchema} {
			t.Run(flavor+"/"+string(way), func(t *testing.T) { distributions60(t, s, db, log, flavor, way) })
		}
	}
}

func distributions60(t *testing.T, s *servers.Server, db *sql.DB, log, flavor string, way class.Origin) {
	r := open(t, s, "root", Options{Distributions: time.Second, NoSlowLog: way == class.PerformanceSchema})
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, reasons := stretches(t, r, func() {
		for i := range 60 {
			run(t, db, "SELECT v, SLEEP("+[]string{"0.002", "0.002", "0.08"}[i%3]+") FROM t WHERE id=1")
		}
		settle(t, db)
	})
	if way == class.PerformanceSchema && flavor != "mysql" {
		if len(reasons) == 0 || !strings.Contains(reasons[0], "MariaDB does not") || len(d.Classes) != 0 ||
			d.Server.Count() != 0 {
			t.Errorf("%+v, %q", d, reasons)
		}
		return
	}
	if len(reasons) > 0 || d.Origin != way {
		t.Errorf("%s, %q", d.Origin, reasons)
	}
	exact := timesLogged(t, log, "SLEEP(")
	if way == class.PerformanceSchema { // which times the log's own writing, too
		exact = timesOfHistory(t, db, "SELECT v, SLEEP(%")
	}
	exact = exact[max(len(exact)-60, 0):]
	slices.Sort(exact)
	got := timesOfClass(t, d, classID("SELECT v, SLEEP(0.002) FROM t WHERE id=1"))
	if len(exact) != 60 || got.Count() != 60 || d.Server.Count() < 60 {
		t.Fatalf("%d statements were logged, %d counted, %d of all", len(exact), got.Count(), d.Server.Count())
	}
	within := 1.0/128 + 1e-9
	if way == class.PerformanceSchema {
		within = 0.048 // a bucket
	}
	for _, q := range []float64{0.1, 0.5, 0.75, 0.95, 0.99} {
		rank := sketch.Rank(q, 60)
		if x, y := got.Value(rank)/1e9, exact[rank-1]; math.Abs(x-y) > within*y+1e-6 {
			t.Errorf("quantile %v: %v s, %v s was logged", q, x, y)
		}
	}
	if low, high := got.Value(20)/1e9, got.Value(50)/1e9; low > 0.07 || high < 0.079 {
		t.Errorf("modes at %v and %v s", low, high)
	}
}

// TestDistributionsAfterReset empties the histograms and the digests: the stretch has no distribution and says why, the
// next one has.
func TestDistributionsAfterReset(t *testing.T) {
	s := servers.Start(t, "mysql", "performance_schema=ON")
	db := table(t, s)
	r := open(t, s, "root", Options{Distributions: time.Second})
	ask := func() {
		for range 40 {
			run(t, db, "SELECT v FROM t WHERE id=1")
		}
		settle(t, db)
	}
	ask()
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := classID("SELECT v FROM t WHERE id=1")
	f := func(load func()) (n, all uint64, why string) {
		d, reasons := stretches(t, r, load)
		for _, c := range d.Classes {
			if c.ID == id {
				n = c.Times.Count()
			}
		}
		return n, d.Server.Count(), strings.Join(reasons, "\n")
	}
	healthy := func(when string) {
		t.Helper()
		if n, all, why := f(ask); n != 40 || all < 40 || why != "" {
			t.Errorf("%s: %d of %d, %q", when, n, all, why)
		}
	}
	healthy("at first")
	for _, reset := range []string{
		"events_statements_summary_by_digest", "events_statements_histogram_by_digest",
		"events_statements_histogram_global",
	} {
		n, _, why := f(func() {
			ask()
			s.Exec(t, "TRUNCATE TABLE performance_schema."+reset)
			run(t, db, "SELECT v FROM t WHERE id=1")
			settle(t, db)
		})
		if !strings.Contains(why, "TRUNCATE") || reset != "events_statements_histogram_global" && n != 0 && n != 40 {
			t.Errorf("%s: %d, %q", reset, n, why)
		}
		healthy("after " + reset)
	}
}

// TestSlowLogSetAgain changes what the slow log holds while it is watched: no distribution is taken from a part of the
// statements, and the fix that is printed needs no restart.
func TestSlowLogSetAgain(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "slow.log")
			if err := os.Chmod(filepath.Dir(log), 0o777); err != nil {
				t.Fatal(err)
			}
			s := servers.Start(t, flavor, "performance_schema=OFF", "slow_query_log=OFF", "long_query_time=10",
				"log_output=FILE", "slow_query_log_file="+log)
			table(t, s)
			r := open(t, s, "root", Options{Distributions: time.Second})
			if err := r.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			f := func(what string, least uint64, want string, set ...string) {
				t.Helper()
				s.Exec(t, set...)
				d, reasons := stretches(t, r, func() {
					db := s.DB(t, "d") // sessions keep the setting that they began with
					for range 20 {
						run(t, db, "SELECT v FROM t WHERE id=1")
					}
					settle(t, db)
				})
				why := strings.Join(reasons, "\n")
				if n := d.Server.Count(); n < least || least == 0 && n > 0 || !strings.Contains(why, want) ||
					want == "" && why != "" {
					t.Errorf("%s: %d statements, %q", what, n, why)
				}
			}
			f("off", 0, "slow_query_log is off")
			f("switched on", 20, "until now", "SET GLOBAL long_query_time=0", "SET GLOBAL slow_query_log=ON")
			f("all", 20, "")
			f("set back", 0, "were changed", "SET GLOBAL long_query_time=10")
			f("part", 0, "only part of the statements")
		})
	}
}

// TestSlowLogOfOldSessions: sessions that are open keep their own long_query_time, which no global variable shows.
func TestSlowLogOfOldSessions(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "slow.log")
			if err := os.Chmod(filepath.Dir(log), 0o777); err != nil {
				t.Fatal(err)
			}
			s := servers.Start(t, flavor, "performance_schema=ON", "slow_query_log=ON", "long_query_time=10",
				"log_output=FILE", "slow_query_log_file="+log)
			db := table(t, s) // one session
			settle(t, db)
			s.Exec(t, "SET GLOBAL long_query_time=0")
			r := open(t, s, "root", Options{Distributions: time.Second})
			if err := r.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			f := func() (uint64, string) {
				d, reasons := stretches(t, r, func() {
					for range 40 {
						run(t, db, "SELECT v FROM t WHERE id=1")
					}
					settle(t, db)
				})
				return d.Server.Count(), strings.Join(reasons, "\n")
			}
			if n, why := f(); n >= 40 || !strings.Contains(why, "sessions that were open before") {
				t.Errorf("%d statements, %q", n, why)
			}
		})
	}
}

func classID(sql string) string { return class.ID(mytext.Fingerprint(sql)) }
