package mytext

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	classes "github.com/dyno-perf/dyno/internal/class"
)

// pair is a statement with what pt-query-digest 3.2.1 made of it, and what we make where we mean to depart.
type pair struct{ SQL, Fingerprint, ID, Ours string }

func corpus(t testing.TB) (ps []pair) {
	t.Helper()
	b, err := os.ReadFile("testdata/pt-query-digest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &ps); err != nil || len(ps) < 80 {
		t.Fatalf("%d statements: %v", len(ps), err)
	}
	return ps
}

func TestFingerprintEqualsPtQueryDigest(t *testing.T) {
	for _, p := range corpus(t) {
		want := p.Fingerprint
		if p.Ours != "" {
			want = p.Ours
		}
		if got := Fingerprint(p.SQL); got != want {
			t.Errorf("%q\n got  %q\n want %q", p.SQL, got, want)
		}
		if got := classes.ID(p.Fingerprint); got != p.ID {
			t.Errorf("id of %q: got %s, want %s", p.Fingerprint, got, p.ID)
		}
	}
}

// TestReportHoldsOurIDs asks the tool itself: the ids of a slow log's report are ours.
func TestReportHoldsOurIDs(t *testing.T) {
	tool, err := exec.LookPath("pt-query-digest")
	if err != nil {
		t.Fatal("pt-query-digest is not installed: `build/setup test` does it")
	}
	var log strings.Builder
	var want []string
	for _, p := range corpus(t) {
		if p.Ours != "" || strings.ContainsAny(p.SQL, ";#\n") || strings.HasPrefix(p.SQL, "administrator") {
			continue
		}
		log.WriteString("# Time: 240101 10:00:00\n# User@Host: u[u] @ h [192.0.2.1]\n" +
			"# Query_time: 1.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 10\nSET timestamp=1704103200;\n" + p.SQL +
			";\n")
		want = append(want, classes.ID(Fingerprint(p.SQL)))
	}
	file := t.TempDir() + "/slow.log"
	if err := os.WriteFile(file, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "--no-version-check", "--output", "json", "--limit", "100%", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range want {
		if !strings.Contains(string(out), `"`+id+`"`) {
			t.Errorf("the report has no class %s", id)
		}
	}
}

func TestFingerprintShowsNoLiteral(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Fingerprint(in); got != want {
			t.Errorf("%q\n got  %q\n want %q", in, got, want)
		}
	}
	f("select a from t where b = 'secret", "select a from t where b = ?")
	f("select a from t where b = 'c:\\\\' and c = 'secret'", "select a from t where b = ? and c = ?")
	f("select `a, 'secret'", "select `a, ?")
	f("select a /* secret", "select a ")
	f("select a -- 'secret", "select a ")
	f("select 0xSECRET, 0xDEAD", "select ?secret, ?") // not a literal: an identifier that begins with a digit
	f("call p('secret', f('secret'))", "call p")
	f("call p1", "call p1")
	f("call p1(3);", "call p1")
	f("administrator command: 'secret'", "administrator command: ?")
	f("insert into t values ('a),(secret', 2), (3, 4)", "insert into t values(?+)")
	f(" /* app */ insert into t values (f(1)), (f(2)) on duplicate key update a = 'secret'",
		"insert into t values (f(?)), (f(?)) on duplicate key update a = ?")
	f("insert into t values (f(?)), (f(?)) on duplicate key update a = ?", "insert into t values (f(?)), (f(?)) on "+
		"duplicate key update a = ?")
	f("insert into t values (f(?)), (f(7)) on duplicate key update a = ?", "insert into t values (f(?))")
	f(" insert into t values (now()), (now())", "insert into t values (now())")
	f("  use  db1", "use ?")
	f("", "")
	f("\n", "")
}

