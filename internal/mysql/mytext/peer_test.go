package mytext

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// answer is what pt-query-digest makes of a statement.
type answer struct {
	Fingerprint string // of the statement
	Again       string // of Fingerprint
	Item        string // the distilled statement
	Tables      [][]*string
}

// ask has the installed tool answer for statements. Its functions are called where they are, without a log between.
func ask(t *testing.T, statements []string) []answer {
	t.Helper()
	tool, err := exec.LookPath("pt-query-digest")
	if err != nil {
		t.Fatal("pt-query-digest is not installed: `build/setup test` does it")
	}
	const script = `
use strict; no warnings;
require $ARGV[0];
my ($quoter, $parser) = (Quoter->new, QueryParser->new);
my $rewriter = QueryRewriter->new(QueryParser => $parser);
binmode STDIN; binmode STDOUT;
sub text {
	my ($s) = @_;
	return 'null' unless defined $s;
	$s =~ s/([\\"])/\\$1/g;
	$s =~ s/([\x00-\x1f\x7f-\xff])/sprintf('\\u%04x', ord $1)/ge;
	return "\"$s\"";
}
my $all = do { local $/; <STDIN> };
for my $s (split /\0/, $all) {
	my $f = eval { $rewriter->fingerprint($s) };
	my @tables = eval { map { '[' . text($_->[0]) . ',' . text($_->[1]) . ']' }
		$parser->extract_tables(query => $s, default_db => undef, Quoter => $quoter) };
	print '{"Fingerprint":', text($f), ',"Again":', text(eval { $rewriter->fingerprint($f) }), ',"Item":', text(eval { $rewriter->distill($s) }),
		',"Tables":[', join(',', @tables), "]}\n";
}`
	file := t.TempDir() + "/ask.pl"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("perl", file, tool)
	cmd.Stdin = strings.NewReader(strings.Join(statements, "\x00"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var answers []answer
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var a answer
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		a.Fingerprint, a.Again, a.Item = bytewise(a.Fingerprint), bytewise(a.Again), bytewise(a.Item)
		for _, table := range a.Tables {
			for _, part := range table {
				if part != nil {
					*part = bytewise(*part)
				}
			}
		}
		answers = append(answers, a)
	}
	if len(answers) != len(statements) {
		t.Fatalf("%d answers to %d statements", len(answers), len(statements))
	}
	return answers
}

// bytewise undoes that each byte came as a character of its own.
func bytewise(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

// statements are of the kinds that logs hold. Every literal in them has zq or a digit in it.
var statements = strings.Split(strings.TrimSpace(`
SELECT a.id, b.name FROM orders1 a JOIN customers b ON a.cid = b.id WHERE a.status = 'zqopen' AND a.id IN (1,2,3) ORDER BY a.id ASC LIMIT 10
select * from db1.t1, db2.t2 as x, t3 y where x.a = y.b and c between '2020-01-01' and '2020-02-01' limit 5, 10
SELECT DISTINCT a FROM `+"`my db`.`my table` WHERE `col 1`"+` = "zq it's" OR b LIKE 'zq%' ESCAPE '|'
SELECT /*+ MAX_EXECUTION_TIME(1000) */ SQL_NO_CACHE a FROM t USE INDEX (idx_a) WHERE b IN (SELECT c FROM u WHERE d = 'zq')
SELECT COUNT(*), SUM(x) FROM t WHERE a = 0xAB12 OR a = x'4f' OR a = b'0101' OR a = 0b11 GROUP BY b WITH ROLLUP HAVING COUNT(*) > 5
SELECT a FROM t1 WHERE b = 1 UNION ALL SELECT a FROM t1 WHERE b = 2 UNION ALL SELECT a FROM t1 WHERE b = 3
(SELECT a FROM t1 ORDER BY b LIMIT 3) UNION (SELECT a FROM t2 ORDER BY b ASC LIMIT 3) ORDER BY a
INSERT INTO t1 (a,b,c) VALUES (1,'zq',NULL),(2,'zq2',TRUE),(3,"zq3",now())
INSERT IGNORE INTO db.t1 VALUES (NOW(), 'zq (1), (2)', -1.5e3), (NOW(), 'zq', 2) ON DUPLICATE KEY UPDATE a = VALUES(a), b = b + 1
insert into t set a = 5, b = 'zq\'s', c = "zq\"s"
INSERT LOW_PRIORITY INTO t SELECT * FROM u WHERE a > 5
REPLACE INTO t (a) VALUES (1) , (2)
REPLACE t VALUES (1)
INSERT t VALUE (1, 2)
UPDATE t1 SET a = a+1, b = NULL, c = 'zq' WHERE id = 5 AND d IS NOT NULL ORDER BY e LIMIT 1
UPDATE LOW_PRIORITY a INNER JOIN b USING (id) SET a.x = b.y WHERE b.z < -5
DELETE FROM t WHERE ts < '2020-01-01 00:00:00' LIMIT 1000
DELETE a FROM a JOIN b ON a.id = b.id WHERE b.c IN ('zq1','zq2')
CALL proc1(1, 'zq', @out)
call db.proc_2 ()
LOAD DATA LOCAL INFILE '/tmp/zq.csv' INTO TABLE db.t1 FIELDS TERMINATED BY ','
CREATE TABLE t1 (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20) DEFAULT 'zq') ENGINE=InnoDB
CREATE TABLE IF NOT EXISTS db.t1 LIKE t2
CREATE TABLE t9 AS SELECT * FROM u8 WHERE a = 3
CREATE DATABASE IF NOT EXISTS shop
DROP DATABASE shop
ALTER TABLE db.t1 ADD COLUMN c INT NOT NULL DEFAULT 5, ADD INDEX (c)
ALTER DATABASE shop CHARACTER SET utf8mb4
CREATE INDEX i1 ON t1 (a)
DROP TABLE IF EXISTS `+"`t1`"+`
TRUNCATE TABLE t1
TRUNCATE t1
RENAME TABLE a TO b, c TO d
CREATE UNIQUE INDEX x ON t (a, b)
SET timestamp=1700000000
SET NAMES utf8mb4
SET @a := 5, SESSION sql_mode = 'zq'
set autocommit=0
BEGIN
START TRANSACTION
COMMIT
ROLLBACK
ROLLBACK TO SAVEPOINT s1
SAVEPOINT s1
LOCK TABLES a READ, b WRITE
UNLOCK TABLES
FLUSH TABLES WITH READ LOCK
USE shop
use shop
XA START 'zq'
SHOW TABLES
SHOW FULL TABLES FROM db LIKE 'zq%'
SHOW TABLE STATUS LIKE 'zq'
SHOW SESSION STATUS LIKE 'zq'
SHOW GLOBAL VARIABLES WHERE Variable_name = 'zq'
SHOW ENGINE INNODB STATUS
SHOW COUNT(*) WARNINGS
SHOW /*!50002 FULL */ TABLES
SHOW CREATE TABLE t1
SHOW INDEXES FROM t1
SHOW KEYS FROM t1
SHOW SCHEMAS
SHOW SLAVE STATUS
SHOW PROCESSLIST
EXPLAIN SELECT a FROM t WHERE b = 5
DESCRIBE t1
ANALYZE TABLE t1
PREPARE s FROM 'select zq'
EXECUTE s USING @a
DEALLOCATE PREPARE s
SELECT a FROM t WHERE b = ? AND c IN (?, ?)
SELECT a FROM t PARTITION (p0, p1) WHERE MATCH (b) AGAINST ('+zq -zq' IN BOOLEAN MODE)
SELECT GET_LOCK('zq', 10)
SELECT EXTRACT(YEAR FROM d) FROM t
SELECT a FROM t WHERE b = 5 FOR UPDATE
SELECT a FROM t WHERE b = 5 LOCK IN SHARE MODE
SELECT a INTO @x FROM t
SELECT a INTO OUTFILE '/tmp/zq' FROM t
SELECT doc->'$.zq', doc->>"$.zq" FROM t
SELECT _utf8mb4'zq', N'zq', _binary 'zq', DATE '2020-01-01', TIMESTAMP'2020-01-01 00:00:00'
SELECT a FROM (SELECT b FROM c WHERE d = 1) x WHERE y = 2
SELECT a FROM (b, c) JOIN d
WITH RECURSIVE cte AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM cte WHERE n < 5) SELECT * FROM cte
SELECT a FROM t WHERE (a, b) IN ((1,2),(3,4)) OR NOT b IN (5)
SELECT CASE WHEN a = 1 THEN 'zq' ELSE NULL END FROM t
VALUES ROW(1,2), ROW(3,4)
HANDLER t OPEN
DO SLEEP(5)
KILL QUERY 5
GRANT SELECT ON db.* TO 'zq'@'%'
CREATE USER 'zq'@'%' IDENTIFIED BY 'zq'
SELECT 'zq''s', "zq""s", '', ""
SELECT a FROM t WHERE b = '{"zq": [1, "zq"]}' AND c = '<a href="zq">zq</a>'
SELECT a AS é, 'zqé' FROM tä WHERE ö = 5
select 1; select 2
select a from t where a=-1 and b=+2 and c=3-4 and d=a-b and e>-.5
select t.a1, t.b2x, t.c_3 from t where true and not false
INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = a + 1, b = 'zq'
/* app=zq */ SELECT a FROM t WHERE b = 1
SELECT a FROM t WHERE b = 1 /* zq=1,controller='users' */
# zq
SELECT a -- zq
FROM t #zq
`), "\n")

// near makes statements out of others, n in all.
func near(statements []string, n int) (out []string) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		" ", "\n", "\t", " 5 ", "'zq'", "\"zq\"", "'zq\"'", "\"zq'zq\"", "'zq\\'zq'", "'zq\\\\'", "'zq''zq'",
		"/* zq */", " /* it's zq */ ", "/**/", "-- zq\n", "# zq\n", "-- it's zq\n",
		"--zq\n", "(", ")", ",", ", ", "),(", " in (1, 2) ", " values (1,2) ", "null", " NULL ", "true", " false", "`",
		"`a#b`", "`x1`", ".", "x", "b", "-", "+", "0xAB", "1e5", "?", " asc ", " ASC,",
		" limit 1, 2", " order by a asc ",
		" union ", " union all select 1 ", "select ", "insert into t values (1,now()),(2,now())", "\r\n", ";",
		"/*! 5 */", "/*!50000 straight_join */", "'zq /* zq'", "'zq */*'", "'zq # zq'", "'zq -- zq'", "é", "_utf8'zq'",
		"/* a.b:1/2 */", "_", "\v", "use ",
	}
	for len(out) < n {
		s := statements[r.IntN(len(statements))]
		for range 1 + r.IntN(3) {
			i, j := r.IntN(len(s)+1), 0
			switch r.IntN(4) {
			case 0: // put in
				s = s[:i] + pieces[r.IntN(len(pieces))] + s[i:]
			case 1: // leave out
				j = min(len(s), i+1+r.IntN(8))
				s = s[:i] + s[j:]
			case 2: // replace
				j = min(len(s), i+1+r.IntN(3))
				s = s[:i] + pieces[r.IntN(len(pieces))] + s[j:]
			case 3: // the beginning of one and the end of another
				o := statements[r.IntN(len(statements))]
				s = s[:i] + o[r.IntN(len(o)+1):]
			}
		}
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}

var beforeMark = regexp.MustCompile(`[xb.]\?`)

var hexDigits = regexp.MustCompile(`0x[0-9a-f]*[A-F]`)

// TestFingerprintIsThatOfTheTool compares with the tool itself. Ours may differ only where the tool shows a literal, or
// gives another answer for its own.
func TestFingerprintIsThatOfTheTool(t *testing.T) {
	all := append(append([]string(nil), statements...), near(statements, 6000)...)
	answers := ask(t, all)
	differ, bad := 0, 0
	for i, s := range all {
		a := answers[i]
		if got := Fingerprint(s); got != a.Fingerprint {
			differ++
			if i < len(statements) && !strings.Contains(a.Fingerprint, "zq") && !hexDigits.MatchString(s) {
				t.Errorf("ordinary statement %q\n got  %q\n tool %q", s, got, a.Fingerprint)
			}
			if strings.HasPrefix(got, "call ") || beforeMark.MatchString(s) ||
				strings.HasPrefix(a.Fingerprint, "use ?\n") {
				continue // see the package comment
			}
			if _, _, ok := verbatim(nil, []byte(s)); !ok || strings.Contains(a.Fingerprint, "zq") ||
				a.Again != a.Fingerprint || hexDigits.MatchString(s) {
				continue
			}
			if bad++; bad < 20 {
				t.Errorf("%q\n got  %q\n want %q", s, got, a.Fingerprint)
			}
		}
	}
	t.Logf("%d of %d differ, %d without a reason", differ, len(all), bad)
	if differ > len(all)/5 {
		t.Errorf("%d of %d differ", differ, len(all))
	}
}

func TestItemIsThatOfTheTool(t *testing.T) {
	answers := ask(t, statements)
	for i, s := range statements {
		a := answers[i]
		if got := Item(s); got != a.Item {
			t.Errorf("%q\n got  %q\n want %q", s, got, a.Item)
		}
		var want [][2]string
		for _, table := range a.Tables {
			var w [2]string
			for k, part := range table {
				if part != nil {
					w[k] = *part
				}
			}
			want = append(want, w)
		}
		if got := Tables([]byte(s)); len(got) != len(want) || len(got) > 0 && !equalTables(got, want) {
			t.Errorf("%q\n got  %q\n want %q", s, got, want)
		}
	}
}

func equalTables(a, b [][2]string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
