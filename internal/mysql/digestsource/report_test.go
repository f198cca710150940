package digestsource

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/test/servers"
)

// watch makes the report of a window in which do runs.
func watch(t *testing.T, r *Reader, o ReportOptions, do func()) digest.Report {
	t.Helper()
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	do()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	rep, _, err := r.Report(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func inReport(rep digest.Report, sql string) (digest.Row, bool) {
	want := class.Key(mytext.Fingerprint(sql))
	for _, c := range rep.Classes {
		if class.Key(c.Fingerprint) == want && c.ID == class.ID(c.Fingerprint) {
			return c, true
		}
	}
	return digest.Row{}, false
}

// short lists the classes of a report.
func short(rep digest.Report) string {
	var b strings.Builder
	for _, c := range rep.Classes {
		fmt.Fprintf(&b, "\n%d × %s (%d running, %d killed, sampled %v)", c.Count, c.Fingerprint,
			c.Running, c.Killed, c.Sampled)
	}
	return b.String() + "\n" + strings.Join(rep.Global.Notes, "\n")
}

func noted(rep digest.Report, words string) bool {
	return strings.Contains(strings.Join(rep.Global.Notes, "\n"), words)
}

func TestReportCountsAsTheServerDoes(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			db := table(t, s)
			s.Exec(t, "CREATE DATABASE e", "CREATE TABLE e.t LIKE d.t")
			other := s.DB(t, "e")
			other.SetMaxOpenConns(1)
			r := open(t, s, "root", Options{Detail: true})
			rep := watch(t, r, ReportOptions{}, func() {
				for i := range 30 {
					run(t, db, fmt.Sprintf("SELECT id FROM t WHERE v=%d", i%10))
				}
				for i := range 5 {
					run(t, other, fmt.Sprintf("SELECT id FROM t WHERE v=%d", i))
				}
				run(t, db, "SELECT v, id FROM t WHERE id=7")
				run(t, db, "UPDATE t SET v=v+1 WHERE id IN (1,2,3)")
				settle(t, db)
				settle(t, other)
			})
			if rep.Version != digest.Version || rep.Global.Source != fromDigests || rep.Global.Began.IsZero() ||
				!rep.Global.Ended.After(rep.Global.Began) {
				t.Errorf("%+v", rep.Global)
			}
			var sum float64
			var calls uint64
			for i, c := range rep.Classes {
				sum += c.Attributes[queryTime].Sum
				calls += c.Count
				if strings.Contains(c.Fingerprint, "_schema") || strings.Contains(c.Fingerprint, "global status") ||
					strings.Contains(c.Fingerprint, "utc_timestamp") ||
					strings.Contains(c.Fingerprint, "lock_wait_timeout") {
					t.Errorf("Dyno's own: %s", c.Fingerprint)
				}
				if c.FirstSeen.Before(rep.Global.Began) || c.LastSeen.After(rep.Global.Ended) ||
					c.LastSeen.Before(c.FirstSeen) {
					t.Errorf("seen from %s to %s in a window from %s to %s", c.FirstSeen, c.LastSeen,
						rep.Global.Began, rep.Global.Ended)
				}
				if c.Rank != i+1 || i > 0 && c.Attributes[queryTime].Sum > rep.Classes[i-1].Attributes[queryTime].Sum {
					t.Errorf("rank %d at %d", c.Rank, i)
				}
			}
			g := rep.Global
			if g.Count != calls || g.Classes != len(rep.Classes) || math.Abs(g.Attributes[queryTime].Sum-sum) > 1e-9 ||
				g.Own == 0 {
				t.Errorf("%d calls and %v s in the classes: %+v", calls, sum, g)
			}
			c, ok := inReport(rep, "SELECT id FROM t WHERE v=1")
			if !ok {
				t.Fatal(short(rep))
			}
			if c.Count != 35 || len(c.Databases) != 2 || c.Databases[0] != (digest.Tally{Name: "d", Count: 30}) ||
				c.Databases[1] != (digest.Tally{Name: "e", Count: 5}) {
				t.Errorf("%+v", c)
			}
			if as := mytext.Fingerprint("SELECT id FROM t WHERE v=1"); flavor == "mysql" &&
				(c.Fingerprint != as || c.ID != class.ID(as)) {
				t.Errorf("%s: the log would have %s", c.Fingerprint, as)
			}
			// Beside the server's own totals: nobody else ran the statement.
			var count, sent, examined uint64
			var wait float64
			digests := map[string]bool{}
			rows, err := s.DB(t, "").Query("SELECT DIGEST, DIGEST_TEXT, COUNT_STAR, SUM_ROWS_SENT, " +
				"SUM_ROWS_EXAMINED, SUM_TIMER_WAIT FROM performance_schema.events_statements_summary_by_digest WHERE " +
				"SCHEMA_NAME IN ('d','e')")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var d, text string
				var n, a, b uint64
				var w float64
				if err := rows.Scan(&d, &text, &n, &a, &b, &w); err != nil {
					t.Fatal(err)
				}
				if class.Key(mytext.FromDigestText(text)) == class.Key(c.Fingerprint) {
					digests[d] = true
					count, sent, examined, wait = count+n, sent+a, examined+b, wait+w*picosecond
				}
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			f := func(name string, want float64) {
				t.Helper()
				x := c.Attributes[name]
				if x.Count != 35 || math.Abs(x.Sum-want) > 1e-9 || math.Abs(x.Avg-want/35) > 1e-9 ||
					x.Info.Label == "" {
					t.Errorf("%s: %+v, want %v", name, x, want)
				}
			}
			if count != 35 {
				t.Fatalf("the server counted %d", count)
			}
			f("query_time", wait)
			f("rows_sent", float64(sent))
			f("rows_examined", float64(examined))
			if f := c.Flags["no_index_used"]; sent != 3000 || f.Info.Label != "No index" || f.Yes != 35 || f.No != 0 {
				t.Errorf("%d rows sent, flags %+v", sent, c.Flags)
			}
			if c.Attributes["select_scan"].Sum != 35 || c.Attributes["errors"].Sum != 0 ||
				c.Attributes["errors"].Max != known.Of(0.0) {
				t.Errorf("%+v", c.Attributes)
			}
			if c.Attributes["rows_sent"].P95.OK() || c.Attributes["rows_sent"].Min.OK() {
				t.Error("a sum tells no distribution")
			}
			// The row is of this window, so that its extremes are.
			q := c.Attributes[queryTime]
			low, ok1 := q.Min.Get()
			high, ok2 := q.Max.Get()
			if !ok1 || !ok2 || low <= 0 || low > q.Avg || high < q.Avg || high > wait {
				t.Errorf("%+v", q)
			}
			if has := flavor == "mysql"; q.P95.OK() != has || q.Median.OK() != has || q.Stddev.OK() != has ||
				g.Attributes[queryTime].P95.OK() != has ||
				noted(rep, "does not report how times are distributed") == has {
				t.Errorf("%s: %+v %v", flavor, q, g.Notes)
			}
			if p, ok := q.P95.Get(); ok && (p < q.Median.Or(0) || p > high || p < low) {
				t.Errorf("%+v", q)
			}
			var n uint64
			for _, x := range c.Histogram {
				n += x
			}
			if flavor == "mysql" && n != 35 {
				t.Errorf("%v", c.Histogram)
			}
			// What ran once is known in full everywhere.
			one, ok := inReport(rep, "SELECT v, id FROM t WHERE id=7")
			x := one.Attributes[queryTime]
			if !ok || one.Count != 1 || x.Min != known.Of(x.Sum) || x.Max != known.Of(x.Sum) ||
				x.P95 != known.Of(x.Sum) || x.Median != known.Of(x.Sum) || x.Stddev != known.Of(0.0) {
				t.Errorf("%+v", one)
			}
			if up, ok := inReport(rep, "UPDATE t SET v=v+1 WHERE id IN (1,2)"); !ok ||
				up.Attributes["rows_affected"].Sum != 3 {
				t.Errorf("%+v", up)
			}
			if c.Item != "SELECT t" || len(c.Tables) != 1 || c.Tables[0] != "t" {
				t.Errorf("item %q, tables %v", c.Item, c.Tables)
			}
			if flavor == "mysql" && (c.Worst == nil || !strings.HasPrefix(c.Worst.SQL, "SELECT id FROM t WHERE v=") ||
				c.Worst.QuerySec <= 0 || c.Worst.Time.Before(g.Began.Add(-time.Second))) {
				t.Errorf("%+v", c.Worst)
			}
			if v, ok := g.QPS.Get(); !ok || math.Abs(v*g.Ended.Sub(g.Began).Seconds()-float64(g.Count)) > 0.1 {
				t.Errorf("%v per second", g.QPS)
			}
			b, err := json.Marshal(rep)
			if err != nil {
				t.Fatal(err)
			}
			var back digest.Report
			if err := json.Unmarshal(b, &back); err != nil || len(back.Classes) != len(rep.Classes) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestTimesOfTheWindowOnly has a class that was slow before the window and is quick within it.
func TestTimesOfTheWindowOnly(t *testing.T) {
	s := servers.Start(t, "mysql", "performance_schema=ON")
	db := table(t, s)
	for range 10 {
		run(t, db, "SELECT SLEEP(0.3), 'x'")
	}
	settle(t, db)
	r := open(t, s, "root", Options{Detail: true})
	began := time.Now()
	rep := watch(t, r, ReportOptions{}, func() {
		for range 20 {
			run(t, db, "SELECT SLEEP(0.01), 'x'")
		}
		settle(t, db)
	})
	mean := time.Since(began).Seconds() / 20
	c, ok := inReport(rep, "SELECT SLEEP(0.3), 'x'")
	if !ok || c.Count != 20 {
		t.Fatal(short(rep))
	}
	q := c.Attributes[queryTime]
	med, ok1 := q.Median.Get()
	high, ok2 := q.Max.Get()
	low, ok3 := q.Min.Get()
	if !ok1 || !ok2 || !ok3 || med < 0.0095 || med > 2*mean || low < 0.0095 || low > med || high < med {
		t.Errorf("%+v, %v s on average with all that is around", q, mean)
	}
	if p, ok := q.P95.Get(); !ok || p < med || p > high || !c.VarianceToMean.OK() {
		t.Errorf("%+v", q)
	}
	if c.Worst == nil || c.Worst.QuerySec > max(high, 1) {
		t.Errorf("%+v, the longest took %v", c.Worst, high)
	}
	if c.Histogram[3]+c.Histogram[4]+c.Histogram[5] != 20 {
		t.Errorf("%v", c.Histogram)
	}
}

func TestRunningAndKilledAreCounted(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			table(t, s)
			const long = "SELECT COUNT(*) FROM t a JOIN t b JOIN t c ON a.v <> b.v AND b.v <> c.v"
			victim, runner := s.DB(t, "d"), s.DB(t, "d")
			victim.SetMaxOpenConns(1)
			runner.SetMaxOpenConns(1)
			var id uint64
			if err := victim.QueryRow("SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ran := make(chan struct{})
			r := open(t, s, "root", Options{Detail: true, Interval: 20 * time.Millisecond})
			rep := watch(t, r, ReportOptions{}, func() {
				stopped := make(chan error)
				go func() { _, err := victim.Exec(long); stopped <- err }()
				for end := time.Now().Add(20 * time.Second); ; {
					var n int
					if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID=? "+
						"AND COMMAND='Query' AND INFO LIKE 'SELECT COUNT%'", id).Scan(&n); err != nil {
						t.Fatal(err)
					}
					if n == 1 || time.Now().After(end) {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				s.Exec(t, fmt.Sprintf("KILL QUERY %d", id))
				if err := <-stopped; err == nil {
					t.Error("it was not killed")
				}
				settle(t, victim)
				if flavor == "mariadb" {
					if _, err := victim.Exec("SET STATEMENT max_statement_time=0.05 FOR " + long); err == nil {
						t.Error("it was not stopped")
					}
					settle(t, victim)
				}
				go func() { defer close(ran); runner.ExecContext(ctx, "SELECT SLEEP(120), 'runs'") }()
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
					var n int
					if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE " +
						"COMMAND='Query' AND INFO LIKE 'SELECT SLEEP%'").Scan(&n); err != nil || n == 1 {
						break
					}
				}
			})
			c, ok := inReport(rep, long)
			if !ok || c.Count != 1 || c.Attributes["errors"].Sum != 1 {
				t.Error(short(rep))
			}
			switch flavor {
			case "mysql":
				if c.Killed != 1 || !noted(rep, "killed or out of time: 1, of which the class of 1") {
					t.Errorf("%d killed: %v", c.Killed, rep.Global.Notes)
				}
			case "mariadb":
				if !noted(rep, "runs of KILL: 1;") || !noted(rep, "stopped by max_statement_time: 1") {
					t.Errorf("%v", rep.Global.Notes)
				}
			}
			c, ok = inReport(rep, "SELECT SLEEP(120), 'runs'")
			if !ok || c.Running != 1 || c.Count != 0 || !c.Sampled {
				t.Errorf("%+v", c)
			}
			if !noted(rep, "still running when the window ended") {
				t.Errorf("%v", rep.Global.Notes)
			}
			cancel()
			<-ran
		})
	}
}

