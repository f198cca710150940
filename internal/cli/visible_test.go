package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestLegible(t *testing.T) {
	f := func(form, want string, writes ...string) {
		t.Helper()
		var b bytes.Buffer
		l := &legible{to: &b, form: func() string { return form }}
		for _, w := range writes {
			if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%q: %d %v", w, n, err)
			}
		}
		if err := l.Close(); err != nil || b.String() != want {
			t.Errorf("%s %q: %q, want %q, %v", form, writes, b.String(), want, err)
		}
	}
	f("text", "plain,\tälter 日本 é\n", "plain,\tälter 日本 é\n")
	f("", "x␛[1A␛[2Kharmless", "x\x1b[1A\x1b[2Kharmless")
	f("text", "a␍b␀␡c⟨U+009B⟩2J⟨U+202E⟩d⟨U+2028⟩⟨xFF⟩⟨x9B⟩", "a\rb\x00\x7fc\u009b2J\u202ed\u2028\xff\x9b")
	f("text", "日本", "\xe6", "\x97\xa5\xe6\x9c", "\xac") // a writer with a buffer cuts anywhere
	f("text", "a⟨xE6⟩⟨x97⟩", "a\xe6\x97")
	f("text", "\x1b[1mbold\x1b[0m ␛[1mno", styled(1, "bold")+" \x1b[1mno")
	f("json", "{\"a\":\"\\u009b\\u007f\\u202e\\udb40\\udc41\"}\n", "{\"a\":\"\u009b\x7f\u202e\U000e0041\"}\n")
	f("html", "\u00a0\x1b", "\u00a0\x1b")
}

// hostileTable moves the cursor up and empties the line, on a terminal that is let.
const hostileTable = "x\x1b[1A\x1b[2Kharmless\u009b8m\u202e\nNothing was changed."

// TestHostileNames has a table name go through what people read before and after they agree to a
// change.
func TestHostileNames(t *testing.T) {
	s := servers.Start(t, "mariadb")
	name := "`" + hostileTable + "`"
	s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE shop."+name+" (id INT PRIMARY KEY, a INT, b INT, KEY "+
		"k1 (a), KEY k2 (a, b))",
		"INSERT INTO shop."+name+" SELECT seq, seq % 100, seq FROM seq_1_to_20000", "ANALYZE TABLE shop."+name)
	log := filepath.Join(t.TempDir(), "slow.log")
	text := "# Time: 2026-11-21T07:33:34.123456Z\n# User@Host: app\x1b[2J[app] @ localhost []  Id: 7\n" +
		"# Query_time: 1.5  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 100\nSET timestamp=1795246414;\nSELECT * " +
		"FROM " + name + " WHERE a = 1;\n"
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		environ := func(k string) string {
			if k == "DYNO_HOME" {
				return home
			}
			return ""
		}
		code := Run(t.Context(), args, Streams{strings.NewReader(""), &out, &out}, environ, "test")
		said := out.String()
		if i := strings.IndexFunc(said, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
		}); i >= 0 {
			t.Errorf("%q says, with code %d: …%q", args, code, said[max(0, i-30):min(len(said), i+60)])
		}
		return said
	}
	shown := "x␛[1A␛[2Kharmless⟨U+009B⟩8m⟨U+202E⟩"
	url := s.URL("root")
	said := run("diagnose", url, "--window", "3s") + run("advise", "all", url, "--window", "3s")
	found := lazyregexp.New(`redundant-index-[0-9a-f]{8}`).FindString(said)
	if found == "" {
		t.Fatal("the index is not found: ", said)
	}
	var d struct {
		Preview struct{ Action struct{ SQL string } }
	}
	if err := json.Unmarshal([]byte(run("apply", url, found, "--output", "json", "--quiet")), &d); err != nil ||
		!strings.Contains(d.Preview.Action.SQL, hostileTable) {
		t.Fatalf("%q %v", d.Preview.Action.SQL, err)
	}
	if said := run("apply", url, found); !strings.Contains(said, "ALTER TABLE `shop`.`"+shown+
		"␊Nothing was changed.` ") {
		t.Errorf("the statement is not shown as it is: %s", said)
	}
	m := lazyregexp.New(`Done: (a-\S+)`).FindStringSubmatch(run("apply", url, found, "--execute"))
	if m == nil {
		t.Fatal("it was not done")
	}
	done := m[1]
	for _, args := range [][]string{{"undo", "--list"}, {"undo", done}, {"digest", log}} {
		if said := run(args...); !strings.Contains(said, "x␛[1A␛[2Kharmless") {
			t.Errorf("%q hides the name: %s", args, said)
		}
	}
	for _, args := range [][]string{
		{"proof", done},
		{"target", "check", url},
		{"digest", url, "--window", "3s"},
		{"digest", log, "--output", "json"},
		{"undo", done, "--execute"},
		{"load", "oltp_read_only", "run", "--target", url + "&database=" + fmt.Sprintf("%%1b[2J%%9b"), "--time", "1"},
		{"apply", url, "x\x1b[2J"},
	} {
		run(args...)
	}
}
