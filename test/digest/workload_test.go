package digest_test

import (
	"database/sql"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// kind is a statement that is run several times with other literals. Kinds hold nothing that pt-query-digest reads
// otherwise: that is in differences_test.go.
type kind struct {
	text  string // with %d for the run's number and %s for a word of it
	fails bool   // the server may refuse it, which is logged all the same
}

// kinds are all sorts of statements that classes are made of.
var kinds = []kind{
	// literals
	{text: "SELECT %d"},
	{text: "SELECT -%d, +1, - 2, 1.5, -.5, 1e10, 1.5E-3, 2 - 1"},
	{text: "SELECT 0x4d7953514c, x'4D79', X'4d', b'0101', 0b11"},
	{text: "SELECT N'%s', _utf8'%s', _binary'x', _latin1 'y' COLLATE latin1_bin"},
	{text: "SELECT DATE '2026-11-21', TIMESTAMP'2026-11-21 10:00:00', '2026-01-01' + INTERVAL %d DAY"},
	{text: `SELECT 'it\'s', 'doub\"le', "quo\"te", 'a\nb%d'`},
	{text: `SELECT '', "", ' ', 'a;b', 'a -- b', 'a /* b */ c', 'a # b', "it's", 'say "hi"'`},
	{text: "SELECT 'new\nline %d', 'tab\t'"},
	{text: "SELECT 'žluťoučký kůň %d', '数据库', '😀'"},
	{text: "SELECT NULL, TRUE, false, \\N", fails: true},
	{text: "SELECT 'part' 'ner', 'x' /* between */ 'y'"},
	// reads
	{text: "SELECT * FROM t1 WHERE id = %d"},
	{text: "select  a ,  b\nfrom t1\r\nwhere id=%d\tand a is not null"},
	{text: "SELECT a FROM t1 WHERE id IN (%d, 2, 3) AND b IN ('%s','y')"},
	{text: "SELECT a FROM t1 WHERE id IN (%d)"},
	{text: "SELECT a FROM t1 WHERE (id, a) IN ((1,2),(3,%d)) OR id NOT IN (SELECT id FROM t2 WHERE b = '%s')"},
	{text: "SELECT id FROM t1 WHERE a BETWEEN %d AND %d+100 ORDER BY a ASC, b DESC, id LIMIT 5"},
	{text: "SELECT id FROM t1 ORDER BY id ASC LIMIT %d, 10"},
	{text: "SELECT id FROM t1 ORDER BY id LIMIT 10 OFFSET %d"},
	{text: "SELECT a, COUNT(*) c FROM t1 GROUP BY a HAVING c > %d ORDER BY c DESC"},
	{text: "SELECT DISTINCT t1.b FROM t1, t2 WHERE t1.a = t2.a + %d"},
	{text: "SELECT t1.id FROM t1 JOIN t2 USING (a) LEFT JOIN d1.t_2024 x ON x.id = t1.id WHERE t2.b LIKE '%s%%'"},
	{text: "SELECT id FROM t1 WHERE a = %d UNION SELECT id FROM t2 WHERE a = 2"},
	{text: "SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT %d"},
	{text: "(SELECT id FROM t1 WHERE a=%d) UNION (SELECT id FROM t2 LIMIT 1)"},
	{text: "SELECT * FROM (SELECT a, MAX(b) m FROM t1 GROUP BY a) s WHERE s.a > %d"},
	{text: "SELECT `a`, `t1`.`b` FROM `d1`.`t1` FORCE INDEX (`a`) WHERE `id`=%d"},
	{text: "SELECT c1, col2b FROM t_2024 WHERE c1 = %d"},
	{text: "SELECT c1 FROM `2020_q1` WHERE c1 = '%s'"},
	{text: "SELECT SQL_CALC_FOUND_ROWS id FROM t1 WHERE a > %d LIMIT 1"},
	{text: "SELECT a INTO @v FROM t1 WHERE id = %d + 1"},
	{text: "SELECT @v, @@version, @@session.sql_mode, @w := %d"},
	{text: "SELECT id FROM t1 WHERE id = %d FOR UPDATE"},
	{text: "SELECT id FROM t1 WHERE b REGEXP '^%s[0-9]+$' AND NOT a <=> %d"},
	{text: "SELECT CASE WHEN a > %d THEN 'x' ELSE 'y' END FROM t1 LIMIT 3"},
	{text: "SELECT SLEEP(0.00%d)"},
	// comments and hints
	{text: "/* app: shop %d */ SELECT a FROM t1 WHERE id = 1"},
	{text: "SELECT /* in the middle '%s' */ a FROM t1 WHERE id = 1"},
	{text: "SELECT a FROM t1 WHERE id = 1 /* at the end %d */"},
	{text: "SELECT a -- to the end of the line %d\nFROM t1"},
	{text: "SELECT a # the other kind %d\nFROM t2"},
	{text: "-- first a comment %d\nSELECT b FROM t2"},
	{text: "SELECT /*! STRAIGHT_JOIN */ t1.a FROM t1, t2 WHERE t1.a = %d"},
	{text: "SELECT /*+ MAX_EXECUTION_TIME(1000) */ a FROM t1 WHERE id = %d"},
	{text: "SELECT/*c*/a FROM t1 WHERE id=%d/*x*/"},
	// writes
	{text: "INSERT INTO t2 (a, b) VALUES (%d, '%s')"},
	{text: "INSERT INTO t2 (a, b) VALUES (%d, 'x'), (2, 'y'),(3,'z') , (4, '%s')"},
	{text: "insert into t2(a,b)values(%d,'%s'),(5,NULL)"},
	{text: "INSERT IGNORE INTO t1 (id, a) VALUES (1, %d),(2, 2)"},
	{text: "INSERT INTO t1 (id, a) VALUES (1, %d) ON DUPLICATE KEY UPDATE a = VALUES(a) + %d"},
	{text: "INSERT INTO t2 SET a = %d, b = '%s'"},
	{text: "INSERT INTO t2 (a, b) SELECT a, b FROM t1 WHERE id < %d"},
	{text: "REPLACE INTO t1 (id, a, b) VALUES (%d, 5, '%s')"},
	{text: "UPDATE t1 SET a = a + %d, b = '%s' WHERE id = 7"},
	{text: "UPDATE t1, t2 SET t1.a = t2.a WHERE t1.id = t2.a AND t2.a = %d"},
	{text: "DELETE FROM t2 WHERE a = %d LIMIT 1"},
	{text: "DELETE t2 FROM t2 JOIN t1 ON t1.id = t2.a WHERE t1.a = -%d"},
	// control
	{text: "USE d1"},
	{text: "BEGIN"},
	{text: "UPDATE t1 SET a = %d WHERE id = 1"},
	{text: "COMMIT"},
	{text: "START TRANSACTION"},
	{text: "SAVEPOINT s%d"},
	{text: "ROLLBACK"},
	{text: "SET @a := %d, @b = '%s'"},
	{text: "SET SESSION sort_buffer_size = 26214%d"},
	{text: "SET NAMES utf8"},
	{text: "set autocommit=1"},
	{text: "SHOW TABLES LIKE '%s%%'"},
	{text: "SHOW GLOBAL STATUS LIKE 'Threads%%'"},
	{text: "SHOW CREATE TABLE t1"},
	{text: "DESCRIBE t1"},
	{text: "SHOW WARNINGS"},
	{text: "EXPLAIN SELECT * FROM t1 WHERE a = %d"},
	{text: "DO %d + 1"},
	{text: "LOCK TABLES t1 READ, t2 WRITE"},
	{text: "UNLOCK TABLES"},
	{text: "CREATE TABLE IF NOT EXISTS n%d (id INT PRIMARY KEY, v VARCHAR(20) DEFAULT '%s')"},
	{text: "ALTER TABLE n%d ADD COLUMN w INT DEFAULT 5"},
	{text: "TRUNCATE TABLE n%d"},
	{text: "DROP TABLE n%d"},
	{text: "ANALYZE TABLE t1"},
	{text: "CHECK TABLE t2"},
	{text: "OPTIMIZE TABLE t2"},
	{text: "CREATE OR REPLACE VIEW v1 AS SELECT a FROM t1 WHERE a > %d"},
	{text: "SELECT * FROM v1"},
	{text: "CREATE TEMPORARY TABLE tmp%d SELECT a FROM t1 LIMIT 2"},
	{text: "DROP TEMPORARY TABLE tmp%d"},
	{text: "HANDLER t1 OPEN"},
	{text: "HANDLER t1 READ FIRST"},
	{text: "HANDLER t1 CLOSE"},
	// routines
	{text: "CALL p1(%d, '%s')"},
	{text: "CALL d1.p1(%d, NULL)"},
	{text: "SELECT f1(%d)"},
	{text: "PREPARE s FROM 'SELECT a FROM t1 WHERE id = ?'"},
	{text: "SET @id = %d"},
	{text: "EXECUTE s USING @id"},
	{text: "DEALLOCATE PREPARE s"},
	// refused
	{text: "SELEC %d", fails: true},
	{text: "SELECT * FROM nowhere WHERE id = %d", fails: true},
	{text: "INSERT INTO t1 (id) VALUES (1)", fails: true},
}

// tables make what the kinds need.
var tables = []string{
	"CREATE DATABASE d1 CHARACTER SET utf8", "CREATE DATABASE d2",
	"CREATE TABLE d1.t1 (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(100), KEY a (a)) ENGINE=InnoDB",
	"CREATE TABLE d1.t2 (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(100)) ENGINE=InnoDB",
	"CREATE TABLE d1.t_2024 (id INT PRIMARY KEY, c1 INT, col2b INT) ENGINE=InnoDB",
	"CREATE TABLE d1.`2020_q1` (c1 VARCHAR(20)) ENGINE=InnoDB",
	"CREATE TABLE d1.big (id INT AUTO_INCREMENT PRIMARY KEY, v LONGTEXT) ENGINE=InnoDB",
	"CREATE TABLE d2.t1 (id INT PRIMARY KEY, a INT) ENGINE=InnoDB",
	"INSERT INTO d1.t1 (a, b) VALUES (1,'a1'),(2,'b2'),(3,'c3'),(3,'d4'),(3,'e5'),(4,'f6'),(4,'g7'),(8,'h8')",
	"INSERT INTO d1.t1 (a, b) SELECT x.a*y.a, y.b FROM d1.t1 x, d1.t1 y, d1.t1 z",
	"INSERT INTO d1.t2 (a, b) SELECT a, b FROM d1.t1",
	"INSERT INTO d1.t_2024 VALUES (1,1,1),(2,2,2)",
	"CREATE PROCEDURE d1.p1(n INT, w TEXT) BEGIN DECLARE x INT; SELECT COUNT(*) INTO x FROM d1.t1 WHERE a = n; " +
		"UPDATE d1.t_2024 SET col2b = n WHERE id = 1; END",
	"CREATE FUNCTION d1.f1(n INT) RETURNS INT DETERMINISTIC READS SQL DATA BEGIN DECLARE x INT; SELECT COUNT(*) INTO " +
		"x FROM d1.t2 WHERE a = n; RETURN x + n; END",
}

// users run the kinds.
var users = []string{"app", "batch", "report"}

// work runs everything on a server that is watched and leaves its log closed. Each session runs every kind runs times.
// It returns how many statements the server says that it has logged.
func work(t *testing.T, l *logger, runs int) uint64 {
	t.Helper()
	l.do(t, tables...)
	for _, u := range users {
		l.do(t, "CREATE USER '"+u+"'@'localhost'", "GRANT ALL PRIVILEGES ON *.* TO '"+u+"'@'localhost'")
	}
	l.try(t, "SET GLOBAL local_infile=1")
	l.try(t, "SET GLOBAL log_bin_trust_function_creators=1")
	l.watched(t)
	before := l.status(t, "Slow_queries")
	for i, u := range users {
		func() {
			c := l.session(t, u, "d1")
			defer c.Close()
			for run := range runs {
				for _, k := range kinds {
					runKind(t, c, k, i*runs+run)
				}
			}
			special(t, l, c)
		}()
	}
	client(t, l)
	stopped(t, l)
	l.alone(t)
	return l.status(t, "Slow_queries") - before
}

func runKind(t *testing.T, c *sql.Conn, k kind, n int) {
	t.Helper()
	q := strings.ReplaceAll(strings.ReplaceAll(k.text, "%d", fmt.Sprint(n)), "%s", fmt.Sprintf("w%d", n))
	q = strings.ReplaceAll(q, "%%", "%")
	rows, err := c.QueryContext(t.Context(), q)
	if err == nil {
		defer rows.Close()
		drain(rows)
		err = rows.Err()
	}
	if err != nil && !k.fails {
		t.Fatalf("%s: %v", q, err)
	}
}

// special runs what takes more than a text: prepared statements, several statements in one, files, long texts, bytes
// that are no text.
func special(t *testing.T, l *logger, c *sql.Conn) {
	t.Helper()
	for n := range 3 {
		must(t, c, "SELECT a FROM t1 WHERE id = ? AND b <> ?", n, "bound") // prepared by the driver
		must(t, c, "INSERT INTO t2 (a, b) VALUES (?, ?)", n, "bo'und")
	}
	must(t, c, "SELECT 10; SELECT a FROM t1 WHERE id = 11; INSERT INTO t2 (a) VALUES (12)")
	if err := c.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	mysql.RegisterReaderHandler("lines", func() io.Reader { return strings.NewReader("77\tseven\n78\teight\n") })
	if _, err := c.ExecContext(t.Context(), "LOAD DATA LOCAL INFILE 'Reader::lines' INTO TABLE t2 FIELDS TERMINATED "+
		"BY '\\t' (a, b)"); err != nil {
		t.Fatal(err)
	}
	must(t, c, "INSERT INTO big (v) VALUES ('"+strings.Repeat("long text, ", 20_000)+"')")
	must(t, c, "SELECT COUNT(*) FROM t1 WHERE id IN (1"+strings.Repeat(",2", 30_000)+")")
	must(t, c, "SELECT 'nul \x00 byte', _binary'\xff\xfe\x80 no utf-8'")
	must(t, c, "SET SESSION sql_mode=CONCAT(@@sql_mode, ',ANSI_QUOTES')")
	must(t, c, `SELECT "a" FROM "t1" WHERE "b" = 'x'`)
	must(t, c, "SET SESSION sql_mode=REPLACE(@@sql_mode, 'ANSI_QUOTES', '')")
	must(t, c, "USE d2")
	must(t, c, "SELECT a FROM t1 WHERE id = 3")
	must(t, c, "USE d1")
}

// client runs statements through the client program, which sends commands of its own.
func client(t *testing.T, l *logger) {
	t.Helper()
	path, err := exec.LookPath("mariadb")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), path, "--no-defaults", "--socket="+l.socket, "--user=root", "--force", "d2")
	c.Stdin = strings.NewReader("SELECT a FROM t1 WHERE id = 4;\nUSE d1\nSELECT a FROM t1 WHERE id = 5;\n\\r d1 " +
		"localhost\nstatus\nDELIMITER //\nSELECT a FROM t1 WHERE id = 6//\n")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("mariadb: %v\n%s", err, out)
	}
}