func TestReportOfOverflowAndCutTexts(t *testing.T) {
	s := servers.Start(t, "mariadb", "performance_schema=ON", "performance_schema_digests_size=200",
		"max_digest_length=100", "performance_schema_max_digest_length=100")
	db := table(t, s)
	var wide strings.Builder
	for i := range 60 {
		fmt.Fprintf(&wide, " OR v=%d AND id<>%d", i, i)
	}
	rep := watch(t, open(t, s, "root", Options{Detail: true}), ReportOptions{}, func() {
		run(t, db, "SELECT id FROM t WHERE id=1"+wide.String())
		for i := range 300 {
			run(t, db, fmt.Sprintf("SELECT id AS a%d FROM t WHERE id=1", i))
		}
	})
	if !noted(rep, "did not fit") || !noted(rep, "may be cut off") || !noted(rep, "performance_schema_digests_size") {
		t.Errorf("%v", rep.Global.Notes)
	}
	cut := 0
	for _, c := range rep.Classes {
		if c.Truncated {
			cut++
			if !strings.HasPrefix(c.Fingerprint, "select id from t where id = ? or") {
				t.Errorf("%s is whole", c.Fingerprint)
			}
		}
	}
	if cut == 0 {
		t.Error("no class is marked as cut off")
	}
}

