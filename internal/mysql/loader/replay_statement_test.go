package loader

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
)

func TestInspectReads(t *testing.T) {
	f := func(want load.Skip, statements ...string) {
		t.Helper()
		for _, s := range statements {
			if got := inspect([]byte(s), false, false); got.Skip != want {
				t.Errorf("%s: %q, want %q", s, got.Skip, want)
			}
		}
	}
	f(load.NoSkip,
		"SELECT 1", "select * from t where a = 'x;y' and b in (1, 2, (3))", "(SELECT 1) UNION (SELECT 2)",
		"SELECT 1;", "SELECT 1 ; -- done",
		"/* who */ SELECT 1", "-- who\nSELECT 1", "# who\nSELECT 1", "SELECT /*+ NO_MERGE(t) */ 1",
		"SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`",
		"SELECT COUNT(*), MAX(a) FROM t WHERE b LIKE 'insert into%' GROUP BY c HAVING (COUNT(*) > 1)",
		"SELECT REPLACE(a, 'x', 'y'), INSERT(a, 1, 2, 'z') FROM t",
		"WITH c AS (SELECT 1) SELECT * FROM c", "VALUES ROW(1), ROW(2)", "TABLE t",
		"SELECT a FROM t FOR SYSTEM_TIME AS OF '2024-01-01'",
		"SELECT SUBSTRING('abc' FROM 1 FOR 2)", "SELECT `into`, 'into', \"into\" FROM t",
		"SELECT * FROM t USE INDEX (i) WHERE a = ANY (SELECT 1)",
		"SELECT @a := 1", "SELECT SLEEP(0.1)", "SELECT LAST_INSERT_ID()", "SELECT t.a, t.b FROM x.t",
		"SELECT a FROM t PARTITION (p0)",
		"SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) FROM t", "SELECT 'it''s', 'a\\'b', 1.5e3, 0xAB, "+
			"_utf8mb4'x', N'x'",
		"SELECT DATE_ADD(NOW(), INTERVAL (1) DAY)", "SELECT JSON_EXTRACT(a, '$.b') FROM t", "SELECT a->'$.b' FROM t",
		"SELECT CAST(a AS DECIMAL(10,2)) FROM t",
		"SHOW TABLES", "SHOW CREATE PROCEDURE p", "SHOW GLOBAL STATUS LIKE 'Com_insert'", "DESC t", "EXPLAIN SELECT 1",
		"EXPLAIN ANALYZE SELECT 1",
		"USE x", "USE `x y`", "use x;", "BEGIN", "START TRANSACTION", "START TRANSACTION READ ONLY", "COMMIT",
		"ROLLBACK", "ROLLBACK TO SAVEPOINT a", "SAVEPOINT a", "RELEASE SAVEPOINT a",
		"SET NAMES utf8mb4", "SET autocommit=0", "SET SESSION sql_mode='STRICT_TRANS_TABLES'",
		"SET @@session.sql_mode := 'TRADITIONAL', @@autocommit = 1", "SET NAMES 'utf8mb4' COLLATE utf8mb4_bin",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
		"SET time_zone = '+00:00', sort_buffer_size = @@sort_buffer_size", "/*!40101 SET NAMES utf8 */;",
		"START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */", "SELECT 1e5, 1.5e-3, 0x1F, x.a IN (1) FROM t1 x",
		"SET sql_mode=DEFAULT",
		"SET CHARACTER SET utf8mb3", "SET NAMES ascii", "SET NAMES binary", "SET character_set_client = 'UTF8'",
		"SET @@session.character_set_client='utf8mb4', sql_mode=''",
		"SELECT größe, `übe r` AS Ünïcode, 名前 FROM straße WHERE a = '\xff\xa0' /* \xa0 */ -- \xa0",
		"SELECT 0xF, 0b01, .5, 5., 1.5E+3, 5e-3, -1e5 FROM t WHERE a>.5 AND b IN (1e1,.5e1, 0x0)",
		"SET transaction_isolation = 'READ-COMMITTED'", "SET @@session.tx_isolation='repeatable-read', @a = 1",
		"SET @a = 1, @b = 'x'", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
		strings.Repeat(" ", 100)+"SELECT a FROM t WHERE a IN ("+strings.Repeat("1,", 500_000)+"1)",
	)
	// Texts and names end where the server ends them, whatever is in them.
	f(load.NoSkip,
		`SELECT 'a''; DELETE', "b\"; DELETE" FROM t`, "SELECT `c``; DELETE`, `a\\`, ' INTO x' FROM `b`",
		`SELECT '\\', ' INTO x'`, "SELECT 1 --\x01 INTO x\n, 2",
		"SELECT '/*', ' INTO x */'", "SELECT /* ' */ 1, ' INTO x'", "SELECT 1 # ' \r INTO x\n, ' INTO y'",
		"SELECT /*/ INTO x */ 1", "SELECT /*!*/ 1 /*!40001 */",
	)
	f(load.SkipNotRead,
		`SELECT '\\' INTO x, ''`, "SELECT `a\\` INTO x, ``", "SELECT 'a''' INTO x", `SELECT "'" INTO x -- '`,
		"SELECT 1 --\x01'\nINTO x -- '",
		"SELECT /*/ 1 */ INTO x", "SELECT /*! '*/ INTO x /*'*/", "SELECT 1 # /*\n INTO x -- */",
		"SELECT '/*' INTO x -- */'", `SELECT '1\'`, "SELECT 1 /*/", "SELECT\v1", "SELECT\f1",
		"USE `a``b`", "USE 'a''b'", "USE a'b'", "SELECT 1sin(1)", "SELECT x.1sin(1)", "SELECT `sin``x`(1)",
		"SELECT `x``y`.sin(1)", `SET sql_mode='A'"B"`,
	)
	// What a server reads otherwise, or executes or skips by its version.
	f(load.SkipNotRead,
		"SELECT x.count/**/(1)", "SELECT x.count -- \n (1)", "SELECT 1f(1)", "SELECT 0xf(1), 0xfg(1)", "SELECT 0x(1)",
		"SELECT 0b(1)", "SELECT 0b2(1)", "SELECT 0bad(1)", "SELECT 1.0b1", "SELECT 5e(1)",
		"SELECT evil /*!999999 IN */ (1)",
		"SELECT 1 --\x7f'\n, evil(1) -- '", "SELECT 1\x01", "SELECT /*M!999999 NO_SUCH */ 1",
		"SELECT a FROM t FOR /*!999999 X */ UPDATE", "/*!50000 SELECT f(1) */",
		"SELECT 1e1INTO OUTFILE '/tmp/x'", "SELECT 'x',1.5INTO DUMPFILE '/tmp/x'",
		"SELECT 1 FROM t WHERE a>.5INTO OUTFILE '/x'", "SELECT 1.e5INTO OUTFILE 'x'", "SELECT 1.5e-3INTO OUTFILE 'x'",
		"SELECT 1e+1INTO OUTFILE 'x'", "SELECT 1.5e1INTO OUTFILE 'x'", "SELECT 1e-INTO OUTFILE 'x'",
		"SELECT 'x' INTO\xa0OUTFILE '/tmp/x'", "SELECT 1 a\xc2\xa0INTO OUTFILE '/tmp/x'",
		"SELECT 1 a\u3000INTO OUTFILE 'x'", "SELECT 1 a\xe9",
		"SET sql_mode='NO_BACKSLASH_ESCAPES'", "SET sql_mode='ANSI'", "SET @@session.sql_mode = 'oracle'",
		"SET sql_mode=4", "SET sql_mode=@a", "SET sql_mode='AN' 'SI'",
		"SET sql_mode=_latin1 0x4e4f5f4241434b534c4153485f45534341504553", "SET sql_mode=BINARY 0x414E5349",
		"SET sql_mode=_latin1 0b01000001",
		"SET sql_mode=_latin1 0x414E5349 COLLATE latin1_bin", "SET sql_mode=0x414E5349", "SET sql_mode=0",
		"SET sql_mode=_latin1/**/0x414E5349",
		"SET character_set_connection=utf16, sql_mode='乏彂䅃䭓䱁午彅千䅐䕓'", "SET sql_mode='䅎卉'",
		"SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
		"SET transaction_isolation='SERIALIZABLE'", "SET tx_isolation=3", "SET @@session.transaction_isolation := @a",
		"SET transaction_isolation",
		"SET transaction_isolation=_utf16'READ-COMMITTED' COLLATE x",
		"SET sql_mode=x'414E5349'", "SET @a = 1, sql_mode=CONCAT(@@sql_mode, ',ANSI')", "SET sql_mode=@@global_mode",
		"SET sql_mode='A''B'", "SET sql_mode='\\ANSI'",
		"SET @@session.`transaction_read_only`=0", "SET `sql_mode`='ANSI'", "SET gtid_next='a:1'", "SET sql_log_bin=0",
		"SET @a = NEXT VALUE FOR s", "SET",
	)
	f(load.SkipNotRead,
		"INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t", "REPLACE INTO t VALUES (1)", "CALL p()",
		"DO SLEEP(1)", "CREATE TABLE t (a INT)", "TRUNCATE t",
		"SELECT 1 INTO @a", "SELECT * FROM t INTO OUTFILE '/tmp/x'", "SELECT * INTO DUMPFILE 'x' FROM t",
		"TABLE t INTO OUTFILE 'x'",
		"SELECT * FROM t FOR UPDATE", "SELECT * FROM t FOR SHARE", "SELECT * FROM t LOCK IN SHARE MODE",
		"select * from t for\nupdate nowait",
		"SELECT f(1)", "SELECT x.f(1)", "SELECT x.count(1)", "SELECT `f`(1)", "SELECT x.`f`(1)", "SELECT `x`.f (1)",
		"SELECT * FROM t WHERE a = f (b)",
		"SELECT GET_LOCK('a', 1)", "SELECT RELEASE_LOCK('a')", "SELECT NEXTVAL(s)", "SELECT NEXT VALUE FOR s",
		"SELECT MASTER_POS_WAIT('a', 1)", "SELECT LOAD_FILE('/etc/passwd')", "SELECT sys_exec('id')",
		"WITH c AS (SELECT 1) UPDATE t, c SET a = 1", "WITH c AS (SELECT 1) DELETE FROM t",
		"EXPLAIN UPDATE t SET a = 1", "EXPLAIN ANALYZE DELETE FROM t", "ANALYZE SELECT 1",
		"SELECT 1; DELETE FROM t", "SELECT 1 /*!50000 INTO OUTFILE 'x' */", "SELECT /*!99999 ' */ 1 INTO OUTFILE 'x' "+
			"-- '", "SELECT /*! f(1) */ 1", "SELECT /*M!100000 f(1) */ 1", "/*! DELETE */ FROM t",
		"SELECT 'never closed", "SELECT /* never closed", "SELECT * FROM t PROCEDURE ANALYSE()",
		"START TRANSACTION READ WRITE", "SET TRANSACTION READ WRITE", "SET SESSION transaction_read_only = 0",
		"SET tx_read_only=OFF", "SET @@session.transaction_read_only=0",
		"SET @a = f(1)", "SET @a = (SELECT f(1))", "COMMIT RELEASE", "ROLLBACK AND NO CHAIN RELEASE",
		"BEGIN NOT ATOMIC DELETE FROM t; END", "LOCK TABLES t WRITE", "HANDLER t OPEN", "",
		"PREPARE s FROM 'DELETE FROM t'", "EXECUTE s", "garbage", "\x00\xff",
	)
	f(load.SkipServer,
		"SET GLOBAL read_only = 1", "SET @@global.read_only = 1", "SET PERSIST max_connections = 5",
		"SET PASSWORD = 'x'", "SET ROLE admin", "SET STATEMENT max_statement_time=1 FOR DELETE FROM t", "KILL 5",
		"SHUTDOWN", "FLUSH TABLES WITH READ LOCK", "GRANT ALL ON *.* TO a", "CREATE USER a", "DROP USER a",
		"ALTER INSTANCE ROTATE INNODB MASTER KEY", "LOAD DATA INFILE 'x' INTO TABLE t", "STOP SLAVE",
		"/*! KILL 5 */", "/*!999999 SELECT */ KILL 5", "/*!999999 SELECT */ SHUTDOWN",
		"/*M! SELECT */ GRANT ALL ON *.* TO a", "CREATE OR REPLACE USER a", "START REPLICA",
		"CHANGE MASTER TO MASTER_HOST='x'", "RESET MASTER", "PURGE BINARY LOGS TO 'x'", "INSTALL PLUGIN x SONAME 'y'",
		"/* x */ kill 5",
	)
}

