package sqltext

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
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
		if got := ID(p.Fingerprint); got != p.ID {
			t.Errorf("id of %q: got %s, want %s", p.Fingerprint, got, p.ID)
		}
	}
}

// TestReportHoldsOurIDs asks the tool itself, where it is installed: the ids of a slow log's report are ours.
func TestReportHoldsOurIDs(t *testing.T) {
	tool, err := exec.LookPath("pt-query-digest")
	if err != nil {
		t.Skip("pt-query-digest is not installed: its recorded answers are compared in the test above")
	}
	var log strings.Builder
	var want []string
	for _, p := range corpus(t) {
		if p.Ours != "" || strings.ContainsAny(p.SQL, ";#\n") || strings.HasPrefix(p.SQL, "administrator") {
			continue
		}
		log.WriteString("# Time: 240101 10:00:00\n# User@Host: u[u] @ h [192.0.2.1]\n" +
			"# Query_time: 1.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 10\nSET timestamp=1704103200;\n" + p.SQL + ";\n")
		want = append(want, ID(Fingerprint(p.SQL)))
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
	f(" /* app */ insert into t values (f(1)), (f(2)) on duplicate key update a = 'secret'", "insert into t values (f(?))")
	f("  use  db1 ", "use ?")
	f("", "")
	f("\n", "")
}

func FuzzFingerprint(f *testing.F) {
	for _, p := range corpus(f) {
		f.Add(p.SQL)
	}
	f.Add("select a from t limit 1, 2, 3 union select a asc from t order by a asc, limit asc ?,?")
	f.Add("/ /**/* 'x' /*repeat union*/ web1 truebb1 `a")
	f.Fuzz(func(t *testing.T, sql string) {
		a := Fingerprint(sql)
		if b := Fingerprint(a); a != b {
			t.Fatalf("%q\n first  %q\n second %q", sql, a, b)
		}
		if strings.ContainsAny(a, "0123456789") && !strings.HasPrefix(a, "call ") {
			t.Fatalf("%q: digits in %q", sql, a)
		}
		if s := "select 'zqj" + strings.NewReplacer("'", "", "\\", "").Replace(sql) + "zqj'"; strings.Contains(Fingerprint(s), "zqj") {
			t.Fatalf("a string shows in %q", Fingerprint(s))
		}
	})
}

// TestFingerprintIsLinear feeds what makes naive matching quadratic.
func TestFingerprintIsLinear(t *testing.T) {
	const n = 200_000
	for _, unit := range []string{"-", "select a union ", "(1),", "select a union all select b union ", "in (", "'", "`", "/*", "--a ", "limit 1,", "values(", "order by a asc ", "x'", "\\'"} {
		in := strings.Repeat(unit, n/len(unit))
		start := time.Now()
		Fingerprint(in)
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%q repeated to %d bytes: %v", unit, n, d)
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	const q = "SELECT a.id, b.name FROM orders a JOIN customers b ON a.cid = b.id WHERE a.status = 'open' AND a.id IN (1,2,3,4) ORDER BY a.id LIMIT 10"
	b.SetBytes(int64(len(q)))
	b.ReportAllocs()
	for b.Loop() {
		Fingerprint(q)
	}
}
