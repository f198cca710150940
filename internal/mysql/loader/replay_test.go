package loader

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

// entries is a log.
type entries struct {
	list []slowlog.Entry
	at   int
}

func (x *entries) Next(e *slowlog.Entry) error {
	if x.at == len(x.list) {
		return io.EOF
	}
	*e = x.list[x.at]
	x.at++
	return nil
}

// slow returns an entry of a slow log that ended at a time in seconds and took some.
func slow(thread uint64, end, took float64, sql string) slowlog.Entry {
	return slowlog.Entry{
		At: int64(end * 1e6), Thread: thread, HasID: thread > 0, User: []byte("app"), Host: []byte("h"),
		SQL: []byte(sql), Rate: 1,
		Figures: []slowlog.Figure{{Attribute: slowlog.QueryTime, Value: took}},
	}
}

// TestQueryTime: an entry says how long its statement took, or that its log does not tell.
func TestQueryTime(t *testing.T) {
	f := func(e slowlog.Entry, wantTook float64, wantTimed bool) {
		t.Helper()
		r := newReplayer(nil, false, &entries{list: []slowlog.Entry{e}})
		var x load.Logged
		if err := r.Next(t.Context(), &x); err != nil {
			t.Fatal(err)
		}
		_, timed := queryTime(&e)
		if x.Took != int64(wantTook*1e6) || timed != wantTimed || x.At != e.At || x.AtBegin != e.AtBegin {
			t.Errorf("%+v, timed %v; want %v, %v", x, timed, wantTook, wantTimed)
		}
	}
	f(slow(1, 1000, 0.5, ""), 0.5, true)
	f(slow(1, 1001, 3, ""), 3, true)
	f(slowlog.Entry{At: 1002e6, AtBegin: true}, 0, false) // of a general log
	f(slow(1, 0, 0.25, ""), 0.25, true)                   // it has not said when
	f(slow(1, 500, 0, ""), 0, true)
	f(slow(1, 500, 1e10, ""), 0, true) // no time
	maria := slow(1, 1000, 501, "")
	maria.AtBegin = true
	f(maria, 501, true)
}

// logged is a statement that a server's general log has.
type logged struct {
	thread uint64
	at     time.Time
	sql    string
}

