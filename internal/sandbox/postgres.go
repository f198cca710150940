package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// postgresFamily is PostgreSQL, 15 and later.
type postgresFamily struct{}

const (
	postgresProgram  = "postgres"
	postgresUser     = "postgres" // the superuser that initdb makes
	postgresDatabase = "postgres" // the database that every server has

	// postgresStatements is the module that counts statements (manual, F.32. pg_stat_statements).
	postgresStatements = "pg_stat_statements"
)

var postgresBanner = lazyregexp.New(`(?m)^postgres \(PostgreSQL\) (\d+(?:\.\d+)?)`)

// postgresPlaces are where packages put the programs of PostgreSQL: Debian's, and those of postgresql.org for Red Hat.
var postgresPlaces = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}

// initialise runs initdb, which wants its user to have an entry in /etc/passwd. Where the servers' account has none it
// runs as nobody with that account's group, in a directory that only this group may enter: what else runs as nobody
// reaches neither the files nor the process.
func (postgresFamily) initialise(
	ctx context.Context, s Server, _ []string, a account, dir string,
) (said string, err error) {
	data, bin := filepath.Join(dir, "data"), filepath.Dir(s.Path)
	if _, err := user.LookupId(strconv.Itoa(a.id())); err != nil && a.name != "" {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return "", hint(fmt.Errorf("%w: initdb needs a user with an entry in /etc/passwd", ErrAccount),
				"make one: useradd --system --shell /usr/sbin/nologin "+accountName)
		}
		uid, err := strconv.Atoi(nobody.Uid)
		if err != nil {
			return "", err
		}
		a = account{nobody.Username, uid, a.gid}
		if err := inline([]error{os.Chmod(dir, 0o710), os.Lchown(dir, 0, a.gid), a.give(data)}); err != nil {
			return "", err
		}
	}
	said, err = a.run(ctx, append(Server{Path: filepath.Join(bin, "initdb")}.launcher(),
		"--pgdata="+data, "--username="+postgresUser,
		"--encoding=UTF8", "--locale=C", // the same order of texts on every machine
		"--auth-local=trust", // the run directory admits only the servers' account and root
		"--auth-host=scram-sha-256",
		"--no-sync", // a template is written out before it is used
	), data, dir, nil)
	if err != nil || !s.hasStatements() {
		return said, err
	}
	return a.run(ctx, append(s.launcher(), "--single", "-D", data, "-c", "exit_on_error=on", postgresDatabase),
		data, dir, strings.NewReader("CREATE EXTENSION "+postgresStatements+"\n"))
}

// hasStatements reports whether a build has pg_stat_statements: packages may leave the contributed modules out.
func (s Server) hasStatements() bool {
	bin := filepath.Dir(s.Path)
	for _, p := range []string{
		"../share/postgresql/extension", "../share/extension", // archives; vendors' packages
		"../../../../share/postgresql/" + filepath.Base(filepath.Dir(bin)) + "/extension", // Debian's
	} {
		if there(filepath.Join(bin, p, postgresStatements+".control")) {
			return true
		}
	}
	return false
}

// command starts the postmaster itself, which stays in the foreground. Settings that come later replace earlier ones.
func (postgresFamily) command(dir string, r record, set settings) ([]string, error) {
	data := filepath.Join(dir, "data")
	if err := releaseLock(data); err != nil {
		return nil, err
	}
	opts := []string{
		"unix_socket_directories=" + r.Run, "port=" + strconv.Itoa(r.Port), "listen_addresses=127.0.0.1",
		"logging_collector=on", "log_directory=" + filepath.Join(dir, "log"), "log_filename=error.log",
		"log_rotation_age=0", "log_rotation_size=0", // one file; they would only begin it again
		"track_io_timing=on",
	}
	if r.Server.hasStatements() {
		opts = append(opts, "shared_preload_libraries="+postgresStatements)
	}
	argv := append(r.Server.launcher(), "-D", data)
	for _, o := range opts {
		argv = append(argv, "-c", o)
	}
	return slices.Concat(argv, set.options()), nil
}

// postgresLeftover is what a server says when processes of a postmaster that was killed still use the data. They end
// when they notice, at the latest after their statement: leftoverLasts is how long that is waited for.
const (
	postgresLeftover = "pre-existing shared memory block"
	leftoverLasts    = 15 * time.Second
)

// lockFile is where a postmaster writes its number, so that no second one starts on the data.
const lockFile = "postmaster.pid"

// noProcess is a number that no process has: the kernel's limit is 2^22, proc(5) pid_max.
const noProcess = "2147483647"

// releaseLock replaces the number of a postmaster that is gone in its lock file by one that no process has. The caller
// knows that it is gone, the server does not: the number may be another process's by now. The rest of the file stays,
// by which the server finds out whether processes of that postmaster still use the data.
func releaseLock(data string) error {
	root, err := openOwned(data)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.plain(lockFile, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	_, err = f.WriteAt(slices.Concat([]byte(noProcess+"\n"), rest), 0)
	return err
}

func (postgresFamily) socket(port int) string { return ".s.PGSQL." + strconv.Itoa(port) }

// greet begins a session and ends it when the server is ready for a query (manual, 53.2. Message Flow). While it
// starts or recovers, a server refuses sessions.
func (postgresFamily) greet(c net.Conn) error {
	const version = 3 << 16 // of the protocol
	text := "user\x00" + postgresUser + "\x00database\x00" + postgresDatabase + "\x00application_name\x00dyno\x00\x00"
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

// signals are those of a fast and of an immediate shutdown (manual, 18.5. Shutting Down the Server). A postmaster that
// is killed leaves its processes and its shared memory behind.
func (postgresFamily) signals() (orderly, atOnce syscall.Signal) {
	return syscall.SIGINT, syscall.SIGQUIT
}