func FuzzFingerprint(f *testing.F) {
	for _, p := range corpus(f) {
		f.Add(p.SQL)
	}
	f.Add("select a from t limit 1, 2, 3 union select a asc from t order by a asc, limit asc ?,?")
	f.Add("/* c */ insert into t values (f(\v1)), (f(\x022))")
	f.Add("insert into t values (f(?)), (f(?)) on duplicate key update a = ?")
	f.Add("/ /**/* 'x' /*repeat union*/ web1 truebb1 `a")
	f.Fuzz(func(t *testing.T, sql string) {
		a := Fingerprint(sql)
		if b := Fingerprint(a); a != b {
			t.Fatalf("%q\n first  %q\n second %q", sql, a, b)
		}
		if strings.ContainsAny(a, "0123456789") && !strings.HasPrefix(a, "call ") {
			t.Fatalf("%q: digits in %q", sql, a)
		}
		one := strings.NewReplacer("'", "", "\\", "").Replace(sql)
		two := strings.NewReplacer("\"", "", "\\", "").Replace(sql)
		line := strings.NewReplacer("\n", "", "\r", "").Replace(sql)
		for _, s := range []string{
			"select 'zqj" + one + "zqj'", "select 'zqj" + one, "select a from t where b in ('zqj" + one +
				"zqj', \"zqj" + two + "zqj\") and " + sql,
			"select \"zqj" + two + "zqj\", 'zqj" + one + "zqj'", "insert into t values (f('zqj" + one +
				"zqj'), 'a'), ('zqj', 2)" + sql, "select 'it\\'s zqj" + one + "zqj' from t",
			"select a /* zqj" + strings.ReplaceAll(sql, "*", "") + "zqj*/ from t", "select a -- zqj" + line +
				"\n from t", "select a # zqj" + line,
			"select 'c:\\\\', 'zqj" + one + "zqj', 'd'", "call p(1, 'zqj" + one + "zqj')",
			"select 'zqj''" + one + "zqj' from t",
		} {
			if got := Fingerprint(s); strings.Contains(got, "zqj") {
				t.Fatalf("a literal of %q shows in %q", s, got)
			}
		}
	})
}

// TestWorkIsLinear feeds what makes naive matching quadratic: looking at each byte from each byte would take 10 s and
// more.
func TestWorkIsLinear(t *testing.T) {
	const long, short = 100_000, 10_000 // short for what uses regular expressions: these are linear anyhow
	for _, unit := range []string{
		"-", "--a ", "--a 'b", "#", "#\r", "--\r", "/*!1*/",
		"\n# '", "/*", "*/", "/*!", "/**/", "/* a */", "'", "\\'", "'\\\\'", "'a\"", "`",
		"`'", "(", ")", "(1),", "), (", "in (", "in (1, ", "values(", "values (1", "values (1),",
		"insert into t values ('), (', f(1)), ", "select a union ", "select ", "select a union all select b union ",
		"limit 1,", "order by a asc ", "a asc", " asc", "x'", "null ", "nul", "true", "0x",
		"from a, ", "from `", "join (", "create ", "create table ", "if exists ", "show ", "call p(", "lock tables ",
		"select /*+ ", "ignore ", "?", " ", "\n", "\t,",
	} {
		for _, frame := range [][2]string{
			{"", ""},
			{"insert into t values (f(1)", "'"},
			{"create ", " union '"},
			{"show /*!1 " + strings.Repeat("a", 4000) + "*/", ""},
		} {
			in := func(n int) []byte { return []byte(frame[0] + strings.Repeat(unit, n/len(unit)) + frame[1]) }
			for name, f := range map[string]func(){
				"AppendFingerprint": func() { AppendFingerprint(nil, in(long)) }, "Key": func() {
					new(Keyer).Key(in(long))
				},
				"Redact": func() { Redact(nil, in(long)) }, "Item": func() { Item(string(in(short))) },
				"Tables": func() { Tables(in(short)) },
			} {
				start := time.Now()
				f()
				if d := time.Since(start); d > 5*time.Second {
					t.Errorf("%s of %q repeated between %q: %v", name, unit, frame, d)
				}
			}
		}
	}
}

// TestLineEndsAreFoundOnce: a line may end with either of two characters, and neither is looked for through the rest of
// the text at every line. This would take an hour.
func TestLineEndsAreFoundOnce(t *testing.T) {
	for _, line := range []string{"#\r", "#\n", "--\r", "-- \n"} {
		s := []byte("select 1 " + strings.Repeat(line, 1<<22))
		new(Keyer).Key(s)
		if got := Fingerprint(string(s)); got != "select ? " { // as pt-query-digest leaves it
			t.Errorf("%q: %.40q", line, got)
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	const q = "SELECT a.id, b.name FROM orders a JOIN customers b ON a.cid = b.id WHERE a.status = 'open' AND a.id " +
		"IN (1,2,3,4) ORDER BY a.id LIMIT 10"
	b.SetBytes(int64(len(q)))
	b.ReportAllocs()
	for b.Loop() {
		Fingerprint(q)
	}
}