// generalLog makes a server write down everything, in a table, and returns what reads it.
func generalLog(t *testing.T, s *servers.Server) (read func(like string) []logged) {
	t.Helper()
	s.Exec(t, "SET GLOBAL log_output='TABLE'", "SET GLOBAL general_log=ON", "TRUNCATE mysql.general_log")
	db := s.DB(t, "")
	return func(like string) (out []logged) {
		t.Helper()
		rows, err := db.Query("SELECT thread_id, CAST(event_time AS CHAR), CONVERT(argument USING utf8mb4) FROM "+
			"mysql.general_log WHERE command_type = 'Query' AND argument LIKE ? AND argument NOT LIKE "+
			"'%general_log%' ORDER BY event_time", like)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var x logged
			var at string
			if err := rows.Scan(&x.thread, &at, &x.sql); err != nil {
				t.Fatal(err)
			}
			if x.at, err = time.Parse("2006-01-02 15:04:05.999999", at); err != nil {
				t.Fatal(err)
			}
			out = append(out, x)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// replayed runs a log on a target and fails the test on an error.
func replayedOn(t *testing.T, tg *target.Target, c load.ReplayConfig, src Source) (loadresult.Run, load.Replayed) {
	t.Helper()
	var sum loadresult.Tick
	r, x, err := on(tg).Replay(t.Context(), c, src, func(u loadresult.Tick) { sum.Add(u) })
	if err != nil {
		t.Fatal(err)
	}
	if r.State != loadresult.Done {
		t.Fatalf("the replay is %s", r.State)
	}
	if sum.Operations() != r.Total.Operations() || sum.Queries() != r.Total.Queries() ||
		sum.ErrorCount() != r.Total.ErrorCount() {
		t.Errorf("the ticks have %d operations, %d queries and %d errors, the run %d, %d and %d",
			sum.Operations(), sum.Queries(), sum.ErrorCount(), r.Total.Operations(),
			r.Total.Queries(), r.Total.ErrorCount())
	}
	var skipped uint64
	for _, n := range x.Skipped {
		skipped += n
	}
	if x.Entries != x.Sent+skipped+x.Failed+x.Left {
		t.Errorf("%d entries, but %d sent, %d skipped, %d failed, %d left", x.Entries, x.Sent,
			skipped, x.Failed, x.Left)
	}
	return r, x
}

// TestReplayKeepsOrderAndTime replays several sessions at two speeds, and compares with what the server saw.
func TestReplayKeepsOrderAndTime(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		read := generalLog(t, s)
		for _, speed := range []float64{1, 10, math.Inf(1)} {
			const sessions, each, step = 4, 25, 0.08
			var list []slowlog.Entry
			at := map[string]float64{} // seconds since the first statement
			for n := range each {
				for i := range sessions {
					begin := step*float64(n) + 0.02*float64(i)
					text := fmt.Sprintf("SELECT 'speed %v session %d statement %d'", speed, i, n)
					at[text] = begin
					list = append(list, slow(uint64(i+1), 1000+begin+0.001, 0.001, text))
				}
			}
			r, x := replayedOn(t, tg, load.ReplayConfig{Speed: speed}, &entries{list: list})
			if x.Sent != sessions*each || x.Sessions != sessions || x.Connections != sessions ||
				r.Total.Operations() != sessions*each || r.Total.Ops[0].Reads != sessions*each {
				t.Errorf("%d statements of %d sessions over %d connections, %d operations, %d reads", x.Sent,
					x.Sessions, x.Connections, r.Total.Operations(), r.Total.Ops[0].Reads)
			}
			got := read(fmt.Sprintf("SELECT 'speed %v session%%", speed))
			seen := map[string]int{}
			last := map[uint64]int{}
			of := map[uint64]int{}
			var lag []float64
			for _, g := range got {
				seen[g.sql]++
				var i, n int
				if _, err := fmt.Sscanf(g.sql[strings.Index(g.sql, "session"):], "session %d statement %d", &i,
					&n); err != nil {
					t.Fatal(err)
				}
				if p, ok := of[g.thread]; ok && p != i {
					t.Errorf("thread %d of the server had sessions %d and %d", g.thread, p, i)
				}
				if p, ok := last[g.thread]; ok && n <= p {
					t.Errorf("session %d: statement %d came after %d", i, n, p)
				}
				of[g.thread], last[g.thread] = i, n
				lag = append(lag, g.at.Sub(got[0].at).Seconds()-at[g.sql]/speed)
			}
			for text := range at {
				if seen[text] != 1 {
					t.Errorf("%s came %d times", text, seen[text])
				}
			}
			if math.IsInf(speed, 1) {
				continue
			}
			// What stalls for a moment, on a busy machine, is late alone: most are in time.
			inTime := slices.Sorted(slices.Values(lag))[len(lag)/2]
			for i := range lag {
				lag[i] = math.Abs(lag[i] - inTime)
			}
			slices.Sort(lag)
			if median := lag[len(lag)/2]; median > 0.2 {
				t.Errorf("speed %v: half of the statements are more than %v s off", speed, median)
			}
			planned := (at[got[len(got)*3/4].sql] - at[got[len(got)/4].sql]) / speed
			if took := got[len(got)*3/4].at.Sub(got[len(got)/4].at).Seconds(); took < planned-0.4 || took > planned+5 {
				t.Errorf("speed %v: half of the statements took %v s, planned are %v s", speed, took, planned)
			}
			if r.Total.Response() == nil || r.Total.Open == nil || r.Total.Open.Due != sessions*each ||
				r.Total.Open.Dropped != 0 {
				t.Errorf("speed %v: due were %+v", speed, r.Total.Open)
			}
		}
	})
}