func TestReportWithoutDigests(t *testing.T) {
	const secret = "tulip-4711"
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=OFF")
			db := table(t, s)
			rep := watch(t, open(t, s, "root", Options{Detail: true, Interval: 20 * time.Millisecond}),
				ReportOptions{Redact: true}, func() {
					for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
						run(t, db, "SELECT SLEEP(0.2), '"+secret+"' FROM t WHERE id=1")
					}
				})
			c, ok := inReport(rep, "SELECT SLEEP(0.2), 'x' FROM t WHERE id=1")
			if !ok || !c.Sampled || rep.Global.Source != fromSamples || len(c.Users) != 1 ||
				c.Users[0].Name != "root" || c.Users[0].Count == 0 || len(c.Databases) != 1 {
				t.Fatal(short(rep))
			}
			q := c.Attributes[queryTime]
			if q.Sum < 0.7 || q.Sum > 4 || q.P95.OK() || q.Median.OK() {
				t.Errorf("%+v", q)
			}
			if !noted(rep, "estimated") || !noted(rep, "performance_schema is off") {
				t.Errorf("%v", rep.Global.Notes)
			}
			b, err := json.Marshal(rep)
			if err != nil || strings.Contains(string(b), secret) || c.Worst == nil {
				t.Errorf("%v %s", err, b)
			}
		})
	}
}

