package observe_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // what is kept is read as it is

	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/servers"
)

// marks are the literals of the load, in small letters. The word comes in hexadecimal form too, as InnoDB shows it.
var marks = []string{
	"zqmark", hex.EncodeToString([]byte("zqmark")),
	"987654321987", "31415.92653589", "1913-07-29", "deadc0de77",
}

// unpacked returns a text and what is packed in it.
func unpacked(text []byte) [][]byte {
	dec, _ := zstd.NewReader(nil)
	defer dec.Close()
	all := [][]byte{text}
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for rest := text; ; {
		i := bytes.Index(rest, magic)
		if i < 0 {
			break
		}
		rest = rest[i:]
		if b, _ := dec.DecodeAll(rest, nil); len(b) > 0 { // what follows the frame is an error
			all = append(all, b)
		}
		rest = rest[len(magic):]
	}
	return all
}

// leaked returns the marks that a text holds, whatever it is packed in.
func leaked(text []byte) (found []string) {
	for _, b := range unpacked(text) {
		low := bytes.ToLower(b)
		for _, m := range marks {
			if i := bytes.Index(low, []byte(m)); i >= 0 {
				found = append(found, fmt.Sprintf("%s in %.300q", m, b[max(0, i-150):min(len(b), i+100)]))
			}
		}
	}
	return found
}

// kept returns the marks in all that is below a home, and whether definitions of tables are stored with plans.
func kept(t *testing.T, home string) (found []string, defined bool) {
	t.Helper()
	stored(t, home, func(where string, b []byte) {
		for _, x := range leaked(b) {
			found = append(found, where+": "+x)
		}
		defined = defined || strings.HasSuffix(where, ", plan.doc") && slices.ContainsFunc(unpacked(b),
			func(b []byte) bool { return bytes.Contains(b, []byte(`"data_type":"varchar"`)) })
	})
	return found, defined
}

// stored reads every byte below a home, what SQLite files hold cell by cell.
func stored(t *testing.T, home string, each func(where string, b []byte)) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		each(path, b)
		if !bytes.HasPrefix(b, []byte("SQLite format 3")) {
			return nil
		}
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		if err != nil {
			return err
		}
		defer db.Close()
		tables := column(t, db, "SELECT name FROM sqlite_master WHERE type = 'table'")
		for _, table := range tables {
			rows, err := db.Query("SELECT * FROM \"" + string(table) + "\"")
			if err != nil {
				return err
			}
			cols, _ := rows.Columns()
			for rows.Next() {
				cells, into := make([][]byte, len(cols)), make([]any, len(cols))
				for i := range cells {
					into[i] = &cells[i]
				}
				if err := rows.Scan(into...); err != nil {
					return err
				}
				for i, c := range cells {
					each(fmt.Sprintf("%s, %s.%s", path, table, cols[i]), c)
				}
			}
			if err := rows.Err(); err != nil {
				return err
			}
			rows.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// said is what a stream has sent.
type said struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

func (s *said) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.all.Bytes())
}

