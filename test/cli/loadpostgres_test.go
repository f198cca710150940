package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/cli"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestLoadPostgreSQL takes a PostgreSQL through the steps of a load.
func TestLoadPostgreSQL(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE ROLE tester LOGIN CREATEDB PASSWORD 'secret'", "CREATE TABLE mine (n INT)")
	home, script := t.TempDir(), filepath.Join(t.TempDir(), "mine.sql")
	if err := os.WriteFile(script, []byte("INSERT INTO mine VALUES (:session::int + 1);\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"DYNO_HOME": home, "HOME": home, "PGPASSWORD": "secret"}
	at := "@127.0.0.1:" + strconv.Itoa(s.Port)
	f := func(code int, want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		got := cli.Run(context.Background(), append([]string{"load"}, args...), cli.Streams{
			In: strings.NewReader(""), Out: &out, Err: &out,
		}, func(k string) string { return env[k] }, "test")
		if got != code || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "secret") {
			t.Errorf(
				"dyno load %s: code %d, want %d and %q:\n%s",
				strings.Join(args, " "),
				got,
				code,
				want,
				out.String(),
			)
		}
	}
	url := "postgres://tester" + at + "/shop?sslmode=disable"
	f(2, "the workload tpcc is not there for PostgreSQL yet", "tpcc", "prepare", "--target", url)
	f(1, "the tables do not exist", "oltp_read_write", "run", "--target", url)
	f(
		0,
		"Prepared sbtest1 to sbtest2 in shop",
		"oltp_read_write",
		"prepare",
		"--tables=2",
		"--table_size=1K",
		"--target",
		url,
	)
	f(
		0,
		"total number of events:              20",
		"oltp_read_write",
		"run",
		"--tables=2",
		"--table-size=1000",
		"--events=20",
		"--time=0",
		"--threads=2",
		"--target",
		url,
	)
	f(
		0,
		`"pgsql-db":"shop"`,
		"oltp_point_select",
		"run",
		"--table-size=1000",
		"--events=20",
		"--time=0",
		"--output=json",
		"--target",
		"postgres://tester"+at+"/?sslmode=disable",
		"--pgsql-db=shop",
		"--db-driver=pgsql",
	)
	f(
		0,
		"transactions:                        7 ",
		"script",
		"run",
		"--script",
		script,
		"--events=7",
		"--time=0",
		"--target",
		"postgres://postgres"+at+"/postgres?sslmode=disable",
	)
	if n := s.Value(t, "postgres", "SELECT count(*) FROM mine WHERE n = 1"); n != "7" {
		t.Errorf("%s rows", n)
	}
	f(2, "warmup is not there for PostgreSQL yet", "oltp_read_write", "warmup", "--target", url)
	f(2, "check is not there for PostgreSQL yet", "oltp_read_write", "check", "--target", url)
	f(2, "--size is not there for PostgreSQL yet", "oltp_read_write", "prepare", "--size=1G", "--target", url)
	f(2, "PostgreSQL has no storage engines", "oltp_insert", "run", "--mysql-storage-engine=innodb", "--target", url)
	f(2, "--mysql-ignore-errors: the target is a server for --pgsql-ignore-errors", "oltp_insert", "run",
		"--mysql-ignore-errors=1062", "--target", url)
	f(2, "it takes SQLSTATEs", "oltp_insert", "run", "--pgsql-ignore-errors=1062", "--target", url)
	f(
		2,
		"--db-driver=mysql: the target is a server for pgsql",
		"oltp_insert",
		"run",
		"--db-driver=mysql",
		"--target",
		url,
	)
	f(0, "Dropped shop.sbtest2.", "oltp_read_write", "cleanup", "--tables=2", "--target", url)
}
