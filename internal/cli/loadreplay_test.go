package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/test/servers"
)

// replay runs the verb and returns what it prints and its exit code.
func replay(t *testing.T, output string, args ...string) (out, remarks string, code int) {
	t.Helper()
	var o, r bytes.Buffer
	e := &env{console: console{Streams: Streams{In: strings.NewReader(""), Out: &o, Err: &r}, output: output}}
	e.app = &app.App{Home: t.TempDir(), Version: "test", Environ: func(string) string { return "" }}
	c := newLoadReplayCommand(e)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	code = e.fail(errors.Join(err, e.app.Close()))
	return o.String(), r.String(), code
}

// slowLogOf writes a slow log as MySQL 8 does: statements of two sessions, 0.1 s apart.
func slowLogOf(statements ...string) []byte {
	var b bytes.Buffer
	for i, s := range statements {
		at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).Add(time.Duration(i) * 100 * time.Millisecond)
		fmt.Fprintf(&b, "# Time: %s\n# User@Host: app[app] @ web [10.0.0.1]  Id: %5d\n# Query_time: 0.010000  "+
			"Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\n%s;\n",
			at.Format("2006-01-02T15:04:05.000000Z"), i%2+1, at.Unix(), s)
	}
	return b.Bytes()
}

func TestReplay(t *testing.T) {
	s := servers.Start(t, servers.Flavors[0])
	s.Exec(t, "CREATE DATABASE x", "CREATE TABLE x.t (a INT)")
	log := slowLogOf("SELECT 1", "SELECT COUNT(*) FROM x.t", "INSERT INTO x.t VALUES (1)", "SELECT 2",
		"SELECT * FROM x.missing")
	dir := t.TempDir()
	name := filepath.Join(dir, "slow.log.1.gz")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write(log)
	_ = w.Close()
	if err := os.WriteFile(name, z.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := func() (n int) {
		t.Helper()
		if err := s.DB(t, "x").QueryRow("SELECT COUNT(*) FROM t").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	has := func(text string, wants ...string) {
		t.Helper()
		for _, w := range wants {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in\n%s", w, text)
			}
		}
	}

	out, remarks, code := replay(t, "text", name, "--target", s.URL("root"), "--speed", "max")
	if code != exitDone || rows() != 0 {
		t.Errorf("exit code %d, %d rows\n%s%s", code, rows(), out, remarks)
	}
	has(out, "Replaying "+name+" on ", "as fast as the server answers, reads only, over at most 100 connections",
		"transactions:                        3 ", "ignored errors:                      1 ",
		"1 × 1146", "5 entries of 2 sessions", "4 statements over 2 connections; 0 late",
		"1 of 5 entries were not sent: not proven to be reads")
	has(remarks, "Stored as ")

	out, _, code = replay(t, "json", name, "--target", s.URL("root"), "--speed", "5", "--writes",
		"--report-interval", "0")
	if code != exitDone && code != exitUndecided || rows() != 1 {
		t.Errorf("exit code %d, %d rows\n%s", code, rows(), out)
	}
	var got struct {
		Message  string
		Replayed load.Replayed
		loadresult.Run
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got.Message != "summary" || got.Replayed.Sent != 5 || got.Total.Operations() != 4 ||
		got.Options["speed"] != "5" || got.Options["writes"] != "true" || got.Workload != load.ReplayName {
		t.Errorf("the summary is %+v", got)
	}

	// A log that was torn.
	torn := filepath.Join(dir, "torn.log")
	if err := os.WriteFile(torn, append(append([]byte{}, log...), "# Time: garbage\n# Query_time: 1"...),
		0o600); err != nil {
		t.Fatal(err)
	}
	out, remarks, code = replay(t, "text", torn, "--target", s.URL("root"), "--speed", "max")
	if code != exitSkipped {
		t.Errorf("exit code %d\n%s%s", code, out, remarks)
	}
	has(remarks, "of the log were skipped, the first "+torn+" at byte ")

	out, remarks, code = replay(t, "text", filepath.Join(dir, "missing"), "--target", s.URL("root"))
	if code != exitFailed || !strings.Contains(remarks, "no such file") {
		t.Errorf("exit code %d\n%s%s", code, out, remarks)
	}
}

func TestReplayUsage(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if _, remarks, code := replay(t, "text", args...); code != exitUsage || !strings.Contains(remarks, want) {
			t.Errorf("%q: exit code %d, %s; want %q", args, code, remarks, want)
		}
	}
	f("an argument is missing")
	f("say which server", "slow.log")
	f("--speed fast: it takes", "slow.log", "--target", "x", "--speed", "fast")
	f("--speed 0: it takes", "slow.log", "--target", "x", "--speed", "0")
	f("takes one number", "slow.log", "--target", "x", "--threads", "1,2")
	f("unknown option --sped, did you mean --speed?", "slow.log", "--sped", "3")
	f("--help` lists the options.", "slow.log", "--zzzzzz")
	f("--filter: ", "slow.log", "--filter", "Query_tim >")
	f("is not before", "slow.log", "--since", "2026-11-22", "--until", "2026-11-21")
	f("both say which server", "slow.log", "--target", "x", "--mysql-host", "y")
}

// TestReplayDryRun: what is chosen of a log, and what would be sent of that, is told without a server.
func TestReplayDryRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "slow.log")
	if err := os.WriteFile(name, slowLogOf("SELECT 1", "SELECT 2", "INSERT INTO t VALUES (1)", "SELECT 3", "SELECT 4",
		"SELECT 5"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(want string, args ...string) {
		t.Helper()
		out, remarks, code := replay(t, "text", append([]string{name, "--dry-run"}, args...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q: exit code %d, %s %s; want %q", args, code, out, remarks, want)
		}
	}
	f("Log:         6 entries of 2 sessions over 510 ms\nWould send:  5 statements\nNot sent:    1 entry: not proven " +
		"to be reads")
	f("Would send:  6 statements", "--writes")
	f("Would send:  1 statement\n", "--since", "2026-11-21T10:00:00.35Z", "--until", "2026-11-21T10:00:00.45Z",
		"--filter", "Rows_sent == 1")
	f("Log:         0 entries", "--filter", "Query_time > 1")
	if out, _, code := replay(t, "json", name, "--dry-run"); code != 0 ||
		!strings.Contains(out, `"message":"dry run"`) || !strings.Contains(out, `"sent":5`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestReplayCode(t *testing.T) {
	f := func(x app.Replay, code int, want string) {
		t.Helper()
		err := replayCode(&x)
		var e *exitError
		if code == 0 && err == nil {
			return
		}
		if !errors.As(err, &e) || e.code != code || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %d %q", err, code, want)
		}
	}
	f(app.Replay{}, 0, "")
	f(app.Replay{Run: loadresult.Run{Invalid: "why"}}, exitUndecided, "why")
	f(app.Replay{Skips: 3, Skipped: []digest.Skip{{File: "a", Offset: 7, Reason: "torn"}}}, exitSkipped,
		"3 parts of the log were skipped, the first a at byte 7: torn")
}

func TestReplayBlock(t *testing.T) {
	var b strings.Builder
	replayBlock(&b, &load.Replayed{
		Entries: 10, Sent: 7, Left: 2, Late: 1, MaxLag: 60 * time.Millisecond, Sessions: 3,
		Connections: 4, Logged: 2 * time.Second, Took: time.Second, Span: time.Minute,
	})
	want := "Log:         10 entries of 3 sessions over 1 min\nSent:        7 statements over 4 connections; 1 late, " +
		"by at most 60 ms\n" +
		"Left:        2 statements that had been read were not sent\nQuery time:  2 s total in the log, 1 s now " +
		"(×0.50)\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
