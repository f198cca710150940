package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
)

// mysqlFamily is MySQL, Percona Server and MariaDB.
type mysqlFamily struct{}

func (mysqlFamily) initialise(
	ctx context.Context, s Server, initial []string, a account, dir string,
) (said string, err error) {
	data := filepath.Join(dir, "data")
	opts := append([]string{
		"--datadir=" + data, "--tmpdir=" + filepath.Join(dir, "tmp"),
		"--secure-file-priv=", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin",
	}, initial...)
	var stdin io.Reader
	if s.bootstraps() {
		sql, err := bootstrapSQL(s)
		if err != nil {
			return "", err
		}
		stdin = sql
		opts = append(opts, "--bootstrap", "--loose-log-warnings=0", "--loose-enforce-storage-engine=",
			"--max-allowed-packet=8M", "--net-buffer-length=16K")
	} else {
		opts = append(opts, "--initialize-insecure", "--loose-mysqlx=OFF")
	}
	return a.run(ctx, s.command(opts...), data, dir, stdin)
}

func (mysqlFamily) command(dir string, r record, set settings) ([]string, error) {
	data := filepath.Join(dir, "data")
	opts := []string{
		"--datadir=" + data, "--socket=" + r.socket(), "--pid-file=" + filepath.Join(r.Run, "pid"),
		"--port=" + strconv.Itoa(r.Port),
		"--log-error=" + filepath.Join(dir, "log", "error.log"), "--tmpdir=" + filepath.Join(dir, "tmp"),
		"--secure-file-priv=" + filepath.Join(dir, "files"),
	}
	for _, d := range defaults {
		opts = append(opts, "--"+d)
	}
	opts = append(opts, r.Server.byVersion(data)...)
	return r.Server.command(append(opts, set.options()...)...), nil
}

func (mysqlFamily) socket(int) string { return "socket" }

// greet reads the server's first packet: header of 4 bytes, then the protocol version 10 (MySQL internals,
// "Protocol::HandshakeV10").
func (mysqlFamily) greet(c net.Conn) error {
	var b [5]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if b[4] != 10 {
		return errors.New("a greeting that is not a server's")
	}
	return nil
}

func (mysqlFamily) signals() (orderly, atOnce syscall.Signal) {
	return syscall.SIGTERM, syscall.SIGKILL
}

func (mysqlFamily) reserved(name string) string { return why(bareName(name)) }