// stopped has a statement wait for a lock, one killed, and one whose session is killed.
func stopped(t *testing.T, l *logger) {
	t.Helper()
	a, b := l.session(t, "app", "d1"), l.session(t, "batch", "d1")
	defer a.Close()
	defer b.Close()
	var id uint64
	if err := b.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	during := func(q, until, then string) {
		t.Helper()
		var wait sync.WaitGroup
		wait.Go(func() {
			if rows, err := b.QueryContext(t.Context(), q); err == nil {
				defer rows.Close()
				drain(rows)
			}
		})
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			var n int
			err := l.own.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE id "+
				"= ? AND info LIKE ?", id, until).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s never ran", q)
			}
		}
		time.Sleep(30 * time.Millisecond) // that much longer it takes; no test relies on it
		if then != "" {
			l.do(t, fmt.Sprintf(then, id))
		}
		if then == "" {
			must(t, a, "COMMIT")
		}
		wait.Wait()
	}
	must(t, a, "BEGIN")
	must(t, a, "UPDATE t1 SET a = 1 WHERE id = 2")
	during("UPDATE t1 SET a = 2 WHERE id = 2", "UPDATE t1%", "")
	during("SELECT SLEEP(1000), 'killed'", "SELECT SLEEP%", "KILL QUERY %d")
	during("SELECT SLEEP(1000), 'gone'", "SELECT SLEEP%", "KILL %d")
}
