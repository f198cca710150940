package report_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/test/servers"
)

// client returns the mysql client of this machine.
func client(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"mysql", "mariadb"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Fatal("no mysql client on this machine")
	return ""
}

// TestDigestTextThroughTheClient pipes reports into a real client on a real server, as people do.
func TestDigestTextThroughTheClient(t *testing.T) {
	s := servers.Start(t, "mariadb")
	bin := client(t)
	dir := t.TempDir()
	pipe := func(in string, args ...string) (string, error) {
		t.Helper()
		cmd := exec.Command(bin, append([]string{"--no-defaults", "--user=root", "--socket=" + s.Socket, "--batch"},
			args...)...)
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(in)
		var b bytes.Buffer
		cmd.Stdout, cmd.Stderr = &b, &b
		err := cmd.Run()
		return b.String(), err
	}
	if out, err := pipe("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, customer_id INT, state " +
		"TEXT); INSERT INTO shop.orders VALUES (17, 4711, 'open')"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	trap := filepath.Join(dir, "trap")
	if _, err := pipe("SELECT 1 \\! touch trap\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(trap); err != nil {
		t.Fatalf("the client runs no commands, so nothing is tested: %v", err)
	}
	for _, comments := range []string{"--comments", "--skip-comments"} {
		if out, err := pipe("UPDATE shop.orders SET state = 'open'"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		// The samples of the usual report run, in order, without an error.
		out, err := pipe(digestIn(t, "txt", digestSample(), digestOptions), comments, "shop")
		if err != nil || !strings.Contains(out, "4711") || !strings.Contains(out, "state = 'paid'") {
			t.Errorf("%s: %v: %s", comments, err, out)
		}

		for name, r := range map[string]*digest.Report{"empty": {}, "by user": byUser()} {
			if out, err := pipe(digestIn(t, "txt", r, report.DigestOptions{GroupBy: "user"}), comments,
				"shop"); err != nil || out != "" {
				t.Errorf("%s, %s: %v: %s", comments, name, err, out)
			}
		}

		// What strangers sent to the server runs nothing on this machine and hides nothing that follows.
		script := filepath.Join(dir, "script.sql")
		if err := os.WriteFile(script, []byte("SELECT 'sourced' AS x;\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := &digest.Report{Dialect: mytext.Dialect{}}
		for _, sql := range []string{
			`\! touch trap`, `SELECT 1 \! touch trap`, "SELECT 1;\n\\! touch trap\n", "SELECT 1;\n\\\\! touch trap\n",
			"system touch trap", "SELECT 1;\nsystem touch trap\n", "/* a */\nsystem touch trap",
			"-- a\nsystem touch trap", "SELECT 1 -- a\nsystem touch trap\n", "SELECT 1; -- a\nsystem touch trap\n",
			"SELECT 'a\\'\n\\! touch trap", "SELECT `a\\`\n\\! touch trap\n`", "SELECT \"a\\\"\n\\! touch trap\n",
			"SELECT 1 /*! \\! touch trap\n*/", "SELECT /*+ ' */ 1\n\\! touch trap\n'",
			"SELECT /*M! 1 */;\nsystem touch trap", "tee trap", `SELECT 1 \T trap`, "source script.sql",
			`SELECT 1 \. script.sql`,
			"pager touch trap", "delimiter //", "SELECT 1 delimiter //", "SELECT xdelimiter //", "SELECT 'open",
			"SELECT `open", "SELECT \"open", "SELECT 1 /* open", "SELECT 1 /*! open", "SELECT 1 --", "SELECT 1 #",
			"SELECT '\x00'", "SELECT 1 \x00", "SELECT '\r\nsystem touch trap'", "SELECT '\nsystem touch trap\n\\\\! " +
				"touch trap\n'", "SELECT 1;;", "(((", ")", ";", "", "use shop", "use `shop`", "use", "?", "SELECT ?",
			"exit", "quit", `SELECT 1 \q`, "connect", `\r`, "SELECT 1 \\d //", "BEGIN NOT ATOMIC SELECT 1; END",
			"LOAD DATA LOCAL INFILE 'script.sql' INTO TABLE shop.orders", "SELECT 1 FROM dual WHERE 1 = '\\\\'",
			"SELECT 'x' -- '\n", "SELECT 'x' # '\n", "SELECT 1 /* ' */", "SELECT a--'\n'", "help",
			"SELECT\nsystem touch trap",
		} {
			r.Classes = append(r.Classes, digest.Row{
				Rank: len(r.Classes) + 1, Fingerprint: "x\nsystem touch trap",
				Item: "x\n\\! touch trap", Tables: []string{"a\nsystem touch trap", "`'\\G;\\! touch trap"},
				Worst: &digest.Sample{SQL: sql},
			})
			r.Classes = append(r.Classes, digest.Row{
				Rank: len(r.Classes) + 1, Fingerprint: "x",
				Worst: &digest.Sample{SQL: "SELECT CONCAT('reached ', " + strings.Repeat("1+", len(r.Classes)) + "0) " +
					"AS y"},
			})
		}
		text := digestIn(t, "txt", r, report.DigestOptions{})
		out, _ = pipe(text, comments, "--force", "shop")
		if _, err := os.Stat(trap); err == nil {
			os.Remove(trap)
			t.Errorf("%s: a sample ran a command of the client", comments)
		}
		if strings.Contains(out, "sourced") {
			t.Errorf("%s: a sample read a file", comments)
		}
		for i := 1; i < len(r.Classes); i += 2 {
			if want := "reached " + strconv.Itoa(i) + "\n"; !strings.Contains(out, want) {
				t.Errorf("%s: %q behind sample %q did not run", comments, want, r.Classes[i-1].Worst.SQL)
			}
		}
	}
	if out, err := pipe("SELECT COUNT(*) AS n FROM shop.orders"); err != nil || out != "n\n1\n" {
		t.Errorf("after all: %v: %s", err, out)
	}
}