func TestReportOfALogOfEverything(t *testing.T) {
	const secret = "tulip-4711"
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=OFF", "slow_query_log=ON",
				"long_query_time=0", "log_output=FILE")
			db := table(t, s)
			s.Exec(t, "CREATE DATABASE e", "CREATE TABLE e.t LIKE d.t")
			other := s.DB(t, "e")
			other.SetMaxOpenConns(1)
			run(t, db, "SELECT v FROM t WHERE id=77") // before the window
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan struct{})
			rep := watch(t, open(t, s, "root", Options{Detail: true, Interval: 20 * time.Millisecond}),
				ReportOptions{Redact: true, Limit: digest.Limit{Count: 2}, OrderBy: digest.Order{Func: digest.Cnt}},
				func() {
					for i := range 12 {
						run(t, db, fmt.Sprintf("SELECT v\nFROM t\nWHERE id=%d AND '%s'<>''", i, secret))
					}
					for range 3 {
						run(t, other, "SELECT v FROM t WHERE id=1 AND 'x'<>''")
					}
					run(t, db, "SELECT id FROM t WHERE v=3")
					s.Exec(t, "/* dyno:test */ SELECT 'own'")
					settle(t, db)
					go func() { defer close(ended); s.DB(t, "d").ExecContext(ctx, "SELECT SLEEP(120), '"+secret+"'") }()
					time.Sleep(300 * time.Millisecond)
				})
			stop()
			<-ended
			c, ok := inReport(rep, "SELECT v FROM t WHERE id=1 AND 'x'<>''")
			q := c.Attributes[queryTime]
			if !ok || rep.Global.Source != fromLog || c.Count != 15 || c.Rank != 1 || c.Sampled ||
				len(c.Databases) != 2 || c.Databases[0] != (digest.Tally{Name: "d", Count: 12}) || len(c.Users) != 1 ||
				c.Users[0].Count != 15 {
				t.Fatalf("%s\n%+v", short(rep), c)
			}
			if q.Count != 15 || !q.P95.OK() || !q.Stddev.OK() || !q.Min.OK() || q.Max.Or(0) < q.Avg ||
				c.Attributes["rows_sent"].Sum != 12 || c.QPS.Or(0) <= 0 {
				t.Errorf("%+v", c)
			}
			if len(rep.Classes) != 2 || rep.Other.Classes == 0 || rep.Global.Classes != 2+rep.Other.Classes ||
				rep.Global.Own == 0 {
				t.Errorf("%+v %+v", rep.Global, rep.Other)
			}
			if !noted(rep, "still running when the window ended") {
				t.Errorf("%v", rep.Global.Notes)
			}
			b, err := json.Marshal(rep)
			if err != nil || strings.Contains(string(b), secret) || c.Worst == nil ||
				!strings.Contains(c.Worst.SQL, "id=?") {
				t.Errorf("%v %+v", err, c.Worst)
			}
		})
	}
}

