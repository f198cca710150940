package sources

import (
	"fmt"
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	f := func(n int, want string, files, bytes float64, names ...string) {
		t.Helper()
		a := tally{sum: map[string]*room{}}
		for i, name := range names {
			a.add([]byte(name), float64(100+i), float64(i), name != "d/unknown")
		}
		var got []string
		for _, r := range a.largest(n) {
			got = append(got, fmt.Sprint(r.name, " ", r.file, " ", r.allocated, " ", r.known))
		}
		if s := strings.Join(got, ", "); s != want || a.files != files || a.bytes != bytes {
			t.Fatalf("got %q and %v files with %v bytes, want %q, %v, %v", s, a.files, a.bytes, want, files, bytes)
		}
	}
	f(9, "d/a 100 0 true", 1, 100, "d/a")
	f(1, "d/b 101 1 true", 2, 201, "d/a", "d/b")
	f(9, "d/t 201 1 true, d/u 102 2 true", 3, 303, "d/t#P#p0", "d/t#P#p1", "d/u")
	f(9, "d/t 201 1 true", 2, 201, "d/t#p#p0#sp#s0", "d/t#p#p0#sp#s1")
	f(9, "d/unknown 100 0 false", 1, 100, "d/unknown")
	f(9, "", 6, 615, "mysql", "mysql/user", "sys/sys_config", "innodb_system", "d/FTS_0001_CONFIG",
		"d/fts_0001_being_deleted")
	f(9, "d/#p 100 0 true", 1, 100, "d/#p")
}

func TestSizesLiteral(t *testing.T) {
	f := func(encoded bool, name, want string) {
		t.Helper()
		got, ok := (&sizes{encoded: encoded}).literal(name)
		if got != want || ok != (want != "") {
			t.Fatalf("%q: got %q %v, want %q", name, got, ok, want)
		}
	}
	f(true, "a@002db", "CONVERT(CONVERT(UNHEX('61403030326462') USING filename) USING utf8)")
	f(true, "#sql-ib12", "")
	f(true, "a' OR 1", "")
	f(false, "o'brien", "'o''brien'")
	f(false, `a\`, "CONVERT(UNHEX('615C') USING utf8)")
	f(false, "#x", "'#x'")
}
