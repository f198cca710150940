package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// bootstraps reports whether a server makes its system tables from statements that it is fed: every MariaDB, and MySQL
// before --initialize came with 5.7.
func bootstraps(s maker.Server) bool { return s.Flavor.IsMariaDB() || maker.Older(s.Version, "5.7") }

// bootstrapSQL returns the statements that make the system tables, as the server's own install script feeds them to the
// server, then leaves the account root@localhost alone.
func bootstrapSQL(s maker.Server) (io.Reader, error) {
	dir := share(s)
	if dir == "" {
		return nil, fmt.Errorf("%w: %s has no directory of messages and scripts", maker.ErrNoServer, s.Path)
	}
	sql := []io.Reader{strings.NewReader("create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n")}
	for _, script := range []struct {
		names    []string
		optional bool
	}{
		{[]string{"mariadb_system_tables.sql", "mysql_system_tables.sql"}, false},
		{[]string{"mariadb_performance_tables.sql", "mysql_performance_tables.sql"}, true},
		{[]string{"mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"}, false},
		{[]string{"fill_help_tables.sql"}, true},
		{[]string{"maria_add_gis_sp_bootstrap.sql"}, true},
		{[]string{"mariadb_sys_schema.sql", "mysql_sys_schema.sql"}, true},
	} {
		b, err := readFirst(dir, script.names)
		if errors.Is(err, fs.ErrNotExist) && script.optional {
			continue
		}
		if err != nil {
			return nil, maker.Hint(fmt.Errorf("make the system tables: %w", err), "the build is not complete: unpack "+
				"the package mariadb-server of the same version too")
		}
		sql = append(sql, bytes.NewReader(b), strings.NewReader("\n"))
	}
	sql = append(sql, strings.NewReader("use mysql;\n"+onlyRoot(s)))
	return io.MultiReader(sql...), nil
}

// onlyRoot returns the statements that remove all accounts but root@localhost, and the rights on databases called test
// that everybody has in old servers.
func onlyRoot(s maker.Server) string {
	const proxies = "delete from proxies_priv where Host<>'localhost';\n"
	if s.Flavor.IsMariaDB() && !maker.Older(s.Version, "10.4") {
		return "delete from global_priv where not (User='root' and Host='localhost') and User<>'mariadb.sys';\n" +
			proxies
	}
	return "delete from user where not (User='root' and Host='localhost');\ndelete from db;\n" + proxies
}

func readFirst(dir string, names []string) ([]byte, error) {
	var first error
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(dir, n))
		if err == nil {
			return b, nil
		}
		if first == nil || !errors.Is(err, fs.ErrNotExist) {
			first = err
		}
	}
	return nil, first
}