// TestReplayOfARealLog lets a server log what several sessions do, and replays its slow log and its general log.
func TestReplayOfARealLog(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		s.Exec(t, "CREATE DATABASE x", "CREATE DATABASE `y z`", "CREATE TABLE x.t (id INT PRIMARY KEY, n INT)",
			"CREATE TABLE `y z`.t (id INT PRIMARY KEY, n INT)",
			"INSERT INTO x.t VALUES (1, 1), (2, 2)", "INSERT INTO `y z`.t VALUES (1, 10), (2, 20)")
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		slowFile, generalFile := filepath.Join(dir, "slow.log"), filepath.Join(dir, "general.log")
		s.Exec(t, "SET GLOBAL log_output='FILE'", "SET GLOBAL slow_query_log_file='"+slowFile+"'",
			"SET GLOBAL general_log_file='"+generalFile+"'",
			"SET GLOBAL long_query_time=0", "SET GLOBAL slow_query_log=ON", "SET GLOBAL general_log=ON")
		want := map[int][]string{} // by session
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				schema := []string{"x", "y z", "x"}[i]
				c, err := s.DB(t, schema).Conn(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				for n := range 10 {
					list := []string{fmt.Sprintf("SELECT /* no hint */ n, 'session %d, %d' FROM t WHERE id IN (1, 2)",
						i, n)}
					if n == 3 {
						list = append(list, fmt.Sprintf("UPDATE t SET n = n + 1 WHERE id = %d", 1+i%2))
					}
					if n == 5 {
						list = append([]string{"BEGIN"}, append(list, "COMMIT")...)
					}
					for _, q := range list {
						if _, err := c.ExecContext(t.Context(), q); err != nil {
							t.Error(err)
						}
						mu.Lock()
						want[i] = append(want[i], q)
						mu.Unlock()
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		all.Wait()
		for _, file := range []string{slowFile, generalFile} {
			logHolds(t, file, 30, "SELECT /* no hint")
		}
		s.Exec(t, "SET GLOBAL slow_query_log=OFF", "SET GLOBAL general_log=OFF")
		read := generalLog(t, s)
		for _, file := range []string{slowFile, generalFile} {
			for _, writes := range []bool{false, true} {
				t.Run(filepath.Base(file)+fmt.Sprint(writes), func(t *testing.T) {
					s.Exec(t, "TRUNCATE mysql.general_log")
					before := sumOfRows(t, s)
					_, x := replayedOn(t, tg, load.ReplayConfig{Speed: 5, Writes: writes}, parsed(t, file))
					changed := sumOfRows(t, s) - before
					if writes != (changed == 3) || !writes && changed != 0 {
						t.Errorf("writes=%v: the rows changed by %d", writes, changed)
					}
					byThread := map[uint64][]string{}
					for _, g := range read("%") {
						if regexp.MustCompile(`^(SELECT /\* no hint|UPDATE|BEGIN|COMMIT)`).MatchString(g.sql) {
							byThread[g.thread] = append(byThread[g.thread], g.sql)
						}
					}
					matched := map[int]bool{}
					for _, list := range byThread {
						for i, w := range want {
							if !writes {
								w = slices.DeleteFunc(slices.Clone(w), func(q string) bool {
									return strings.HasPrefix(q, "UPDATE")
								})
							}
							if slices.Equal(list, w) {
								matched[i] = true
							}
						}
					}
					if len(matched) != 3 || len(byThread) != 3 {
						t.Errorf("writes=%v: sessions %v came as they were, of %d: %v; want %v\n%+v", writes, matched,
							len(byThread), byThread, want, x)
					}
				})
			}
		}
	})
}

// TestLogsTellWhenAStatementBegan holds what the moment at which a statement is due comes from.
func TestLogsTellWhenAStatementBegan(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, _ *target.Target) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "slow.log")
		s.Exec(t, "SET GLOBAL log_output='FILE'", "SET GLOBAL slow_query_log_file='"+file+"'",
			"SET GLOBAL long_query_time=1", "SET GLOBAL slow_query_log=ON")
		db := s.DB(t, "") // connections from before keep their long_query_time
		var begin, end time.Time
		if err := db.Ping(); err != nil {
			t.Fatal(err)
		}
		begin = time.Now()
		if _, err := db.Exec("SELECT SLEEP(2.5)"); err != nil {
			t.Fatal(err)
		}
		end = time.Now()
		logHolds(t, file, 1, "SELECT SLEEP(2.5)")
		var e slowlog.Entry
		if err := parsed(t, file).Next(&e); err != nil {
			t.Fatal(err)
		}
		took, timed := queryTime(&e)
		at := time.UnixMicro(e.Began())
		if e.At%1_000_000 == 0 { // the rest is cut off
			at = at.Add(time.Second)
		}
		if !timed || took < 2_400_000 || at.Before(begin.Add(-100*time.Millisecond)) ||
			at.After(end.Add(-1400*time.Millisecond)) {
			t.Errorf("a statement that ran from %v to %v began at %v and took %d µs by the log", begin, end, at, took)
		}
	})
}

// logHolds waits until a log has a text so often: servers write it after their answer.
func logHolds(t *testing.T, file string, n int, text string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(file)
		if err == nil && bytes.Count(b, []byte(text)) >= n && bytes.HasSuffix(b, []byte("\n")) {
			return
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("%s has %q %d times, not %d: %v", file, text, bytes.Count(b, []byte(text)), n, err)
		}
	}
}

