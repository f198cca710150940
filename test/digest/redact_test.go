package digest_test

import (
	"encoding/base64"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secrets stand in the literals of leaky, and must be in no output.
var secrets = []string{
	"sesame", "4929123456789012", "1979-04-03", "hunter", "2.718281828", "DEADBEEF", "deadbeef", "j.doe@example",
	"Prague", "s3cr3t", "98765432", "c0ffee", "10101011", "žluť", "0xBEEF",
}

// leaky are statements with a secret in every place where a literal can be.
var leaky = []string{
	"SELECT * FROM users WHERE password = 'open sesame' AND card = 4929123456789012",
	"SELECT 'it''s sesame', 'back\\'sesame\\'', \"double sesame\", 'sesame\\\\'",
	"INSERT INTO t (a, b) VALUES (98765432, 'j.doe@example.org'), (0xDEADBEEF, x'c0ffee'), (b'10101011', 2.718281828)",
	"UPDATE t SET born = DATE '1979-04-03', city = N'Prague', word = _utf8mb4'žluť' WHERE id = -98765432",
	"DELETE FROM t WHERE a IN ('hunter2', 'hunter3') /* for j.doe@example.org */",
	"SELECT 1 -- sesame\n FROM t # sesame\n WHERE a = 0xdeadbeef LIMIT 98765432",
	"/* sesame 4929123456789012 */ SELECT 2",
	"SELECT /*! STRAIGHT_JOIN */ a FROM t WHERE b = 'sesame'",
	"SELECT /*+ MAX_EXECUTION_TIME(98765432) */ a FROM t",
	"CREATE USER x IDENTIFIED BY 's3cr3t'",
	"SET PASSWORD FOR x = PASSWORD('s3cr3t')",
	"GRANT ALL ON *.* TO x@'sesame.example' IDENTIFIED BY 's3cr3t'",
	"CALL pay('4929123456789012', 98765432, 'sesame')",
	"LOAD DATA LOCAL INFILE '/home/hunter/sesame.csv' INTO TABLE t FIELDS TERMINATED BY 'sesame'",
	"PREPARE s FROM 'SELECT sesame FROM t WHERE a = 98765432'",
	"SELECT 'sesame\x00sesame\xff', \"sesame'sesame\", 'a;b sesame'",
	"SELECT 1; SELECT 'sesame'; INSERT INTO t VALUES ('sesame', 98765432)",
	"SELECT JSON_EXTRACT(a, '$.sesame') FROM t WHERE MATCH(b) AGAINST ('+sesame' IN BOOLEAN MODE)",
	"SELECT a FROM t WHERE b = 0xBEEF AND c = -0xdeadbeef", // 0X is no literal but a name
}

// outputs are all forms of a report.
var outputs = []string{"text", "json", "md", "html"}

// TestRedactLeavesNoLiteral looks for every literal of a log in every output of it.
func TestRedactLeavesNoLiteral(t *testing.T) {
	needProgram(t)
	var b strings.Builder
	for i, q := range leaky {
		b.WriteString(entry{sql: q, seconds: 1 + float64(i)}.String())
	}
	b.WriteString("# Time: 2026-11-20T10:00:00.000000Z\n# User@Host: app[app] @ web [10.0.0.3]  Id: 1\n# Query_time: " +
		"1.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 10\n" +
		"# explain: " +
		"id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tr_rows\tfiltered\tr_filtered\tExtra\n" +
		"# explain: 1\tSIMPLE\tt\tref\ta\ta\t4\tconst\t1\t1.00\t100.00\t100.00\tUsing where\n#\nSET " +
		"timestamp=1;\nSELECT 5 FROM t WHERE a = 'sesame';\n")
	b.WriteString("garbage \x00 sesame 4929123456789012\n")
	b.WriteString(entry{sql: "SELECT a FROM t WHERE b = 'cut off sesame 4929123456789012"}.String())
	path := write(t, "slow.log", b.String())
	other := write(t, "other.log", entry{sql: "SELECT 'sesame' FROM elsewhere"}.String()+b.String())
	try := func(name string, args ...string) {
		t.Run(name, func(t *testing.T) {
			e := finish(t, command(t, append([]string{"digest", "--redact", "--limit", "0"}, args...)...))
			if e.code != 0 && e.code != 7 {
				t.Fatalf("code %d: %s", e.code, e.err)
			}
			if len(e.out) < 500 {
				t.Fatalf("only %q", e.out)
			}
			leaks(t, e.out+e.err)
		})
	}
	for _, o := range outputs {
		try(o, "--output", o, path)
		try(o+" grouped by user", "--output", o, "--group-by", "user", path)
		try(o+" compared", "--output", o, "--compare", path, other)
	}
	t.Run("state", func(t *testing.T) {
		dir := t.TempDir()
		state := filepath.Join(dir, "state")
		f := follow(t, "--redact", "--state", state, path)
		f.until(t, func(r report) bool { return r.Global.Entries > 0 })
		f.stop(t)
		leaks(t, f.out.String()+f.errs.String())
		b, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		leaks(t, string(b))
	})
}

// leaks fails the test when a secret is in an output, as it is or encoded.
func leaks(t *testing.T, out string) {
	t.Helper()
	plain := out + html.UnescapeString(out)
	for _, s := range secrets {
		for _, form := range []string{s, strings.ToUpper(s), base64.StdEncoding.EncodeToString([]byte(s))} {
			if i := strings.Index(plain, form); i >= 0 {
				t.Errorf("%q is in the output: …%q…", form, plain[max(0, i-80):min(len(plain), i+80)])
			}
		}
	}
}

// TestUnredacted makes sure that the test above can fail.
func TestUnredacted(t *testing.T) {
	path := write(t, "slow.log", entry{sql: leaky[1]}.String())
	for _, o := range outputs {
		if e := dyno(t, 0, "--output", o, path); !strings.Contains(e.out, "sesame") {
			t.Errorf("%s shows no sample:\n%s", o, tail(e.out))
		}
	}
}