// TestInspectEncodings has logs set how the statements after it are read.
func TestInspectEncodings(t *testing.T) {
	for _, s := range []string{
		"SET NAMES latin1", "SET NAMES 'latin1'", "SET NAMES gbk", "SET NAMES DEFAULT", "SET NAMES swe7",
		"SET NAMES 'g\\bk'", "SET NAMES 'utf8''x'", "/*!40101 SET NAMES latin1 */;",
		"SET CHARACTER SET latin1", "SET CHAR SET latin1", "SET CHARSET latin1", "SET CHARACTER SET DEFAULT",
		"SET CHARACTER SET sjis", "SET @a = 1, NAMES latin1", "SET autocommit=1, CHARSET 'cp850'",
		"SET character_set_client=gb18030", "SET character_set_client = DEFAULT", "SET character_set_client = 28",
		"SET character_set_client=@a", "SET character_set_client = BINARY 'latin1'",
		"SET character_set_client = BINARY 0x67626b", "SET character_set_client = BINARY 0b1",
		"SET @@session.character_set_client := latin1", "SET SESSION character_set_client = 'latin1'",
		"SET `character_set_client` = latin1", "SET @@session.`character_set_client` = latin1", "SET NAMES",
	} {
		for _, writes := range []bool{false, true} {
			if got := inspect([]byte(s), writes, false); got.Skip != load.SkipEncoding {
				t.Errorf("%s, writes %v: %q", s, writes, got.Skip)
			}
		}
	}
	for _, s := range []string{"SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET @a = @@character_set_client, @names = " +
		"'latin1'", "SET character_set_results = latin1", "SET a = names"} {
		if got := inspect([]byte(s), true, false); got.Skip != load.NoSkip {
			t.Errorf("%s: %q", s, got.Skip)
		}
	}
}