func sumOfRows(t *testing.T, s *servers.Server) (n int) {
	t.Helper()
	if err := s.DB(t, "").QueryRow("SELECT (SELECT SUM(n) FROM x.t) + (SELECT SUM(n) FROM `y z`.t)").
		Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// logParser is what both parsers do.
type logParser interface {
	Reset(piece []byte, offset int64, carried slowlog.State)
	Next(e *slowlog.Entry) bool
}

// parsedLog is a file, parsed.
type parsedLog struct{ p logParser }

func (x parsedLog) Next(e *slowlog.Entry) error {
	if !x.p.Next(e) {
		return io.EOF
	}
	return nil
}

func parsed(t *testing.T, file string) Source {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p logParser = slowlog.NewParser()
	if strings.HasPrefix(filepath.Base(file), "general") {
		p = slowlog.NewGeneralParser()
	}
	p.Reset(b, 0, slowlog.State{})
	return parsedLog{p}
}

// TestReplayErrors expects the numbers of the server, a lost connection and a missing database to be counted, and the
// replay to go on.
func TestReplayErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		var list []slowlog.Entry
		add := func(thread uint64, db, text string) {
			e := slow(thread, 1000+float64(len(list))/100, 0, text)
			e.DB = []byte(db)
			list = append(list, e)
		}
		add(1, "", "SELECT * FROM mysql.nowhere")
		add(1, "", "SELECT 1 FROM")
		add(1, "missing", "SELECT 'not sent'")
		add(1, "mysql", "SELECT COUNT(*) FROM user")
		add(2, "", "KILL CONNECTION_ID()") // not sent
		add(2, "", "SELECT 1")
		r, x := replayedOn(t, tg, load.ReplayConfig{Speed: math.Inf(1)}, &entries{list: list})
		if x.Sent != 4 || x.Failed != 1 || r.Total.Errors["1146"] != 1 || r.Total.Errors["1049"] != 1 ||
			r.Total.Errors["1064"] != 1 || r.Total.ErrorCount() != 3 || r.Total.Operations() != 2 {
			t.Errorf("%+v, errors %v, %d operations", x, r.Total.Errors, r.Total.Operations())
		}
		if r.Total.Ops[0].Failed != 3 {
			t.Errorf("%d operations failed, want 3", r.Total.Ops[0].Failed)
		}

		// A session whose connection is killed goes on with another.
		list = nil
		add(1, "", "SELECT SLEEP(30) /* victim */")
		add(1, "mysql", "SELECT DATABASE(), 'after'")
		read := generalLog(t, s)
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			db := s.DB(t, "")
			for {
				var id uint64
				err := db.QueryRow("SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(30) " +
					"/* victim%'").Scan(&id)
				if err == nil {
					_, err = db.Exec(fmt.Sprintf("KILL %d", id))
				}
				if err == nil {
					return
				}
				if !errors.Is(err, sql.ErrNoRows) {
					t.Error(err)
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		r, x = replayedOn(t, tg, load.ReplayConfig{Speed: math.Inf(1)}, &entries{list: list})
		<-killed
		if r.Total.Errors["lost"] != 1 || r.Total.Reconnects != 1 || r.Total.Operations() != 1 ||
			x.Connections != 2 || x.Sent != 2 {
			t.Errorf("errors %v, %d reconnects, %d operations, %+v", r.Total.Errors, r.Total.Reconnects,
				r.Total.Operations(), x)
		}
		if n := len(read("SELECT SLEEP(30)%")); n != 1 {
			t.Errorf("the statement that was killed came %d times", n)
		}
	})
}

