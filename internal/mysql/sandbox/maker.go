// Package sandbox makes private servers of MySQL, Percona Server and MariaDB, see package maker.
package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// Maker implements maker.Maker for MySQL, Percona Server and MariaDB.
type Maker struct{}

var (
	_ maker.Maker  = Maker{}
	_ maker.Keeper = Maker{}
)

var banner = lazyregexp.New(`\bVer (\d+\.\d+\.\d+)(\S*)(.*)`)

// Traits implements maker.Maker.
func (Maker) Traits() maker.Traits {
	return maker.Traits{
		Flavors: []dbms.Flavor{dbms.MariaDB, dbms.MySQL, dbms.Percona},
		Examples: []string{
			"shop --server mariadb@10.11 --set innodb_buffer_pool_size=1G", "--server mysql@9.7 --set port=13306",
		},
		Programs: []string{"mariadbd", "mysqld"}, AskVersion: []string{"--no-defaults", "--version"}, Version: version,
		Clients: []string{"mariadb", "mysql"}, Needless: needless,
		Socket: func(int) string { return "socket" },
		Login: func(f dbms.Flavor) endpoint.Spec {
			x := endpoint.Spec{Scheme: "mysql", User: "root"}
			if f.IsMariaDB() {
				x.Scheme = "mariadb"
			}
			return x
		},
		Orderly: syscall.SIGTERM, AtOnce: syscall.SIGKILL, Initial: initial, Log: serverLog,
		Sources: sources,
	}
}

// version reads the flavor and the version from what a server program answers to --version:
//
//	mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)
//	/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))
//	mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)
//
// The program's name at its beginning is whatever it was started as, and tells nothing.
func version(said string) (flavor dbms.Flavor, version string, ok bool) {
	m := banner.FindStringSubmatch(said)
	if m == nil {
		return "", "", false
	}
	return dbms.Of(m[2], m[3]), m[1], true
}

// needless are parts of an archive that no server reads, half of it: tests, documentation, headers, programs with a
// whole server in them, dictionaries of Japanese.
var needless = []string{
	"mysql-test", "sql-bench", "docs", "man", "include", "support-files", "data", "lib/*.a", "libs/*.a",
	"lib/libmysqlclient*", "lib/libmysqld*",
	"lib/mecab", "lib/plugin/debug", "lib/plugin/debug/*", "bin/*_embedded", "bin/*-debug", "bin/mysql_client_test",
	"bin/mysqltest", "bin/mysqlxtest",
	"share/*.jar", "share/aclocal", "share/pkgconfig", "META-INF",
}

// Initialise implements maker.Starter.
func (Maker) Initialise(s maker.Server, initial []string, dir string) (maker.Initialising, error) {
	data := filepath.Join(dir, "data")
	opts := append([]string{
		"--datadir=" + data, "--tmpdir=" + filepath.Join(dir, "tmp"),
		"--secure-file-priv=", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin",
	}, initial...)
	var stdin io.Reader
	if bootstraps(s) {
		sql, err := bootstrapSQL(s)
		if err != nil {
			return maker.Initialising{}, err
		}
		stdin = sql
		opts = append(opts, "--bootstrap", "--loose-log-warnings=0", "--loose-enforce-storage-engine=",
			"--max-allowed-packet=8M", "--net-buffer-length=16K")
	} else {
		opts = append(opts, "--initialize-insecure", "--loose-mysqlx=OFF")
	}
	return maker.Initialising{Steps: []maker.Step{{Argv: command(s, opts...), Stdin: stdin}}}, nil
}

// Command implements maker.Starter.
func (Maker) Command(s maker.Server, p maker.Place, options []string) []string {
	data := filepath.Join(p.Dir, "data")
	opts := []string{
		"--datadir=" + data, "--socket=" + p.Socket, "--pid-file=" + filepath.Join(p.Run, "pid"),
		"--port=" + strconv.Itoa(p.Port),
		"--log-error=" + filepath.Join(p.Dir, "log", "error.log"), "--tmpdir=" + filepath.Join(p.Dir, "tmp"),
		"--secure-file-priv=" + filepath.Join(p.Dir, "files"),
	}
	for _, d := range defaults {
		opts = append(opts, "--"+d)
	}
	opts = append(opts, byVersion(s, data)...)
	return command(s, append(opts, options...)...)
}

// Finish implements maker.Starter: it leaves out the redo log that a server may have to make anew, and what a server
// makes for itself alone, and adds a certificate for servers that would make one at each start.
func (Maker) Finish(s maker.Server, data string) error {
	gone := transient
	if ownRedo(s) {
		logs, _ := filepath.Glob(filepath.Join(data, "ib_logfile*")) // the pattern is a good one
		for _, f := range logs {
			gone = append(slices.Clip(gone), filepath.Base(f))
		}
	}
	if makesKeys(s) {
		if err := makeCertificate(data); err != nil {
			return err
		}
	}
	for _, f := range gone {
		if err := os.Remove(filepath.Join(data, f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Variant implements maker.Starter.
func (Maker) Variant(s maker.Server) (lines []string) {
	if makesKeys(s) {
		lines = append(lines, certFile)
	}
	if ownRedo(s) {
		lines = append(lines, "no redo log")
	}
	return lines
}

// transient are files that a server makes for itself alone; two servers with one server UUID could not replicate.
var transient = []string{"auto.cnf", "ibtmp1"}

// Greet implements maker.Prober: it reads the server's first packet: header of 4 bytes, then the protocol version 10
// (MySQL internals, "Protocol::HandshakeV10").
func (Maker) Greet(c net.Conn) error {
	var b [5]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if b[4] != 10 {
		return errors.New("a greeting that is not a server's")
	}
	return nil
}
