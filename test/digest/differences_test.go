package digest_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/peer"
)

// counts is how often each fingerprint was seen.
type counts map[string]uint64

// TestDifferences has a log for every row of the table of differences in docs/digest.md that is about what is counted:
// both programs say what the table tells.
func TestDifferences(t *testing.T) {
	needProgram(t)
	f := func(name, text string, code int, ours, theirs counts) {
		t.Run(name, func(t *testing.T) {
			path := write(t, "slow.log", text)
			got := counts{}
			for _, c := range digest(t, code, path).Classes {
				got[c.Fingerprint] = c.Count
			}
			if !maps.Equal(got, ours) {
				t.Errorf("got %v, want %v", got, ours)
			}
			p, err := peer.PtDigest(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			got = counts{}
			for _, c := range p.Classes {
				got[c.Fingerprint] = uint64(c.Count)
			}
			if !maps.Equal(got, theirs) {
				t.Errorf("pt-query-digest has %v, want %v: is the table out of date?", got, theirs)
			}
		})
	}
	log := func(statements ...string) string {
		var b strings.Builder
		for i, q := range statements {
			b.WriteString(entry{sql: q, at: begin.Add(time.Duration(i) * time.Second)}.String())
		}
		return b.String()
	}
	head, _, _ := strings.Cut(log("SELECT 1"), "SELECT")
	f("; and # on the next line, in a string", log("SELECT 1", "SELECT 'a;\n# b' FROM t", "SELECT 2"), 0,
		counts{"select ?": 2, "select ? from t": 1}, counts{"select ?": 2, "select 'a": 1})
	f("; and # on the next line, in a routine", log("CREATE PROCEDURE p() BEGIN\nSELECT 1;\n# why\nSELECT 2;\nEND"), 0,
		counts{"create procedure p() begin select ?; select ?; end": 1},
		counts{"create procedure p() begin select ?": 1})
	f("use in small letters", log("SELECT 1", "use d1", "SELECT 2"), 0, counts{"select ?": 2, "use ?": 1},
		counts{"select ?": 2, "": 1})
	f("SET timestamp by a client", log("SELECT 1", "SET timestamp=1", "SELECT 2"), 0,
		counts{"select ?": 2, "set timestamp=?": 1}, counts{"select ?": 2, "": 1})
	f("a statement that begins with #", log("# why\nSELECT a FROM t"), 0, counts{"select a from t": 1},
		counts{"why select a from t": 1})
	f("CRLF", strings.ReplaceAll(log("SELECT 1", "SELECT 2"), "\n", "\r\n"), 0, counts{"select ?": 2},
		counts{"select ?; set timestamp=?; select ?; ": 1})
	f("garbage", log("SELECT 1")+"\x01 garbage\n"+log("SELECT 2"), 7, counts{"select ?": 2},
		counts{"select ?; \x01 garbage set timestamp=?; select ?": 1})
	f("a header without a statement", log("SELECT 1")+head+log("SELECT 2"), 7, counts{"select ?": 2},
		counts{"select ?": 2, "": 1})
	f("an impossible time", log("SELECT 1")+strings.Replace(log("SELECT a FROM t"), "0.500000",
		"18446744073708.796870.000036", 1), 7,
		counts{"select ?": 1}, counts{"select ?": 1, "select a from t": 1})
	f("a rate limit", strings.ReplaceAll(log("SELECT 1", "SELECT 2"), "SET",
		"# Log_slow_rate_type: query  Log_slow_rate_limit: 10\nSET"), 0,
		counts{"select ?": 20}, counts{"select ?": 2})
	f("an escaped backslash before a quote", log(`SELECT 'back\\', 'x'`), 0, counts{"select ?, ?": 1},
		counts{"select ?x'": 1})
	f("capital hexadecimal digits", log("SELECT 0xAB"), 0, counts{"select ?": 1}, counts{"select ?ab": 1})
	f("a quote in a comment", log("SELECT a -- it's\n, b FROM t"), 0, counts{"select a , b from t": 1},
		counts{"select a ? it's , b from t": 1})
	f("a string cut off", log("SELECT a FROM t WHERE b = 'never closed"), 0, counts{"select a from t where b = ?": 1},
		counts{"select a from t where b = 'never closed": 1})
}

// TestLateAttribute has an attribute appear after pt-query-digest has made up its mind which there are, at 1000
// statements.
func TestLateAttribute(t *testing.T) {
	needProgram(t)
	text := steady(0, 1100)
	at := strings.LastIndex(text, "Rows_examined: 10")
	path := write(t, "slow.log", text[:at]+"Rows_examined: 10  Extra_count: 5"+text[at+len("Rows_examined: 10"):])
	ours := digest(t, 0, path)
	if f := ours.Global.Attributes["extra_count"]; f.Sum != 5 || f.Count != 1 {
		t.Errorf("got %+v", f)
	}
	theirs, err := peer.PtDigest(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if d := peer.Compare(ours, theirs, peer.Options{}); len(d) != 1 ||
		!strings.Contains(d[0], "extra_count is 5, pt-query-digest has none") {
		t.Errorf("%q", d)
	}
}

// TestTimeZone has a log with local times and SET timestamp, and one with zones: first and last are what the clock of
// the world said.
func TestTimeZone(t *testing.T) {
	needProgram(t)
	f := func(name, text string) {
		t.Helper()
		r := digest(t, 0, write(t, "slow.log", text))
		if len(r.Classes) != 1 || !r.Classes[0].First.Equal(begin) || !r.Classes[0].Last.Equal(begin) {
			t.Errorf("%s: %+v", name, r.Classes)
		}
	}
	utc := entry{sql: "SELECT 1"}.String()
	f("UTC", utc)
	f("zone", strings.Replace(utc, "10:00:00.000000Z", "12:00:00.000000+02:00", 1))
	f("local time", strings.Replace(utc, "# Time: 2026-11-20T10:00:00.000000Z", "# Time: 261120 13:00:00", 1))
}