// TestReplayReadsAlone hides writes where no text shows them.
func TestReplayReadsAlone(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		s.Exec(t, "SET GLOBAL log_bin_trust_function_creators=1", "CREATE DATABASE x", "CREATE TABLE x.t (n INT)",
			"CREATE TABLE x.u (n INT) ENGINE=MyISAM",
			"CREATE FUNCTION x.f() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO x.t VALUES (1); RETURN 1; END",
			"CREATE FUNCTION x.g() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO x.u VALUES (1); RETURN 1; END",
			"CREATE VIEW x.v AS SELECT x.f()", "CREATE VIEW x.w AS SELECT x.g()")
		var list []slowlog.Entry
		for i, q := range []string{
			"SELECT * FROM x.v", "SELECT * FROM x.w", "SELECT x.f()", "INSERT INTO x.t VALUES (2)", "DELETE FROM x.u",
			"BEGIN", "SELECT * FROM x.v", "COMMIT", "SET autocommit=0", "SELECT * FROM x.w",
			"/* dyno:scrape */ SELECT 1", "SET GLOBAL read_only=1",
		} {
			list = append(list, slow(1, 1000+float64(i)/100, 0, q))
		}
		r, x := replayedOn(t, tg, load.ReplayConfig{Speed: math.Inf(1)}, &entries{list: list})
		var n int
		if err := s.DB(t, "").QueryRow("SELECT (SELECT COUNT(*) FROM x.t) + (SELECT COUNT(*) FROM x.u) + " +
			"@@global.read_only").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != 0 {
			t.Errorf("%d rows were written", n)
		}
		if r.Total.Errors["1792"] != 4 || x.Sent != 7 || x.Skipped[load.SkipNotRead.String()] != 3 ||
			x.Skipped[load.SkipServer.String()] != 1 || x.Skipped[load.SkipOwn.String()] != 1 {
			t.Errorf("errors %v, %+v", r.Total.Errors, x)
		}
		if !strings.Contains(strings.Join(r.Warnings, "\n"), "3 of 12 entries were not sent: not proven to be reads") {
			t.Errorf("warnings are %q", r.Warnings)
		}
	})
}

// TestReplayRunsNoStoredFunction has statements in the log that call what somebody stored under the name of a function
// that other servers have, or behind a view, and such as write files.
func TestReplayRunsNoStoredFunction(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		s.Exec(t, "SET GLOBAL log_bin_trust_function_creators=1", "CREATE DATABASE tenant",
			"CREATE TABLE tenant.t (n INT)")
		for _, f := range []string{"nvl2", "st_transform", "now", "count", "1f", "0x", "0b2", "0bad", "evil"} {
			s.Exec(t, "CREATE FUNCTION tenant.`"+f+"`(a INT) RETURNS INT BEGIN SET GLOBAL max_connect_errors=77; "+
				"RETURN 1; END")
		}
		list := func(queries ...string) (out []slowlog.Entry) {
			for i, q := range queries {
				e := slow(1, 1000+float64(i)/100, 0, q)
				e.DB = []byte("tenant")
				out = append(out, e)
			}
			return out
		}
		file := filepath.Join(s.Dir, "tmp", "written")
		unharmed := func() {
			t.Helper()
			if _, err := os.Stat(file); err == nil {
				t.Error("a file was written")
			}
			var n int
			if err := s.DB(t, "").QueryRow("SELECT @@global.max_connect_errors").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == 77 {
				t.Error("a stored function ran")
			}
		}
		src := list("SELECT nvl2(1)", "SELECT st_transform(1)", "SELECT now (1)", "SELECT tenant.count/**/(1)",
			"SELECT 1f(1)", "SELECT evil /*!999999 IN */ (1)",
			"SET NAMES gbk", "SELECT '\xbf\\', evil(1) -- '", "SET sql_mode='NO_BACKSLASH_ESCAPES'",
			"SELECT 'a\\', evil(1) -- '", "/*!999999 SELECT */ SET GLOBAL max_connect_errors=77",
			"SELECT 0x(1)", "SELECT 0b2(1)", "SELECT 0bad(1)",
			"SELECT 1e1INTO OUTFILE '"+file+"'", "SELECT 'x',1.5INTO DUMPFILE '"+file+"'",
			"SELECT 1.e5INTO OUTFILE '"+file+"'",
			"SET NAMES latin1", "SELECT 'x' INTO\xa0OUTFILE '"+file+"'", "SELECT 'x' a\xc2\xa0INTO OUTFILE '"+file+"'",
			"SELECT COUNT(*), MAX(n) FROM t")
		r, x := replayedOn(t, tg, load.ReplayConfig{Speed: math.Inf(1)}, &entries{list: src})
		unharmed()
		if r.Total.Operations() < 1 {
			t.Errorf("%+v, %d operations: what only reads is sent", x, r.Total.Operations())
		}

		s.Exec(t, "INSERT INTO tenant.t VALUES (1)", "CREATE USER reader IDENTIFIED BY 'a'",
			"GRANT SELECT ON *.* TO reader",
			"CREATE VIEW tenant.harmless AS SELECT COUNT(*) AS n, MAX(CONCAT(n, 'a')) AS m FROM tenant.t WHERE n IN "+
				"(1, 2)")
		spec := tg.Spec()
		spec.User, spec.Password = "reader", endpoint.NewSecret("a")
		reads, err := target.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { reads.Close() }()
		refused := func(tg *target.Target, view string) {
			t.Helper()
			_, _, err := on(tg).Replay(t.Context(), load.ReplayConfig{Speed: math.Inf(1)},
				&entries{list: list("SELECT * FROM " + view)}, nil)
			if err == nil || !strings.Contains(err.Error(), `"tenant.`+view+`"`) ||
				!strings.Contains(err.Error(), "explain-schemas=tenant") {
				t.Errorf("a replay with the view %s: %v", view, err)
			}
			unharmed()
		}
		refused(reads, "harmless") // what it holds is not shown
		s.Exec(t, "GRANT SHOW VIEW ON *.* TO reader")
		reads.Close() // it reaches new connections only
		if reads, err = target.Open(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		for _, view := range []string{
			"invoker AS SELECT tenant.evil(1) FROM tenant.t", "definer AS SELECT evil(1) FROM tenant.t",
			"locking AS SELECT GET_LOCK('a', 1) FROM tenant.t",
		} {
			name, _, _ := strings.Cut(view, " ")
			security := map[bool]string{true: "INVOKER", false: "DEFINER"}[name == "invoker"]
			s.Exec(t, "USE tenant", "CREATE SQL SECURITY "+security+" VIEW tenant."+view)
			refused(tg, name)
			refused(reads, name)
			s.Exec(t, "DROP VIEW tenant."+name)
		}
		if r, _ := replayedOn(t, reads, load.ReplayConfig{Speed: math.Inf(1)},
			&entries{list: list("SELECT * FROM harmless")}); r.Total.Operations() < 1 {
			t.Error("a view that only reads is not read")
		}

		s.Exec(t, "SET GLOBAL sql_mode='ANSI_QUOTES'")
		_, _, err = on(tg).Replay(t.Context(), load.ReplayConfig{}, &entries{list: list("SELECT 1")}, nil)
		if err == nil || !strings.Contains(err.Error(), "ANSI_QUOTES") {
			t.Errorf("a server that takes texts for names: %v", err)
		}
	})
}