func TestInspectWrites(t *testing.T) {
	f := func(statement string, kind workload.Kind, want load.Skip) {
		t.Helper()
		if got := inspect([]byte(statement), true, false); got.Skip != want || got.Kind != kind {
			t.Errorf("%s: kind %d, %q; want kind %d, %q", statement, got.Kind,
				got.Skip, kind, want)
		}
	}
	f("INSERT INTO t VALUES (1)", workload.Write, load.NoSkip)
	f("update t set a = 1", workload.Write, load.NoSkip)
	f("SELECT * FROM t FOR UPDATE", workload.Read, load.NoSkip)
	f("CALL p(1)", workload.Write, load.NoSkip)
	f("CREATE TABLE t (a INT)", workload.Other, load.NoSkip)
	f("DROP TABLE t", workload.Other, load.NoSkip)
	f("BEGIN NOT ATOMIC DELETE FROM t; END", workload.Write, load.NoSkip)
	f("EXECUTE s", workload.Other, load.NoSkip)
	f("DROP USER a", workload.Other, load.SkipServer)
	f("SET GLOBAL a = 1", workload.Other, load.SkipServer)
	f("KILL 5", workload.Other, load.SkipServer)
	f("SET @a=1,@b=2,@c=3,@d=4,@e=5, GLOBAL max_connections=1", workload.Other, load.SkipServer)
	f("SET "+strings.Repeat("@a=1,", mostWords/4)+" GLOBAL max_connections=1", workload.Other, load.SkipServer)
	f("CREATE OR REPLACE USER a", workload.Other, load.SkipServer)
	f("/*!50000 GRANT ALL ON *.* TO x@'%' */", workload.Other, load.SkipServer)
	f("/*!50000 SELECT */ /*!999999 x */ GRANT ALL ON *.* TO x", workload.Other, load.SkipServer)
	f("CREATE /*!999999 TABLE */ USER x", workload.Other, load.SkipServer)
	f("CREATE SPATIAL /*!80000 REFERENCE */ SYSTEM 4711 NAME 'x'", workload.Other, load.SkipServer)
	f("--\x7f\nGRANT ALL ON *.* TO x", workload.Other, load.SkipServer)
	f("CREATE --\x7f\nUSER x", workload.Other, load.SkipServer)
	f("CREATE OR REPLACE /*!999999 TABLE */ USER x", workload.Other, load.SkipServer)
	f("CREATE FUNCTION f RETURNS INTEGER SONAME 'f.so'", workload.Other, load.SkipServer)
	f("CREATE OR REPLACE AGGREGATE FUNCTION IF NOT EXISTS f RETURNS INTEGER SONAME 'f.so'", workload.Other,
		load.SkipServer)
	f("CREATE FUNCTION f RETURNS INTEGER /*!50000 SONAME 'f.so' */", workload.Other, load.SkipServer)
	f("CREATE AGGREGATE /*!50000 FUNCTION */ f RETURNS INTEGER SONAME 'f.so'", workload.Other, load.SkipServer)
	f("LOCK /*!80000 INSTANCE */ FOR BACKUP", workload.Other, load.SkipServer)
	f("CREATE SPATIAL REFERENCE SYSTEM 4120 NAME 'x'", workload.Other, load.SkipServer)
	f("CREATE SPATIAL INDEX i ON t (g)", workload.Other, load.NoSkip)
	f("CREATE FUNCTION f(a INT) RETURNS INT RETURN a", workload.Other, load.NoSkip)
	f("/*!50000 GRANT ALL ON *.* TO x;\x00", workload.Other, load.SkipServer)
	f("CREATE /*!50000 USER x;\x00", workload.Other, load.SkipServer)
	f(`SET @a='\', GLOBAL read_only=1 -- '`, workload.Other, load.SkipServer)
	f("BACKUP STAGE START", workload.Other, load.SkipServer)
	f("LOCK INSTANCE FOR BACKUP", workload.Other, load.SkipServer)
	f("UNLOCK TABLES", workload.Other, load.NoSkip)
	f("SET @a = 1, /*!50000 GLOBAL */ max_connections=1", workload.Other, load.SkipServer)
	f("INSERT /*!50000 IGNORE */ INTO t VALUES (1)", workload.Write, load.NoSkip)
	f("CREATE TABLE t (a INT) /*!50100 PARTITION BY HASH (a) */", workload.Other, load.NoSkip)
	f("/*!40000 ALTER TABLE t DISABLE KEYS */;", workload.Other, load.NoSkip)
	if got := inspect([]byte("EXECUTE s USING @a"), true, true); got.Skip != load.SkipTwice {
		t.Errorf("a general log's EXECUTE: %q", got.Skip)
	}
}

