package mytext

import (
	"strings"
	"testing"
)

func mustKey(t testing.TB, sql string) [2]uint64 {
	t.Helper()
	key, ok := new(Keyer).Key([]byte(sql))
	if !ok {
		t.Fatalf("no key for %q", sql)
	}
	return key
}

func TestKeyIsTheSameForOtherLiterals(t *testing.T) {
	f := func(statements ...string) {
		t.Helper()
		for _, s := range statements[1:] {
			if mustKey(t, s) != mustKey(t, statements[0]) {
				t.Errorf("%q\n%q have different keys", statements[0], s)
			}
			if Fingerprint(s) != Fingerprint(statements[0]) {
				t.Errorf("%q\n%q have different fingerprints", statements[0], s)
			}
		}
	}
	f("select a from t where b = 5", "select a from t where b = -17.5e3", "select a from t where b = 'abc'",
		"select a from t where b = \"it's\"",
		"select a from t where b = NULL", "select a from t where b = null", "select a from t where b = 0xABCDEF",
		"select a from t where b = 'a\\'b'",
		"select a from t where b = '{\"a\": [1, \"x\"]}'", "select a from t where b = '"+
			strings.Repeat("long ", 1000)+"'",
		"select a from t where b = '"+strings.Repeat("a/b \\\" \\\\ \\n", 100)+"'")
	f("select a from sbtest1 where b = 1 and c like 'x'", "select a from sbtest27 where b = 10 and c like 'x%y'")
	f("SELECT a FROM t WHERE id IN (1) AND c = 2", "SELECT a FROM t WHERE id IN (1,2, 3, 'x',NULL ,-5,.5,true) AND c "+
		"= 33",
		"SELECT a FROM t WHERE id IN ("+strings.Repeat("12345, ", 10000)+"1) AND c = 2",
		"SELECT a FROM t WHERE id IN ('2020-01-01', x'4f', b'01') AND c = null")
	f("INSERT INTO t (a, b) VALUES (1, 'x')", "INSERT INTO t (a, b) VALUES (1, 'x'),(2,'y')",
		"INSERT INTO t (a, b) VALUES ("+strings.Repeat("1, 'x'), (", 1000)+"7)",
		"INSERT INTO t (a, b) VALUES (1, 'x'), (3, NOW()) ON DUPLICATE KEY UPDATE a = 1")
	f("INSERT INTO t VALUES (NOW(), 1)", "INSERT INTO t VALUES (NOW(), 2), (NOW(), 'it''s')")
	f("select `a1`, `b` from `t2` where `c` = 1", "select `a33`, `b` from `t5` where `c` = 'x'")
	f("select 1\nfrom t", "select 2\nfrom t")
	f("select 1\n  from t\n  where a = 5", "select 2\n from t\n\twhere a = 'x'")
	f("/* app:web */ select 1", "/* app:mobile */ select 2", "/* it's */ select 3")
	f("select 1 -- note\nfrom t", "select 1 -- other note\nfrom t")
	f("call p(1, 'x')", "call p('y')")
	f("insert into log values (1, 'Accept: text/html,*/*', 'x')", "insert into log values (2, 'x', '/tmp/*.csv')")
	f("update t set nullable_col = null, d = null where x in (null)", "update t set nullable_col = 'x', d = 3 where "+
		"x in (4, 5)")
}

func TestKeyTellsApart(t *testing.T) {
	seen := map[[2]uint64]string{}
	for _, s := range []string{
		"select a from t where b = 5", "select a from t where c = 5", "select a from t where b = 5 ",
		"select a from t where b = (5)",
		"select a from t where b in (5)", "select a from t where b in (5) ", "select f(1)", "select f(1,2)",
		"select f(1,2,3)", "select 1", "select 1,2", "select 'a''b'",
		"call p1(1)", "call p2(1)", "call p1 (1) x", "select a from t limit 1", "select nullable", "select null",
		"select aaaaaaaa", "select aaaaaaaaa",
		"insert into t values (1)", "insert into t values (1) on duplicate key update a = 2",
		"insert into t values (f(1))", "insert into t values (f(1), 2)",
		"select\n1", "select 1\n", "select 1\n\n", "select 1 /* x */", "select 1\n/* x */",
	} {
		k, ok := new(Keyer).Key([]byte(s))
		if !ok {
			continue
		}
		if other, ok := seen[k]; ok && Fingerprint(other) != Fingerprint(s) {
			t.Errorf("%q and %q have one key", s, other)
		}
		seen[k] = s
	}
	if len(seen) < 24 {
		t.Errorf("only %d keys", len(seen))
	}
}