// TestReplayWithFewConnections has more sessions at a time than connections.
func TestReplayWithFewConnections(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		read := generalLog(t, s)
		const sessions, each = 8, 12
		var list []slowlog.Entry
		for n := range each {
			for i := range sessions {
				text := fmt.Sprintf("SELECT DATABASE(), 'session %d statement %d'", i, n)
				switch {
				case i == 0 && n == 2:
					text = "BEGIN" // it keeps its connection
				case i == 1 && n == 0:
					text = "SET @a = 1"
				}
				e := slow(uint64(i+1), 1000+0.3*float64(n)+0.01*float64(i), 0, text)
				e.DB = []byte([]string{"mysql", "information_schema"}[i%2])
				list = append(list, e)
			}
		}
		list = append(list, slowlog.Entry{At: 1010e6, Thread: 3, HasID: true, SQL: []byte("Quit"), Admin: true},
			slow(3, 1010, 0, "SELECT 'another session'"))
		var most int
		r, x, err := on(tg).Replay(t.Context(), load.ReplayConfig{Speed: 3, Threads: 2}, &entries{list: list},
			func(u loadresult.Tick) { most = max(most, u.Threads) })
		if err != nil {
			t.Fatal(err)
		}
		if most > 2 || x.Sent != sessions*each+1 || r.Total.ErrorCount() != 0 || x.Connections <= 2 ||
			x.Sessions != sessions+1 || x.Cut != 0 {
			t.Errorf("%d connections at a time, %+v, errors %v", most, x, r.Total.Errors)
		}
		last := map[int]int{}
		got := read("SELECT DATABASE(), 'session %")
		if len(got) != sessions*each-2 {
			t.Errorf("%d statements came, want %d", len(got), sessions*each-2)
		}
		for _, g := range got {
			var i, n int
			if _, err := fmt.Sscanf(g.sql, "SELECT DATABASE(), 'session %d statement %d'", &i, &n); err != nil {
				t.Fatal(err)
			}
			if p, ok := last[i]; ok && n <= p {
				t.Errorf("session %d: statement %d came after %d", i, n, p)
			}
			last[i] = n
		}
	})
}

