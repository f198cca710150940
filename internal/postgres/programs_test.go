package postgres

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestProgramsLogIn: psql logs in with the file that a command gets, and finds no password in the environment.
func TestProgramsLogIn(t *testing.T) {
	const password = `a:b\c #"d'`
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", `CREATE ROLE app LOGIN PASSWORD 'a:b\c #"d'''`, "CREATE TABLE t (n int)",
		"GRANT INSERT ON t TO app")
	hba := filepath.Join(s.Data, "pg_hba.conf")
	b, err := os.ReadFile(hba)
	if err != nil {
		t.Fatal(err)
	}
	own := "host all app 127.0.0.1/32 scram-sha-256\nlocal all app scram-sha-256\n"
	if err := os.WriteFile(hba, append([]byte(own), b...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "postgres", "SELECT pg_reload_conf()")
	t.Setenv("PGPASSWORD", "of another")
	c := load.ExecConfig{
		Command: `test -z "$PGPASSWORD" && PGPASSFILE="$DYNO_DEFAULTS_FILE" psql -X -w -h "$DYNO_HOST" -p "$DYNO_PORT" ` +
			`-U "$DYNO_USER" -c "INSERT INTO t VALUES (1)" "$DYNO_DATABASE"`,
		Server: endpoint.Spec{
			Scheme: "postgres", Network: "tcp", Address: "127.0.0.1:" + strconv.Itoa(s.Port), User: "app",
			Database: "postgres", Password: endpoint.NewSecret(password),
		},
		Programs: Family{}.Programs(), Events: 3,
	}
	if r, err := load.Exec(t.Context(), c, nil); err != nil || r.Total.Operations() != 3 {
		t.Errorf("%d operations, %v", r.Total.Operations(), err)
	}
	if n := s.Value(t, "postgres", "SELECT count(*) FROM t"); n != "3" {
		t.Errorf("%s rows of 3", n)
	}
	socket := c
	socket.Server.Network = "unix"
	socket.Server.Address = s.Socket
	if r, err := load.Exec(t.Context(), socket, nil); err != nil || r.Total.Operations() != 3 {
		t.Errorf("over its socket: %d operations, %v", r.Total.Operations(), err)
	}
	text, err := Family{}.Programs().File(socket.Server)
	if err != nil || !strings.Contains(string(text), "\nlocalhost:"+strconv.Itoa(s.Port)+":*:app:") {
		t.Errorf("%v: for a socket where psql looks unasked there is no line", err) // it calls that localhost
	}
	c.Server.Password = endpoint.NewSecret("another")
	if _, err := load.Exec(t.Context(), c, nil); err == nil {
		t.Error("a wrong password lets in")
	}
}