func TestInspectSession(t *testing.T) {
	f := func(statement string, want load.Meaning) {
		t.Helper()
		got := inspect([]byte(statement), true, false).Meaning
		got.Kind = want.Kind
		if got != want {
			t.Errorf("%s: %+v, want %+v", statement, got, want)
		}
	}
	f("BEGIN", load.Meaning{Begins: true})
	f("start transaction with consistent snapshot", load.Meaning{Begins: true})
	f("COMMIT", load.Meaning{Ends: true})
	f("COMMIT AND CHAIN", load.Meaning{})
	f("ROLLBACK", load.Meaning{Ends: true})
	f("ROLLBACK TO a", load.Meaning{})
	f("SET NAMES utf8", load.Meaning{})
	f("SET autocommit = 0", load.Meaning{Pins: true})
	f("LOCK TABLES t READ", load.Meaning{Pins: true})
	f("CREATE TEMPORARY TABLE t (a INT)", load.Meaning{Pins: true})
	f("CREATE TABLE t (a INT)", load.Meaning{})
	f("USE `a b`", load.Meaning{Use: "a b"})
	f("USE aB", load.Meaning{Use: "aB"})
	f("USE a b", load.Meaning{Use: "a", Skip: load.SkipNotRead})
}

// FuzzInspect looks for statements that begin with a verb that writes and pass as reads, and for panics.
func FuzzInspect(f *testing.F) {
	for _, s := range []string{"SELECT f(1)", "a /*! b */", "'x\\", "`", "-- x\n", "/*+ x */ ;", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		inspect([]byte(s), true, true)
		inspect([]byte(s), false, true)
		for _, before := range []string{
			"INSERT ", "DELETE\n", "/**/UPDATE ", "SELECT 1 INTO ", "SELECT x.f(",
			"SELECT 1e1INTO ", "SELECT 1.e5INTO ",
		} {
			if got := inspect([]byte(before+s), false, false); got.Skip == load.NoSkip {
				t.Fatalf("%q is sent", before+s)
			}
		}
	})
}