func TestKeyLeavesTheStrangeToFingerprint(t *testing.T) {
	f := func(sql string) {
		t.Helper()
		if _, ok := new(Keyer).Key([]byte(sql)); ok {
			t.Errorf("%q has a key", sql)
		}
	}
	f("")
	f("select 'cut off")
	f("select 'c:\\\\', 'd'")
	f("select 'a\"b', 'c\"d'")
	f("select '/* ', a, ' */'")
	f("select /*!40001 SQL_NO_CACHE */ * from t")
	f("SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`")
	f("REPLACE /*foo.bar:3/3*/ INTO checksum.checksum (a) select 1")
	f("select 1 -- it's")
	f("select `a#b` from t")
	f("select `a")
	f("administrator command: Quit")
	f("insert into t values (f('a), (b'), 2), (3, 4)")
	f("insert into t values (f(?)), (f(?))")
	f("select 1/* a */2")
	f("select a\x00b")
	f("select /* cut off")
}

// TestKeyOfTheCorpus holds what keys promise for all pairs of statements that differ in little.
func TestKeyOfTheCorpus(t *testing.T) {
	seen := map[[2]uint64]string{}
	check := func(sql string) {
		k, ok := new(Keyer).Key([]byte(sql))
		if !ok {
			return
		}
		fp := Fingerprint(sql)
		if old, ok := seen[k]; ok && old != fp {
			t.Fatalf("%q has the key of another fingerprint:\n %q\n %q", sql, fp, old)
		}
		seen[k] = fp
	}
	for _, p := range corpus(t) {
		for _, s := range variants(p.SQL) {
			check(s)
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d keys", len(seen))
	}
}

// variants are statements near one: bytes left out, put in, or replaced.
func variants(sql string) (out []string) {
	out = append(out, sql)
	pieces := []string{
		"", " ", "1", "'x'", "\n", "null", "(", ")", ",", "/* c */", "-", ".", "true", "x", "`", "\"",
		"in (1)", "values (2),(", "é", "?",
	}
	for i := range len(sql) {
		for _, p := range pieces {
			out = append(out, sql[:i]+p+sql[i:], sql[:i]+p+sql[i+1:])
		}
	}
	return out
}

// FuzzKey feeds two statements that share much.
func FuzzKey(f *testing.F) {
	for _, p := range corpus(f) {
		f.Add(p.SQL, uint16(9), "'x', 2")
	}
	f.Fuzz(func(t *testing.T, sql string, at uint16, piece string) {
		i := min(int(at), len(sql))
		j := min(i+len(piece), len(sql))
		all := []string{sql, sql[:i] + piece + sql[i:], sql[:i] + piece + sql[j:], sql[:i] + "'" + sql[i:], sql[:i] +
			"1" + sql[j:], sql[:i] + " /* c */ " + sql[i:], sql + "\n", sql[:i] + "null" + sql[j:]}
		seen := map[[2]uint64]string{}
		for _, s := range all {
			k, ok := new(Keyer).Key([]byte(s))
			if !ok {
				continue
			}
			if other, ok := seen[k]; ok && Fingerprint(other) != Fingerprint(s) {
				t.Fatalf("one key for\n%q: %q\n%q: %q", s, Fingerprint(s), other, Fingerprint(other))
			}
			seen[k] = s
		}
	})
}

func TestKeyAllocatesNothing(t *testing.T) {
	var k Keyer
	sql := []byte(ordinary)
	if n := testing.AllocsPerRun(100, func() { k.Key(sql) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { AppendFingerprint(buf, sql) }); n != 0 {
		t.Errorf("%v allocations of AppendFingerprint", n)
	}
}

const ordinary = "SELECT a.id, b.name, b.created_at FROM orders a JOIN customers b ON a.customer_id = b.id WHERE " +
	"a.status = 'open' AND a.id IN (1015,2033,39001,40) AND b.region <> 17 ORDER BY a.id LIMIT 10"

func BenchmarkKey(b *testing.B) {
	f := func(name, sql string) {
		b.Run(name, func(b *testing.B) {
			var k Keyer
			s := []byte(sql)
			if _, ok := k.Key(s); !ok {
				b.Fatal("no key")
			}
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				k.Key(s)
			}
		})
	}
	f("ordinary", ordinary)
	f("short", "SELECT c FROM sbtest7 WHERE id=501234")
	f("quoted", "SELECT `users`.`id`, `users`.`name`, `users`.`email` FROM `users` WHERE `users`.`account_id` = 4711 "+
		"AND `users`.`deleted_at` IS NULL LIMIT 1")
	f("insert", "INSERT INTO events (user_id, kind, payload, created_at) VALUES (12345, 'click', 'some payload of an "+
		"ordinary length, nothing special', '2024-01-01 10:00:00')")
	f("update", "UPDATE sbtest1 SET "+
		"c='83868641912-28773972837-60736120486-75162659906-27563526494-20381887404-41576422241-93426793964-56405"+
		"065102-33518432330' WHERE id=5012")
	f("lines", "SELECT o.id,\n       o.total,\n       c.name\n  FROM orders o\n  JOIN customers c ON c.id = "+
		"o.customer_id\n WHERE o.created_at > '2024-01-01'\n   AND o.state = 5\n ORDER BY o.id\n LIMIT 50")
}