func column(t *testing.T, db *sql.DB, q string) (out [][]byte) {
	t.Helper()
	rows, err := db.Query(q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c []byte
		if err := rows.Scan(&c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// marked puts a load with marked literals on a server until ctx ends. Errors are a part of it.
func marked(ctx context.Context, t *testing.T, s *servers.Server) (wait func()) {
	t.Helper()
	s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (id BIGINT PRIMARY KEY, c VARCHAR(60), n BIGINT, d DATE, "+
		"KEY (c), UNIQUE KEY (n)) ENGINE=InnoDB", "INSERT INTO shop.t VALUES (1, 'zqmark 1', 987654321987, "+
		"'1913-07-29'), (2, 'zqmark 2', 2, '1913-07-29')",
		"CREATE PROCEDURE shop.p(x VARCHAR(60)) BEGIN SELECT count(*) FROM shop.t WHERE c = 'zqmark in a body' "+
			"OR c = x; DO SLEEP(0.5); END",
		"CREATE TABLE shop.pile (id INT PRIMARY KEY, c VARCHAR(60)) ENGINE=InnoDB",
		"INSERT INTO shop.pile VALUES (1, 'x')",
		"CREATE TRIGGER shop.g BEFORE INSERT ON shop.t FOR EACH ROW SET NEW.c = CONCAT(NEW.c, ' zqmark')")
	var g sync.WaitGroup
	session := func(statements ...string) {
		g.Go(func() {
			db := s.DB(t, "shop")
			for ctx.Err() == nil {
				c, err := db.Conn(ctx)
				if err != nil {
					return
				}
				for _, q := range statements {
					_, _ = c.ExecContext(ctx, q)
				}
				c.Close()
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	session("/* zqmark */ SELECT * FROM t WHERE c = 'zqmark 1' AND n IN (987654321987, 5) AND d = '1913-07-29'",
		"SELECT id FROM t WHERE c = 0x7a716d61726b -- zqmark", "SELECT id FROM t WHERE n > 31415.92653589 LIMIT 1",
		"INSERT INTO t VALUES (1, 'zqmark', 0xDEADC0DE77, '1913-07-29')", // a duplicate key, and its trigger
		"SELECT 'zqmark' FORM t WHERE", "SELECT SLEEP(0.7), 'zqmark', 987654321987, DATE '1913-07-29', 0xDEADC0DE77",
		"PREPARE x FROM 'SELECT SLEEP(0.3), ''zqmark'' FROM t WHERE n = 987654321987'", "EXECUTE x",
		"UPDATE t SET c = 'zqmark 1' WHERE id = 1")
	session("CALL p('zqmark of a call')")
	session(`SET sql_mode = 'NO_BACKSLASH_ESCAPES'`, `SELECT SLEEP(1.2), 'c:\', 'zqmark # x'`)
	session("SELECT GET_LOCK('zqmark of a lock', 1)", "DO SLEEP(1.5)", "SELECT RELEASE_LOCK('zqmark of a lock')")
	session("SELECT GET_LOCK('zqmark of a lock', 9)", "SELECT RELEASE_LOCK('zqmark of a lock')")
	// A blocker that sleeps, its victim, and a schema change that waits for both.
	session("BEGIN", "UPDATE t SET c = 'zqmark of a blocker' WHERE id = 2", "DO SLEEP(0.1)", "DO SLEEP(3)", "ROLLBACK")
	session("SET innodb_lock_wait_timeout = 2", "UPDATE t SET c = 'zqmark of a victim', n = 987654321987 WHERE id = 2")
	session("SET lock_wait_timeout = 2", "ALTER TABLE t ADD COLUMN e VARCHAR(9) DEFAULT 'zqmark' COMMENT 'zqmark'")
	session("BEGIN", "UPDATE pile SET c = 'zqmark on top' WHERE id = 1", "DO SLEEP(4)", "ROLLBACK")
	for range 3 { // an incident
		session("UPDATE pile SET c = 'zqmark in a pile' WHERE id = 1")
	}
	for _, ids := range [][2]string{{"101", "102"}, {"102", "101"}} { // deadlocks
		session("BEGIN", "INSERT IGNORE INTO t VALUES (101, 'zqmark', 101, NULL), (102, 'zqmark', 102, NULL)", "COMMIT",
			"BEGIN", "UPDATE t SET c = 'zqmark a' WHERE id = "+ids[0], "DO SLEEP(0.05)",
			"UPDATE t SET c = 'zqmark b', d = '1913-07-29' WHERE id = "+ids[1], "ROLLBACK")
	}
	// In this mode a backslash is a letter: what follows reads as if it were no string.
	for _, ids := range [][2]string{{"103", "104"}, {"104", "103"}} {
		session("SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "BEGIN", "INSERT IGNORE INTO t VALUES (103, 'x', 103, NULL), "+
			"(104, 'x', 104, NULL)", "COMMIT", "BEGIN", "UPDATE t SET c = 'a' WHERE id = "+ids[0], "DO SLEEP(0.05)",
			`UPDATE t SET c = 'c:\' WHERE c <> 'zqmark # 12' AND id = `+ids[1], "ROLLBACK")
	}
	session("SET GLOBAL init_connect = \"SELECT 'zqmark'\"", "DO SLEEP(12)", "SET GLOBAL init_connect = ''",
		"DO SLEEP(12)")
	return g.Wait
}

// markedPostgres is marked for PostgreSQL.
func markedPostgres(ctx context.Context, t *testing.T, s *pgserver.Server) (wait func()) {
	t.Helper()
	s.Exec(t, "postgres", "CREATE DATABASE shop")
	s.Exec(t, "shop", "CREATE EXTENSION pg_stat_statements", "CREATE TABLE t (id bigint PRIMARY KEY, c text, "+
		"n bigint, d date)", "INSERT INTO t VALUES (1, 'zqmark', 987654321987, '1913-07-29'), (2, 'zqmark', 2, NULL)",
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS "+
			"$$ BEGIN PERFORM pg_sleep(0.3), 'zqmark'; RETURN 1; END $$",
		"ANALYZE")
	var g sync.WaitGroup
	session := func(statements ...string) {
		c := s.Conn(t, "shop")
		g.Go(func() {
			for ctx.Err() == nil {
				for _, q := range statements {
					_, _ = c.PgConn().Exec(ctx, q).ReadAll()
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	session("/* zqmark */ SELECT * FROM t WHERE c = 'zqmark' AND n IN (987654321987, 5) AND d = '1913-07-29'",
		"SELECT pg_sleep(0.7), 'zqmark', 987654321987, 31415.92653589, date '1913-07-29', $$zqmark$$, E'it\\'s zqmark'",
		"INSERT INTO t VALUES (1, 'zqmark')", "SELECT 'zqmark' FORM t WHERE", "SELECT f()",
		"SET application_name = 'x'", "DO $$ BEGIN PERFORM pg_sleep(0.4), 'zqmark'; END $$",
		"PREPARE x AS SELECT pg_sleep(0.3), 'zqmark', $1::bigint", "EXECUTE x(987654321987)", "DEALLOCATE x",
		`SET standard_conforming_strings = off`, `SELECT pg_sleep(1.2), 'it\' zqmark', 'zqmark'`)
	session("BEGIN", "UPDATE t SET c = 'zqmark of a blocker' WHERE id = 2", "SELECT pg_sleep(2)", "ROLLBACK")
	session("UPDATE t SET c = 'zqmark of a victim', n = 987654321987 WHERE id = 2")
	session("SELECT pg_advisory_lock(987654321987)", "SELECT pg_sleep(1.5)", "SELECT pg_advisory_unlock(987654321987)")
	session("SELECT pg_advisory_lock(987654321987)", "SELECT pg_advisory_unlock(987654321987)")
	for _, ids := range [][2]string{{"1", "2"}, {"2", "1"}} {
		session("BEGIN", "UPDATE t SET c = 'zqmark' WHERE id = "+ids[0], "SELECT pg_sleep(0.1)",
			"UPDATE t SET c = 'zqmark' WHERE id = "+ids[1], "ROLLBACK")
	}
	return g.Wait
}

// How the Dynos of the test redact.
const (
	plain    = "nothing"        // the literals stay
	byTarget = "by target"      // each target of the inventory is redacted
	byServe  = "serve --redact" // all targets of a service are, whatever the inventory says
)

// TestRedactKeepsAndShowsNoLiteral watches servers under a load of marked literals with three Dynos, and looks for the
// marks in every byte that they keep, answer, stream, log or print: those that redact have none, and the other one
// shows that there was something to find.
func TestRedactKeepsAndShowsNoLiteral(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	homes := map[string]string{plain: t.TempDir(), byTarget: t.TempDir(), byServe: t.TempDir()}
	ctx, stop := context.WithCancel(t.Context())
	urls := map[string]string{}
	var waits []func()
	for _, f := range servers.Flavors {
		s := servers.Start(t, f, "performance_schema=ON", "innodb_print_all_deadlocks=ON",
			"performance_schema_consumer_events_statements_history=ON")
		urls[f] = s.URL("root")
		waits = append(waits, marked(ctx, t, s))
	}
	pg := pgserver.Start(t, "17")
	urls["postgres"] = fmt.Sprintf("postgres://%s@127.0.0.1:%d/shop", pg.User, pg.Port)
	waits = append(waits, markedPostgres(ctx, t, pg))
	defer func() {
		stop()
		for _, w := range waits {
			w()
		}
	}()
	names := []string{"mariadb", "mysql", "postgres"}
	var out sync.Map // what each Dyno said, by how it redacts and place
	note := func(mode, place string, text []byte) { out.Store([2]string{mode, place}, text) }
	dynos := map[string]*process{}
	bases := map[string]string{}
	for mode, home := range homes {
		for _, n := range names {
			args := []string{"target", "add", n, urls[n]}
			if mode == byTarget && n != "mysql" {
				args = append(args, "--redact")
			}
			run(t, home, args...)
		}
		args := []string{"--judge", "1h", "--also", "files,stages"}
		switch mode {
		case byTarget:
			run(t, home, "target", "redact", "mysql")
		case byServe:
			args = append(args, "--redact")
		}
		dynos[mode], bases[mode] = serve(t, home, args...)
	}

	streams := map[string]*said{plain: {}, byTarget: {}, byServe: {}}
	sctx, leave := context.WithCancel(ctx)
	var followers, g sync.WaitGroup
	defer leave()
	for mode, base := range bases {
		followers.Go(func() {
			req, _ := http.NewRequestWithContext(sctx, http.MethodGet, base+"/api/dyno/v1/stream?full=1", nil)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			_, _ = io.Copy(streams[mode], resp.Body)
		})
	}
	text := func(base, path string) string {
		b, err := get(t, base+path)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	for mode, base := range bases {
		for _, n := range names[:2] {
			for path, want := range map[string]string{
				"events?kind=ddl&target=" + n: "ALTER TABLE", "events?kind=config&target=" + n: "init_connect",
				"incidents?target=" + n: `"conditions":[{`,
			} {
				eventually(t, fmt.Sprintf("%s of %s, redacted: %s", want, n, mode), func() error {
					if s := text(base, "/api/dyno/v1/"+path); !strings.Contains(s, want) {
						return fmt.Errorf("%s", s)
					}
					return nil
				})
			}
			eventually(t, fmt.Sprintf("deadlocks, waits and plans of %s, redacted: %s", n, mode), func() error {
				l := locksOf(text(base, "/api/dyno/v1/locks?target="+n))
				if len(l.Deadlocks) < 4 || len(l.Waits) == 0 {
					return fmt.Errorf("%d deadlocks and %d waits", len(l.Deadlocks), len(l.Waits))
				}
				classes := classesOf(text(base, "/api/dyno/v1/classes?target="+n))
				if !slices.ContainsFunc(classes, func(id string) bool {
					return strings.Contains(text(base, "/api/dyno/v1/class?target="+n+"&id="+id), `"steps":[{`)
				}) {
					return fmt.Errorf("none of %d classes has a plan", len(classes))
				}
				return nil
			})
		}
	}
	for mode := range bases {
		eventually(t, "a deadlock, redacted: "+mode, func() error {
			if !bytes.Contains(streams[mode].bytes(), []byte("LATEST DETECTED DEADLOCK")) {
				return errors.New("the stream has none")
			}
			return nil
		})
	}
	command := func(mode string, args ...string) {
		var b []byte
		var err error
		for range 3 { // a busy machine may not answer one in time
			cmd := exec.Command(dyno, args...)
			cmd.Env = append(os.Environ(), "DYNO_HOME="+homes[mode])
			if b, err = cmd.CombinedOutput(); err == nil {
				break
			}
			note(mode, strings.Join(args, " ")+", failed", b)
		}
		if err != nil {
			t.Errorf("dyno %s: %v\n%s", strings.Join(args, " "), err, b)
		}
		note(mode, strings.Join(args, " "), b)
	}
	for mode, base := range bases {
		for _, n := range names {
			g.Go(func() {
				all := [][]string{{"locks", n, "--output", "json"}, {"locks", n}}
				for i, d := range locksOf(text(base, "/api/dyno/v1/locks?target="+n)).Deadlocks {
					if i < 4 {
						all = append(all, []string{"locks", n, d.ID})
					}
				}
				if mode != byServe { // commands know the inventory, not how a service was started
					all = append(all, []string{"diagnose", n, "--window", "4s", "--output", "json"},
						[]string{"diagnose", n, "--window", "4s", "--save", homes[mode] + "/" + n + ".json"},
						[]string{"digest", "--target", n, "--time", "3s", "--output", "json"},
						[]string{"watch", n, "--output", "json", "--count", "3"})
				}
				for _, args := range all {
					command(mode, args...)
				}
			})
		}
	}
	g.Wait()
	for mode, base := range bases {
		q := url.QueryEscape(`{__name__=~".+"}`)
		paths := []string{
			"/api/dyno/v1/targets", "/api/dyno/v1/health", "/api/dyno/v1/settings", "/api/dyno/v1/events",
			"/api/dyno/v1/diagnoses", "/api/dyno/v1/documents", "/api/dyno/v1/incidents", "/metrics",
			"/api/v1/series?match[]=" + q, "/api/v1/query?query=" + q,
		}
		window := "&from=" + url.QueryEscape(time.Now().Add(-40*time.Second).Format(time.RFC3339)) +
			"&to=" + url.QueryEscape(time.Now().Format(time.RFC3339))
		for _, n := range names {
			for _, p := range []string{
				"state", "states", "classes", "events", "findings", "diagnoses", "sources", "cost", "locks", "latency",
			} {
				paths = append(paths, "/api/dyno/v1/"+p+"?target="+n)
			}
			deltas := "/api/dyno/v1/deltas?target=" + n + window
			if s := text(base, deltas); !strings.Contains(s, `"counters":[{`) {
				t.Errorf("%s: %.300s", deltas, s)
			}
			paths = append(paths, "/probe?target="+n, deltas)
			for _, id := range classesOf(text(base, "/api/dyno/v1/classes?target="+n)) {
				paths = append(paths, "/api/dyno/v1/class?target="+n+"&id="+id,
					"/api/dyno/v1/latency?target="+n+"&id="+id)
			}
			for _, d := range locksOf(text(base, "/api/dyno/v1/locks?target="+n)).Deadlocks {
				paths = append(paths, "/api/dyno/v1/deadlock?target="+n+"&id="+d.ID)
			}
		}
		var list struct{ Incidents []struct{ ID string } }
		_ = json.Unmarshal([]byte(text(base, "/api/dyno/v1/incidents")), &list)
		for _, i := range list.Incidents {
			paths = append(paths, "/api/dyno/v1/incident?id="+i.ID)
			command(mode, "incidents", "show", i.ID, "--output", "json")
		}
		for _, p := range paths {
			note(mode, p, []byte(text(base, p)))
		}
	}
	leave()
	followers.Wait()
	for mode, p := range dynos {
		note(mode, "stream", streams[mode].bytes())
		p.stop(t)
		note(mode, "log", []byte(p.text()))
	}
	found := map[string][]string{}
	places := map[string]bool{}
	out.Range(func(k, v any) bool {
		key, b := k.([2]string), v.([]byte)
		for _, x := range leaked(b) {
			found[key[0]] = append(found[key[0]], key[1]+": "+x)
			if key[0] == plain {
				place, _, _ := strings.Cut(key[1], "&id=")
				places[place] = true
			}
		}
		return true
	})
	for mode, home := range homes {
		all, defined := kept(t, home)
		if !defined {
			t.Errorf("redacted %s: no plan is stored with the definition of a table", mode)
		}
		found[mode] = append(found[mode], all...)
		if mode == plain && len(all) < 10 {
			t.Errorf("without redaction little is kept that could be found: %q", all)
		}
	}
	for _, mode := range []string{byTarget, byServe} {
		slices.Sort(found[mode])
		for i, x := range found[mode] {
			if i < 40 {
				t.Errorf("redacted %s: %s", mode, x)
			}
		}
	}
	for _, m := range marks {
		if !slices.ContainsFunc(found[plain], func(x string) bool { return strings.Contains(x, m+" in ") }) {
			t.Errorf("the load shows no %s without redaction: it proves nothing", m)
		}
	}
	for _, n := range names[:2] {
		for _, p := range []string{
			"diagnose " + n + " --window 4s --output json", "watch " + n + " --output json --count 3",
			"locks " + n + " --output json", "/api/dyno/v1/locks?target=" + n, "/api/dyno/v1/deadlock?target=" + n,
			"/api/dyno/v1/class?target=" + n,
		} {
			if !places[p] {
				t.Errorf("%s shows no mark without redaction: it proves nothing", p)
			}
		}
	}
	if !places["stream"] {
		t.Error("the stream shows no mark without redaction: it proves nothing")
	}
	t.Logf("%d marks without redaction, %d and %d with it", len(found[plain]), len(found[byTarget]),
		len(found[byServe]))
}

// locks is what the test looks at of an answer of GET locks.
type locks struct {
	Deadlocks []struct{ ID string }
	Waits     []struct{ ID string }
}

func locksOf(answer string) (l locks) {
	_ = json.Unmarshal([]byte(answer), &l) // of no answer there are none
	return l
}

func classesOf(answer string) (ids []string) {
	var list struct {
		Classes []struct{ ID string }
	}
	_ = json.Unmarshal([]byte(answer), &list)
	for _, c := range list.Classes {
		ids = append(ids, c.ID)
	}
	return ids
}