// waiting is a log whose last entry comes when the one before has been sent.
type waiting struct {
	entries
	came func() bool
}

func (x *waiting) Next(e *slowlog.Entry) error {
	if x.at == len(x.list)-1 {
		for begin := time.Now(); !x.came(); time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > time.Minute {
				return errors.New("it was never sent")
			}
		}
	}
	return x.entries.Next(e)
}

// TestReplayCutsTransactions fills all connections with sessions in transactions, while another waits and the log does
// not go on before that has had its turn.
func TestReplayCutsTransactions(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		read := generalLog(t, s)
		src := &waiting{entries{list: []slowlog.Entry{
			slow(1, 1000, 0, "BEGIN"), slow(2, 1000.1, 0, "SET @a = 1"), slow(3, 1020, 0, "SELECT 'third'"),
			slow(1, 1020.1, 0, "SELECT 'first again'"),
		}}, func() bool { return len(read("SELECT 'third'%")) > 0 }}
		_, x := replayedOn(t, tg, load.ReplayConfig{Speed: 20, Threads: 2}, src)
		if x.Sent != 4 || x.Cut != 1 || len(read("SELECT 'first again'")) != 1 {
			t.Errorf("%+v", x)
		}
	})
}

// TestReplayStops stops a replay in the middle of a statement and of a pause.
func TestReplayStops(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		list := []slowlog.Entry{
			slow(1, 1000, 0, "SELECT 1"), slow(1, 1000.1, 0, "SELECT SLEEP(100) /* long */"),
			slow(1, 1000.2, 0, "SELECT 2"), slow(2, 5000, 0, "SELECT 3"),
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			db := s.DB(t, "")
			for n := 0; n == 0 && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
				_ = db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT " +
					"SLEEP(100) /* long%'").Scan(&n)
			}
			cancel()
		}()
		within(t, 60*time.Second, "a replay that is stopped", func(context.Context) {
			r, x, err := on(tg).Replay(ctx, load.ReplayConfig{}, &entries{list: list}, nil)
			if err != nil || r.State != loadresult.Stopped {
				t.Errorf("state %s, %v", r.State, err)
			}
			if x.Entries != 4 || x.Sent != 2 || x.Left != 2 || r.Total.Operations() != 1 {
				t.Errorf("%+v, %d operations", x, r.Total.Operations())
			}
		})
		for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			var n int
			if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE " +
				"'SELECT SLEEP(100) /* long%'").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			if time.Since(begin) > 20*time.Second {
				t.Fatal("the server still runs the statement")
			}
		}
		r, x := replayedOn(t, tg, load.ReplayConfig{Time: time.Second},
			&entries{list: []slowlog.Entry{slow(1, 1000, 0, "SELECT 1"), slow(1, 9000, 0, "SELECT 2")}})
		if r.Elapsed < time.Second || x.Sent != 1 || x.Left != 1 {
			t.Errorf("after %v: %+v", r.Elapsed, x)
		}
	})
}

// broken is a log that cannot be read on.
type broken struct{ n int }

func (x *broken) Next(e *slowlog.Entry) error {
	if x.n++; x.n > 3 {
		return errors.New("the disk is gone")
	}
	*e = slow(1, 1000+float64(x.n)/100, 0, "SELECT 1")
	return nil
}

func TestReplayRefuses(t *testing.T) {
	s := servers.Start(t, servers.Flavors[0])
	tg := open(t, s)
	f := func(c load.ReplayConfig, src Source, want string) {
		t.Helper()
		r, _, err := on(tg).Replay(t.Context(), c, src, nil)
		if err == nil || !strings.Contains(err.Error(), want) || r.State != loadresult.Failed ||
			r.Error != err.Error() {
			t.Errorf("%+v: %s, %v; want %q", c, r.State, err, want)
		}
	}
	f(load.ReplayConfig{}, &entries{}, "the log has no statements")
	f(load.ReplayConfig{}, &broken{}, "the disk is gone")
	f(load.ReplayConfig{Speed: -1}, &entries{}, "speed=-1")
	f(load.ReplayConfig{Speed: math.NaN()}, &entries{}, "speed=NaN")
	f(load.ReplayConfig{Threads: -1}, &entries{}, "threads=-1")
	f(load.ReplayConfig{Time: -1}, &entries{}, "time=")
}
