// Package sandbox makes private servers of PostgreSQL, see package maker.
package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// Maker implements maker.Maker for PostgreSQL, 15 and later.
type Maker struct{}

var _ maker.Maker = Maker{}

const (
	superuser = "postgres" // that initdb makes
	database  = "postgres" // that every server has

	// statements is the module that counts statements (manual, F.32. pg_stat_statements).
	statements = "pg_stat_statements"
)

var banner = lazyregexp.New(`(?m)^postgres \(PostgreSQL\) (\d+(?:\.\d+)?)`)

// Traits implements maker.Maker. The signals are those of a fast and of an immediate shutdown (manual, 18.5. Shutting
// Down the Server): a postmaster that is killed leaves its processes and its shared memory behind.
func (Maker) Traits() maker.Traits {
	return maker.Traits{
		Flavors:  []dbms.Flavor{dbms.Postgres},
		Examples: []string{"postgres@17 --set work_mem=64MB"},
		Programs: []string{"postgres"},
		// Debian's packages, and those of postgresql.org for Red Hat
		Places:     []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"},
		AskVersion: []string{"--version"}, Version: version, // as the first word alone; it reads no option files
		Clients: []string{"psql"},
		Socket:  func(port int) string { return ".s.PGSQL." + strconv.Itoa(port) },
		Login: func(dbms.Flavor) endpoint.Spec {
			return endpoint.Spec{Scheme: endpoint.Postgres, User: superuser, Database: database}
		},
		Orderly: syscall.SIGINT, AtOnce: syscall.SIGQUIT, LockFile: "postmaster.pid", Log: serverLog,
		Sources: sources(),
	}
}

// version reads "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)".
func version(said string) (flavor dbms.Flavor, version string, ok bool) {
	m := banner.FindStringSubmatch(said)
	if m == nil {
		return "", "", false
	}
	return dbms.Postgres, m[1], true
}

// Initialise implements maker.Starter: initdb, and then the server on its own to create the extension.
func (Maker) Initialise(s maker.Server, _ []string, dir string) (maker.Initialising, error) {
	data, bin := filepath.Join(dir, "data"), filepath.Dir(s.Path)
	how := maker.Initialising{
		Named: true, // initdb looks itself up
		Steps: []maker.Step{{Argv: append(maker.Server{Path: filepath.Join(bin, "initdb")}.Launcher(),
			"--pgdata="+data, "--username="+superuser,
			"--encoding=UTF8", "--locale=C", // the same order of texts on every machine
			"--auth-local=trust", // the run directory admits only the servers' account and root
			"--auth-host=scram-sha-256",
			"--no-sync", // a template is written out before it is used
		)}},
	}
	if hasStatements(s) {
		how.Steps = append(how.Steps, maker.Step{
			Argv:  append(s.Launcher(), "--single", "-D", data, "-c", "exit_on_error=on", database),
			Stdin: strings.NewReader("CREATE EXTENSION " + statements + "\n"),
		})
	}
	return how, nil
}

// Finish implements maker.Starter: nothing is left to do.
func (Maker) Finish(maker.Server, string) error { return nil }

// Variant implements maker.Starter.
func (Maker) Variant(maker.Server) []string { return nil }

// hasStatements reports whether a build has pg_stat_statements: packages may leave the contributed modules out.
func hasStatements(s maker.Server) bool {
	bin := filepath.Dir(s.Path)
	for _, p := range []string{
		"../share/postgresql/extension", "../share/extension", // archives; vendors' packages
		"../../../../share/postgresql/" + filepath.Base(filepath.Dir(bin)) + "/extension", // Debian's
	} {
		if _, err := os.Stat(filepath.Join(bin, p, statements+".control")); err == nil {
			return true
		}
	}
	return false
}

// Command implements maker.Starter: the postmaster itself, which stays in the foreground. Settings that come later
// replace earlier ones.
func (Maker) Command(s maker.Server, p maker.Place, options []string) []string {
	opts := []string{
		"unix_socket_directories=" + p.Run, "port=" + strconv.Itoa(p.Port), "listen_addresses=127.0.0.1",
		"logging_collector=on", "log_directory=" + filepath.Join(p.Dir, "log"), "log_filename=error.log",
		"log_rotation_age=0", "log_rotation_size=0", // one file; they would only begin it again
		"track_io_timing=on",
	}
	if hasStatements(s) {
		opts = append(opts, "shared_preload_libraries="+statements)
	}
	argv := append(s.Launcher(), "-D", filepath.Join(p.Dir, "data"))
	for _, o := range opts {
		argv = append(argv, "-c", o)
	}
	return append(argv, options...)
}

// Greet implements maker.Prober: it begins a session and ends it when the server is ready for a query (manual, 53.2.
// Message Flow). While it starts or recovers, a server refuses sessions.
func (Maker) Greet(c net.Conn) error {
	const version = 3 << 16 // of the protocol
	text := "user\x00" + superuser + "\x00database\x00" + database + "\x00application_name\x00dyno\x00\x00"
	start := binary.BigEndian.AppendUint32(nil, uint32(8+len(text)))
	start = append(binary.BigEndian.AppendUint32(start, version), text...)
	if _, err := c.Write(start); err != nil {
		return err
	}
	for {
		var head [5]byte // type, then the length of the rest, which counts itself
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(head[1:])
		if n < 4 || n > 1<<16 {
			return errors.New("an answer that is not a server's")
		}
		body := make([]byte, n-4)
		if _, err := io.ReadFull(c, body); err != nil {
			return err
		}
		switch head[0] {
		case 'Z': // ReadyForQuery
			_, err := c.Write([]byte{'X', 0, 0, 0, 4}) // Terminate
			return err
		case 'E':
			return fmt.Errorf("the server refuses: %q", body)
		}
	}
}

// Cached implements maker.Prober.
func (Maker) Cached(int, string) string {
	return "it is set, but PostgreSQL writes its data through the page cache, which cgroup v1 does not limit"
}

// PrepareEnd implements maker.Keeper: an orderly end is a full one, and the logs are part of the data.
func (Maker) PrepareEnd(context.Context, endpoint.Spec) ([]string, error) { return nil, nil }

// Leaves implements maker.Keeper.
func (Maker) Leaves(maker.Server, string, []string) bool { return false }

// Emptied implements maker.Keeper.
func (Maker) Emptied() string { return "" }
