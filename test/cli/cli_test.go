// Package cli_test types commands as a user does, against a real server, and looks at what they print and how they end.
package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/dyno-perf/dyno/internal/app"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dyno-perf/dyno/internal/cli"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"dyno": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Getenv,
				"test"))
		},
	})
}

// TestScripts runs testdata/*.txtar. Beside testscript's own commands they have
//
//	status CODE COMMAND…	run a command that must end with the code, "any" for one that ends as it will
//	paragraph		stderr of the last status is one paragraph, "dyno: ….", no longer than a person reads
//
// and the variables SOCKET (a MariaDB with user root and no password; user reader with the password secret and no
// grants), PORT, MYSQL (socket of a MySQL), IDLE (of a MariaDB of which nobody but the script on diagnoses asks
// anything), FREEPORT (nothing listens there) and POSTGRES (the directory of a build of PostgreSQL 17).
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	maria := servers.Start(t, "mariadb", "performance_schema=ON", "max_connections=60")
	my := servers.Start(t, "mysql")
	idle := servers.Start(t, "mariadb", "performance_schema=ON")
	maria.Exec(t,
		"CREATE USER reader@'%' IDENTIFIED BY 'secret'", "CREATE USER reader@localhost IDENTIFIED BY 'secret'",
		"CREATE DATABASE sbtest", "CREATE DATABASE empty", "CREATE TABLE empty.nothing (a INT PRIMARY KEY, b INT)",
		"CREATE DATABASE `größe ❤`", "CREATE TABLE `größe ❤`.`tä b` (a INT PRIMARY KEY)")
	my.Exec(t, "CREATE DATABASE sbtest")
	postgres := pgserver.Tree(t, "17")
	home := t.TempDir()
	if os.Geteuid() == 0 { // the servers of sandboxes run as another user, who must be able to enter
		dir, err := os.MkdirTemp("/var/tmp", "dyno-cli-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		home = dir
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			own := filepath.Join(home, filepath.Base(e.WorkDir))
			e.Setenv("DYNO_HOME", own)
			e.Defer(func() { // a script that fails half-way leaves its servers running
				y, err := sandbox.Open(own, app.Makers()...)
				if err == nil {
					err = y.RemoveAll(context.Background())
				}
				if err != nil {
					t.Error(err)
				}
			})
			e.Setenv("SOCKET", maria.Socket)
			e.Setenv("POSTGRES", postgres)
			e.Setenv("IDLE", idle.Socket)
			e.Setenv("PORT", strconv.Itoa(maria.Port))
			e.Setenv("MYSQL", my.Socket)
			e.Setenv("FREEPORT", "1")
			e.Setenv("DYNO_TEST_MYSQL", os.Getenv("DYNO_TEST_MYSQL"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":    status,
			"paragraph": paragraph,
		},
	})
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	if args[0] != "any" { // what a verdict on a busy machine is, nobody can know beforehand
		ts.Check(err)
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want && args[0] != "any" {
		ts.Fatalf("%s ended with code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func paragraph(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.ReadFile("stderr")
	body := strings.TrimSuffix(s, "\n")
	switch {
	case !strings.HasPrefix(s, "dyno: ") || !strings.HasSuffix(s, ".\n") && !strings.HasSuffix(s, "?\n"):
		ts.Fatalf("not of the form \"dyno: ….\": %q", s)
	case strings.Contains(body, "\n"):
		ts.Fatalf("more than one paragraph: %q", s)
	case len(s) > 900:
		ts.Fatalf("%d characters are more than a person reads: %q", len(s), s)
	case strings.Contains(s, "secret"):
		ts.Fatalf("a password is in it: %q", s)
	}
}
