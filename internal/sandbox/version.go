package sandbox

import (
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

var banner = lazyregexp.New(`\bVer (\d+\.\d+\.\d+)(\S*)(.*)`)

// parseVersion reads the flavor and the version from what a server program answers to --version:
//
//	mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)
//	/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))
//	mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)
//	postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
//
// The program's name at its beginning is whatever it was started as, and tells nothing.
func parseVersion(out string) (flavor dbms.Flavor, version string, ok bool) {
	if m := postgresBanner.FindStringSubmatch(out); m != nil {
		return dbms.Postgres, m[1], true
	}
	m := banner.FindStringSubmatch(out)
	if m == nil {
		return "", "", false
	}
	return dbms.Of(m[2], m[3]), m[1], true
}

// numbers splits "9.7.4" into its numbers.
func numbers(version string) []int {
	var ns []int
	for f := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(f)
		if err != nil {
			break
		}
		ns = append(ns, n)
	}
	return ns
}

var specs = lazyregexp.New(`^(mariadb|mysql|percona|postgres|postgresql)(?:@(\d+(?:\.\d+){0,2}))?$`)

// parseSpec splits "mysql@9.7" into flavor and version; the version may be empty.
func parseSpec(s string) (flavor dbms.Flavor, version string, ok bool) {
	m := specs.FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	if flavor = dbms.Flavor(m[1]); flavor == "postgresql" {
		flavor = dbms.Postgres
	}
	return flavor, m[2], true
}

// matches reports whether version is want or one of its releases: 9.7.4 matches "", 9, 9.7 and 9.7.4.
func matches(version, want string) bool {
	v, w := numbers(version), numbers(want)
	if len(w) > len(v) {
		return false
	}
	for i := range w {
		if v[i] != w[i] {
			return false
		}
	}
	return true
}
