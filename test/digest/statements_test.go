package digest_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// awkward are statements of a log that could break out of the comment or the sample in which a report shows them.
var awkward = []string{
	"SELECT 'a;b', \"c;d\" FROM t1 -- it's open",
	"SELECT a FROM t1 # it's open; DROP TABLE t1",
	"SELECT a FROM t1 /* it's; */",
	"SELECT a /* two\n# lines; */ FROM t1",
	"SELECT a FROM t1;",
	"SELECT a FROM t1 ; ;",
	"SELECT 'line\n# Time: 2026\n# User@Host: x' FROM t1",
	"SELECT a\n\n\nFROM t1\r\n",
	"SELECT 'nul \x00 byte' FROM t1",
	"SELECT '\xff\xfe' FROM t1",
	"SELECT '\\\\' FROM t1",
	"SELECT '\\\\G' FROM t1",
	"SELECT 'it''s', \"\"\"\" FROM t1",
	"SELECT `a``b` FROM `we``ird; table`",
	"SELECT a FROM `d``1`.`t'1`",
	"SELECT 1 -- */ ; DROP TABLE t1",
	"SELECT a FROM t1 WHERE b = '*/ DROP TABLE t1; /*'",
	"SELECT 'delimiter //' FROM t1",
	"DELETE FROM t1 WHERE b = 'x;\\'y' AND a = -99",
	"UPDATE t1 SET b = 'it''s', a = 5 WHERE a = -99 ORDER BY id LIMIT 1",
	"UPDATE t1, t2 SET t1.a = t2.a WHERE t1.id = t2.a AND t2.a = -5",
	"INSERT INTO t2 (a, b) VALUES (1, 'a'), (2, ');')",
	"INSERT INTO t2 (a, b) SELECT a, b FROM t1 WHERE a = -99",
	"REPLACE INTO t1 (id, b) VALUES (-3, 'x')",
	"DELETE t2 FROM t2 JOIN t1 ON t1.id = t2.a WHERE t1.a = -99",
	"(SELECT a FROM t1) UNION (SELECT a FROM t2)",
	"WITH c AS (SELECT 1 x) SELECT * FROM c",
	"CALL p1(1, 'x')",
	"SET @a = ';'",
	"USE d1",
	"SHOW TABLES LIKE 'x;%'",
	"SELECT 'long " + strings.Repeat("; it''s long -- ", 5000) + "' FROM t1",
}

// torn are texts that are no whole statement: the log or its server cut them, or they were never one. A report may show
// them in comments only.
var torn = []string{
	"SELECT a FROM t1 WHERE b = 'never closed",
	"SELECT a FROM t1 WHERE b = \"never closed",
	"SELECT a FROM `never closed",
	"SELECT a /* never closed",
	"SELECT a FROM t1 WHERE b = 'escaped\\",
}

var clientError = regexp.MustCompile(`(?m)^ERROR (\d+) .*$`)

// TestReportIsSQL gives the report to the client program, as `dyno digest slow.log | mysql` does: the server finds no
// error of syntax in it, and nothing in it leaves the client waiting for more.
func TestReportIsSQL(t *testing.T) {
	everywhere(t, func(t *testing.T, l *logger) {
		l.do(t, tables...)
		var b strings.Builder
		for i, q := range append(append([]string{}, awkward...), torn...) {
			b.WriteString(entry{sql: q, db: "d1", seconds: 1 + float64(i)}.String())
		}
		path := write(t, "slow.log", b.String())
		for _, args := range [][]string{{}, {"--redact"}, {"--limit", "0"}, {"--group-by", "user"}} {
			e := dyno(t, 0, append(args, path)...)
			for i, line := range strings.Split(e.out, "\n") {
				if strings.ContainsRune(line, 0) {
					t.Errorf("%v: a NUL in line %d: %q", args, i+1, cut(line))
				}
			}
			client := func(text string) string {
				c := exec.CommandContext(t.Context(), "mariadb", "--no-defaults", "--force",
					"--default-character-set=utf8mb4", "--socket="+l.socket, "--user=root", "d1")
				c.Stdin = strings.NewReader(text)
				out, _ := c.CombinedOutput() // its code tells of the last error alone
				return string(out)
			}
			out := client(e.out + "\nSELECT 'the', 'end of', 'the report';\n")
			if !strings.Contains(out, "end of\tthe report") {
				t.Errorf("%v: the report leaves a statement, string or comment open:\n%s", args, tail(out))
			}
			lines := strings.Split(e.out, "\n")
			for _, m := range clientError.FindAllStringSubmatch(out, -1) {
				if m[1] != "1064" && m[1] != "1065" { // ER_PARSE_ERROR, ER_EMPTY_QUERY
					continue
				}
				where := ""
				var n int
				if _, err := fmt.Sscanf(m[0][strings.Index(m[0], "line "):], "line %d", &n); err == nil &&
					n <= len(lines) {
					where = lines[n-1]
				}
				t.Errorf("%v: %s\n%q", args, m[0], where)
			}
		}
	})
}