func TestReportNeedsDetail(t *testing.T) {
	s := servers.Start(t, "mariadb")
	r := open(t, s, "root", Options{})
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Report(t.Context(), ReportOptions{}); err == nil {
		t.Error("a report without its columns")
	}
}

func TestFingerprintsAsWritten(t *testing.T) {
	row := func(schema, sample string, n uint64, cut bool) growth {
		fp := mytext.FromDigestText("SELECT `v` FROM `t` WHERE `id` = ?")
		x := growth{digestKey: digestKey{schema, "1"}, fingerprint: fp, id: class.ID(fp), cut: cut}
		x.row.sample, x.row.v[cCount] = sample, n
		return x
	}
	f := func(want string, rows ...growth) {
		t.Helper()
		var known spellings
		known.learn(rows, nil, nil)
		if known.spell(rows[:1]); rows[0].spelled != (want != "") || rows[0].spelled && rows[0].fingerprint != want {
			t.Errorf("got %q, want %q", rows[0].fingerprint, want)
		}
	}
	var full spellings
	for i := range 40 {
		name := strings.Repeat("x", 1<<20) + strconv.Itoa(i)
		full.learn(nil, []class.Class{{Fingerprint: "select " + name}}, nil)
	}
	if full.bytes > spellingsBytes || len(full.written) == 0 {
		t.Errorf("%d spellings of %d bytes are kept", len(full.written), full.bytes)
	}
	f("select v from t where id=?", row("a", "SELECT v FROM t WHERE id=7", 1, false))
	f("select v from t where id=?", row("a", "SELECT v FROM t WHERE id=7", 2, false),
		row("b", "SELECT v FROM t WHERE id = 7", 1, false), row("c", "", 9, false))
	f("select v from t where id = ?", row("a", "SELECT v FROM t WHERE id=7", 2, false),
		row("b", "SELECT v FROM t WHERE id = 7", 3, false))
	f("select v from t where id=?", row("a", "SELECT v FROM t WHERE id=?", 1, false))
	f("", row("a", "SELECT v FROM t WHERE id=7...", 1, false))
	f("", row("a", "SELECT v FROM t WHERE id=7", 1, true))
	f("", row("a", "SELECT w FROM t WHERE id=7", 1, false)) // of another statement: not to be trusted
	f("", row("a", "", 1, false))
}

func TestDecadesAndFigures(t *testing.T) {
	f := func(sec float64, want int) {
		t.Helper()
		if got := decade(sec); got != want {
			t.Errorf("%v s is in %d, want %d", sec, got, want)
		}
	}
	f(0, 0)
	f(9e-6, 0)
	f(20e-6, 1)
	f(0.02, 4)
	f(9, 6)
	f(1e9, 7)
	x := summed(infoOf(0), 4, 0)
	if x.Max != known.Of(0.0) || x.P95 != known.Of(0.0) {
		t.Errorf("four zeros: %+v", x)
	}
	if x := summed(infoOf(0), 0, 0); x.Max.OK() || x.Avg != 0 {
		t.Errorf("nothing: %+v", x)
	}
	a, b := summed(infoOf(0), 1, 2), summed(infoOf(0), 3, 4)
	if j := joined(a, b); j.Count != 4 || j.Sum != 6 || j.Avg != 1.5 || j.Max.OK() || j.P95.OK() {
		t.Errorf("%+v", j)
	}
	a.Estimated = true
	for _, j := range []digest.Figures{joined(a, b), joined(b, a), joined(digest.Figures{Estimated: true}, b)} {
		if j.Mean().OK() || j.Sum == 0 {
			t.Errorf("a mean of an estimate: %+v", j)
		}
	}
}
