package mytext

import (
	"context"
	"slices"
	"testing"
	"time"

	classes "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/test/servers"
)

// digested are statements in the common way of writing: whichever way we learn of them, they are one class.
var digested = []string{
	"SELECT c FROM sbtest1 WHERE id = 5",
	"SELECT c FROM sbtest1 WHERE id BETWEEN 5 AND 10",
	"SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5 AND 10",
	"SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5 AND 10 ORDER BY c",
	"SELECT c FROM sbtest1 WHERE id IN (1, 2, 3)",
	"SELECT c FROM sbtest1 WHERE c = 'a' AND k IS NULL AND id != -3 LIMIT 10",
	"SELECT c FROM sbtest1 WHERE id IN (1)",
	"SELECT c FROM sbtest1 WHERE c LIKE 'a%' LIMIT 10, 20",
	"SELECT c FROM sbtest1 WHERE c LIKE 'a%' LIMIT 10 OFFSET 20",
	"SELECT COUNT(*) FROM sbtest1",
	"SELECT COUNT(*), MAX(k) FROM d.sbtest1 AS s JOIN d.t2 ON s.id = t2.id WHERE s.k > 3 GROUP BY s.c HAVING " +
		"COUNT(*) > 1 ORDER BY s.c ASC",
	"SELECT s.c, t.c FROM sbtest1 s, t2 t WHERE s.id = t.id AND t.c IN ('a', 'b')",
	"SELECT * FROM sbtest1 WHERE (id = 1 OR id = 2) AND c IS NOT NULL",
	"SELECT * FROM sbtest1 WHERE id = 1 FOR UPDATE",
	"UPDATE sbtest1 SET k = k + 1 WHERE id = 3",
	"UPDATE sbtest1 SET c = 'x', k = 5 WHERE id = 3",
	"DELETE FROM sbtest1 WHERE id = 99",
	"INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 2, 'c', 'd')",
	"INSERT INTO sbtest1 (id, k, c, pad) VALUES (11, 2, 'c', 'd'), (12, 3, 'x', 'y')",
	"INSERT INTO sbtest1 VALUES (21, 2, 'c', 'd')",
	"REPLACE INTO sbtest1 (id, k, c, pad) VALUES (1, 2, NULL, 'd')",
	"SELECT COALESCE(c, 'x'), CONCAT(c, pad, 'y') FROM sbtest1 WHERE k = 3",
	"SELECT * FROM sbtest1 WHERE DATE(c) = '2020-01-01'",
	"SELECT * FROM sbtest1 WHERE id IN (SELECT id FROM t2 WHERE c = 'x')",
	"SELECT * FROM sbtest1 WHERE EXISTS (SELECT 1 FROM t2 WHERE t2.id = sbtest1.id)",
	"SELECT CASE WHEN k > 3 THEN 'a' ELSE 'b' END FROM sbtest1 WHERE k >= 1.5",
	"SELECT * FROM sbtest1 LEFT JOIN t2 ON sbtest1.id = t2.id WHERE t2.id IS NULL",
	"SELECT id FROM sbtest1 WHERE k != 3 AND NOT (c = 'x')",
	"SELECT id FROM sbtest1 UNION SELECT id FROM t2",
	"SELECT id FROM sbtest1 WHERE k = 0xff OR k = 1e3",
	"SELECT id, k * 2, k - 1 FROM sbtest1",
	"SELECT `order` FROM kw WHERE `order` = 3",
	"SELECT NOW(), CURDATE(), @@version",
	"SELECT 1",
	"SET NAMES utf8mb4",
	"SHOW TABLES",
	"BEGIN",
	"SELECT d.sbtest1.c FROM d.sbtest1 WHERE d.sbtest1.id = 3",
	"SELECT CAST(k AS CHAR), k FROM sbtest1 WHERE c > DATE_SUB(NOW(), INTERVAL 1 DAY)",
	"SELECT id FROM sbtest1 FORCE INDEX (PRIMARY) WHERE id > 3",
	"INSERT INTO sbtest1 (id, k) VALUES (1, 2) ON DUPLICATE KEY UPDATE k = k + 1",
	"INSERT INTO t2 SELECT id, c FROM sbtest1 WHERE id < 0",
	"SELECT id FROM sbtest1 WHERE c = \"it\" AND pad = ''",
	"SELECT TRUE, FALSE, NULL",
	"SELECT COUNT(DISTINCT c) FROM sbtest1 s WHERE s.k IN (1, 2) AND s.id = 3",
	"SELECT GROUP_CONCAT(c ORDER BY k SEPARATOR ',') FROM sbtest1",
	"WITH x AS (SELECT id FROM t2) SELECT * FROM x WHERE id = 1",
	"SELECT ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) FROM sbtest1",
	"SELECT id FROM sbtest1 WHERE k = (SELECT MAX(k) FROM sbtest1)",
	"SHOW DATABASES",
	"SELECT DATABASE()",
	"SELECT * FROM (SELECT id FROM sbtest1 WHERE k = 3) AS x ORDER BY x.id LIMIT 3",
	"CREATE INDEX i ON t2 (c)",
	"ALTER TABLE t2 ADD INDEX i2 (c)",
	"DROP INDEX i ON t2",
	"SELECT id FROM sbtest1 USE INDEX (PRIMARY) WHERE id = 3",
	"SELECT id FROM sbtest1 WHERE c = 'x' AND pad = 'y' LOCK IN SHARE MODE",
	"SELECT SLEEP(0)",
	"CREATE TABLE t3 (a INT PRIMARY KEY, b VARCHAR(20) DEFAULT 'x')",
	"SELECT AVG(k), MIN(k), UPPER(c), LENGTH(c) FROM sbtest1 GROUP BY k, c",
	"ANALYZE TABLE t2",
	"SELECT id, -k FROM sbtest1 WHERE k % 3 = 1",
	"SELECT COUNT(1) FROM sbtest1 WHERE c = 'x'",
}

// shortened are statements of which a digest text tells less than their fingerprint: how many constants stand in a row
// beside something else. They meet by key.
var shortened = []string{
	"INSERT INTO t2 (id, c) VALUES (5, NOW())",
	"INSERT INTO sbtest1 (id, k, c, pad) VALUES (31, 2, 'c', NOW())",
	"INSERT INTO sbtest1 (id, k, pad, c) VALUES (32, -2, NOW(), 'd')",
	"INSERT INTO sbtest1 (c, id, k, pad) VALUES (NOW(), 33, 4, 'd')",
	"SELECT CONCAT('a', 'b', 'c', pad, 'd', 'e') FROM sbtest1",
	"SELECT id, 1, 2, 3 FROM sbtest1",
	"UPDATE sbtest1 SET c = CONCAT(pad, '1', '2') WHERE id = 3",
}

func TestDigestTextMeetsTheStatement(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE d CHARACTER SET utf8mb4",
				"CREATE TABLE d.sbtest1 (id INT PRIMARY KEY, k INT, c VARCHAR(120), pad VARCHAR(60))",
				"CREATE TABLE d.t2 (id INT PRIMARY KEY, c VARCHAR(120))", "CREATE TABLE d.kw (`order` INT)",
				"TRUNCATE performance_schema.events_statements_summary_by_digest")
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			db := s.DB(t, "d")
			for _, q := range slices.Concat(digested, shortened) {
				rows, err := db.QueryContext(ctx, q)
				if err != nil {
					t.Errorf("%s: %v", q, err)
					continue
				}
				rows.Close()
			}
			// The server books a statement after it has answered.
			var missing []string
			texts, keys := map[string]string{}, map[string]bool{}
			for {
				rows, err := db.QueryContext(ctx, "SELECT DIGEST_TEXT FROM "+
					"performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT IS NOT NULL")
				if err != nil {
					t.Fatalf("%v; no class for %q", err, missing)
				}
				for rows.Next() {
					var text string
					if err := rows.Scan(&text); err != nil {
						t.Fatal(err)
					}
					f := FromDigestText(text)
					texts[f], keys[classes.Key(f)] = text, true
				}
				rows.Close()
				missing = missing[:0]
				for _, q := range digested {
					if _, ok := texts[Fingerprint(q)]; !ok {
						missing = append(missing, q)
					}
				}
				for _, q := range shortened {
					if !keys[classes.Key(Fingerprint(q))] {
						missing = append(missing, q)
					}
				}
				if len(missing) == 0 || ctx.Err() != nil || len(texts) >= len(digested)+len(shortened) {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			for _, q := range missing {
				t.Errorf("no class for %q\n wanted %q", q, Fingerprint(q))
			}
			if t.Failed() {
				for f, text := range texts {
					t.Logf("%s\n\t%s", text, f)
				}
			}
		})
	}
}

func TestFromDigestText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := FromDigestText(in); got != want {
			t.Errorf("%q\n got  %q\n want %q", in, got, want)
		}
	}
	f("SELECT `c` FROM `t` WHERE ID = - ? AND `k` - ? > ? ", "select c from t where id = ? and k ? ? > ?")
	f("SELECT `a b` , `order` , `x` . `y` FROM `d` . `t` WHERE `c` IN (...) ...",
		"select `a b`, `order`, x.y from d.t where c in(?+)")
	f("INSERT INTO `t` ( `a` ) VALUES (...) /* , ... */ ON DUPLICATE KEY UPDATE `a` = ?",
		"insert into t (a) values(?+)")
	f("SELECT `cut off", "select `cut off")
	f("", "")
}

func FuzzFromDigestText(f *testing.F) {
	f.Add("SELECT `c` FROM `t` WHERE ID = - ? AND `k` IN (...) LIMIT ?, ...")
	f.Fuzz(func(t *testing.T, s string) {
		a := FromDigestText(s)
		if b := Fingerprint(a); a != b {
			t.Fatalf("%q gives %q, which is no fingerprint: %q", s, a, b)
		}
	})
}
